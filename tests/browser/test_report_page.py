"""The report in Chromium: at the width of a phone and of a desk, light and dark."""

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
    return identified({f"q{j}": bsc(0.01 + 0.002 * j) for j in range(60)}, max_senses=20_000, epsilon=1e-3)


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


def test_a_name_that_is_a_script_does_not_run(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(report(hostile_names()), encoding="utf-8")
    alerts = []
    with visited(browser, path.as_uri()) as visit:
        visit.window.on("dialog", lambda dialog: alerts.append(dialog.message))
        visit.window.reload()
        assert visit.window.locator("h1").inner_text().startswith("<script>alert(1)</script>")
    assert alerts == []
