"""The report in Chromium: at the width of a phone and of a desk, light and dark."""

import re
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace

import pytest

from bestchannel.report.page import page as report
from tests.browser import chromium
from tests.report.examples import bsc, by_the_paper, decided, hostile_names, identified, large, undecided, useless

if reason := chromium.missing():
    pytest.skip(reason, allow_module_level=True)

WIDTHS = [390, 1280]


@cache
def many():
    return identified({f"q{j}": bsc(0.01 + 0.002 * j) for j in range(156)}, max_senses=20_000, epsilon=1e-3)


@cache
def sixteen_letters():
    return large(8, 16)


EXAMPLES = {
    example.__name__: example
    for example in (decided, undecided, by_the_paper, hostile_names, useless, many, sixteen_letters)
}


@pytest.fixture(scope="module", params=EXAMPLES.values(), ids=EXAMPLES.keys())
def address(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report(request.param()), encoding="utf-8")
    return path.as_uri()


@contextmanager
def visited(browser, address):
    """The page in a window, with what it said and asked for."""
    context = browser.new_context()
    context.set_default_timeout(0)  # a busy machine is not a fault
    window = context.new_page()
    heard, asked = [], []
    window.on("console", lambda message: heard.append(message.text))
    window.on("pageerror", lambda error: heard.append(str(error)))
    window.on("request", lambda request: asked.append(request.url))
    window.goto(address)
    yield SimpleNamespace(window=window, heard=heard, asked=asked)
    context.close()


@pytest.fixture(scope="module")
def visit(browser, address):
    """The page at some width, in some theme; the next test has the same window, so leave the page as it was."""
    with visited(browser, address) as page:

        def shown(width, theme="light"):
            page.window.set_viewport_size({"width": width, "height": 800})
            page.window.emulate_media(color_scheme=theme)
            return page

        yield shown


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_silent_and_asks_for_nothing_but_itself(visit, address, width, theme):
    page = visit(width, theme)
    assert page.heard == []
    assert [url for url in page.asked if not url.startswith("data:")] == [address]


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window_even_with_everything_unfolded(visit, width):
    widest, window = "[document.documentElement.scrollWidth, innerWidth]", visit(width).window
    needed, given = window.evaluate(widest)
    assert needed <= given
    window.evaluate(
        "folded = [...document.querySelectorAll('details:not([open])')]; folded.forEach(d => d.open = true)"
    )
    needed, given = window.evaluate(widest)
    window.evaluate("folded.forEach(d => d.open = false)")
    assert needed <= given


OUTSIDE = """[...document.querySelectorAll('svg text')]
    .filter(t => !t.closest('.scroll'))
    .map(t => [t.textContent, t.getBoundingClientRect()])
    .filter(([_, r]) => r.width > 0 && (r.left < 0 || r.right > innerWidth))
    .map(([words, _]) => words)"""


@pytest.mark.parametrize("width", WIDTHS)
def test_every_letter_of_a_figure_is_inside_the_window(visit, width):
    window = visit(width).window
    assert window.evaluate("document.querySelectorAll('svg text').length") > 10
    assert window.evaluate(OUTSIDE) == []


@pytest.mark.parametrize(("theme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 21, 26)")])
def test_the_page_follows_the_theme(visit, theme, ground):
    window = visit(1280, theme).window
    assert window.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    assert window.evaluate("getComputedStyle(document.querySelector('h1')).color") != ground


@pytest.mark.parametrize("width", WIDTHS)
def test_the_verdict_is_seen_without_scrolling_and_figures_have_a_size(visit, width):
    window = visit(width).window
    verdict = window.locator("h1").bounding_box()
    assert verdict["height"] > 20
    assert verdict["y"] + verdict["height"] < 800
    for box in window.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].map(s => s.checkVisibility() ? [s.clientWidth, s.clientHeight] : [99, 99])"
    ):
        assert min(box) > 20


def test_letters_are_not_smaller_on_a_phone(visit):
    size = "Math.min(...[...document.querySelectorAll('.plot text')].map(t => t.getBoundingClientRect().height).filter(h => h > 0))"
    phone, desk = (visit(width).window.evaluate(size) for width in WIDTHS)
    assert phone == pytest.approx(desk, abs=0.5)
    assert phone >= 11


@pytest.fixture(scope="module")
def crowd(browser, tmp_path_factory):
    """The report on 156 channels."""
    path = tmp_path_factory.mktemp("crowd") / "report.html"
    path.write_text(report(many()), encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    with visited(browser, path.as_uri()) as visit:
        visit.window.set_viewport_size({"width": 1280, "height": 800})
        yield visit


FOUND = """[...document.querySelectorAll('table.sortable')[0].tBodies[0].rows]
    .filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)"""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_channel_is_found_by_its_name(crowd, width):
    window = crowd.window
    window.set_viewport_size({"width": width, "height": 800})
    search = window.get_by_role("searchbox")
    search.fill("Q15")
    assert sorted(window.evaluate(FOUND)) == ["q15", *(f"q15{i}" for i in range(6))]
    assert window.locator("#search output").inner_text() == "7 found"
    shown = "[...document.querySelectorAll('.matrices figure')].filter(f => f.checkVisibility()).length"
    assert window.evaluate(shown) == 7
    bright = "[...document.querySelectorAll('g.row:not(.dim)')].map(g => g.dataset.name).sort()"
    assert window.evaluate(bright) == ["q15", *(f"q15{i}" for i in range(6))]
    search.fill("")
    assert window.evaluate("document.querySelectorAll('.dim').length") == 0
    assert window.evaluate(FOUND) == []  # the table is folded again
    assert crowd.heard == []


def test_the_table_is_sorted_by_any_column_either_way(crowd):
    window = crowd.window
    fold = window.locator("summary", has_text="Table of capacities")
    fold.click()
    values = """column => [...document.querySelector('table.sortable').tBodies[0].rows]
        .map(row => row.cells[column].dataset.value).map(Number)"""
    for head, column in (("estimate, bits", 1), ("senses", 4)):
        button = window.get_by_role("button", name=head, exact=True).first
        button.click()
        falling = window.evaluate(values, column)
        assert falling == sorted(falling, reverse=True)
        button.press("Enter")
        assert window.evaluate(values, column) == sorted(falling)
    window.get_by_role("button", name="channel", exact=True).first.click()
    assert window.evaluate(FOUND)[:2] == ["q155", "q154"]
    fold.click()


def test_hints_show_the_values_under_the_pointer(crowd):
    window = crowd.window
    window.set_viewport_size({"width": 1280, "height": 800})
    hint = window.locator(".hint")
    window.locator("g.row").nth(2).hover()
    assert re.fullmatch(r"q\d+: 0\.\d{4} bits; proved .* senses", hint.inner_text())
    window.locator(".senses g g").first.hover()
    assert re.fullmatch(r"q\d+, input 0: [\d,]+ senses, .* of all", hint.inner_text())
    window.locator(".pair .area").first.hover()
    assert re.fullmatch(r"[\d,]+ left after [\d,]+ senses", hint.inner_text())
    fold = window.locator("details:has(.matrices) > summary")
    fold.click()
    matrix = window.locator("svg[data-w]").first
    matrix.scroll_into_view_if_needed()
    box = matrix.bounding_box()
    window.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] - 8)
    rows = matrix.get_attribute("data-w").split(";")
    assert hint.inner_text() == f"input 1, output 1: {int(rows[1].split(',')[1]) / 1000:.3f}"
    window.mouse.move(1, 1)
    assert not hint.is_visible()
    fold.click()
    assert crowd.heard == []


def test_without_its_script_the_page_can_be_read(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(report(many()), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    window = context.new_page()
    window.set_default_timeout(0)
    window.goto(path.as_uri())
    assert not window.locator("#search").is_visible()
    window.locator("summary", has_text="Table of capacities").click()
    assert window.locator("table.sortable tbody tr").first.is_visible()
    assert window.locator("g.row > title").count() == 156
    context.close()


@pytest.mark.parametrize(("theme", "colour"), [("light", "rgb(138, 83, 0)"), ("dark", "rgb(242, 180, 92)")])
def test_undecided_has_a_colour_of_its_own(browser, tmp_path, theme, colour):
    colours = []
    for result in (undecided(), decided()):
        path = tmp_path / "report.html"
        path.write_text(report(result), encoding="utf-8")
        with visited(browser, path.as_uri()) as visit:
            visit.window.emulate_media(color_scheme=theme)
            colours.append(visit.window.evaluate("getComputedStyle(document.querySelector('.state')).color"))
    assert colours[0] == colour
    assert colours[1] != colour


def test_a_name_that_is_a_script_does_not_run(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(report(hostile_names()), encoding="utf-8")
    alerts = []
    with visited(browser, path.as_uri()) as visit:
        visit.window.on("dialog", lambda dialog: alerts.append(dialog.message))
        visit.window.reload()
        assert visit.window.locator("h1").inner_text().startswith("<script>alert(1)</script>")
    assert alerts == []
