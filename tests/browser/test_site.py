"""The documentation site in Chromium, opened from disk: on a phone and on a desk."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.browser import chromium
from tests.journeys.built_site import built

if reason := chromium.missing():
    pytest.skip(reason, allow_module_level=True)

WIDTHS = [390, 1280]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return built(tmp_path_factory)


@contextmanager
def window(browser, width, theme="light"):
    """A window, with what its pages said and what they asked of anything but the disk."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
    page = context.new_page()
    heard, asked = [], []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield SimpleNamespace(page=page, heard=heard, asked=asked)
    context.close()


TOO_WIDE = """() => {
    const scrolls = box => box.tagName != 'ARTICLE'
        && (/auto|scroll/.test(getComputedStyle(box).overflowX) || scrolls(box.parentElement))
    const outside = [...document.querySelectorAll('article *')].filter(box => {
        const {right, width} = box.getBoundingClientRect()
        return width > 0 && right > innerWidth + 0.5 && !scrolls(box.parentElement)
    })
    const page = document.documentElement.scrollWidth > innerWidth ? ['the page'] : []
    return [...page, ...outside.map(box => box.tagName + ' ' + box.textContent.slice(0, 40))]
}"""
"""What sticks out of the window and does not scroll in a box of its own."""


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window_and_none_complains_or_asks_a_server(browser, site, width):
    with window(browser, width) as visit:
        wide = {}
        for path in sorted(site.rglob("*.html")):
            visit.page.goto(path.as_uri())
            wide[path.relative_to(site).as_posix()] = visit.page.evaluate(TOO_WIDE)
        assert len(wide) > 20
        assert {name: boxes for name, boxes in wide.items() if boxes} == {}
        assert visit.heard == []
        assert [url for url in visit.asked if not url.startswith(("file:", "data:"))] == []


def test_a_box_that_is_wider_than_the_window_is_noticed(browser, site):
    with window(browser, 390) as visit:
        visit.page.goto((site / "index.html").as_uri())
        assert visit.page.evaluate(TOO_WIDE) == []
        visit.page.evaluate("document.querySelector('article p').style.width = '500px'")
        assert visit.page.evaluate(TOO_WIDE) != []


@pytest.mark.parametrize("width", WIDTHS)
def test_search_finds_pseudo_capacity(browser, site, width):
    with window(browser, width) as visit:
        visit.page.goto((site / "tutorial.html").as_uri())
        if width < 1000:
            visit.page.locator(".mobile-header label[for=__navigation]").click()
        visit.page.locator("input[name=q]").fill("pseudo_capacity")
        visit.page.locator("input[name=q]").press("Enter")
        found = visit.page.locator("#search-results li a[href*='#bestchannel.pseudo_capacity']")
        found.first.click()
        visit.page.locator("dt[id='bestchannel.pseudo_capacity']").wait_for(timeout=0)  # a busy machine is not a fault
        assert visit.heard == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_stars_of_the_optimal_pair_are_seen_in_the_proof(browser, site, width):
    with window(browser, width) as visit:
        visit.page.goto((site / "theory" / "adaptive.html").as_uri())
        for letter in "PQ":
            pair = visit.page.locator("math msup", has_text=f"{letter}∗").first
            star = pair.locator("mo").bounding_box()
            assert min(star["width"], star["height"]) > 2
            assert star["y"] < pair.locator("mi").bounding_box()["y"] + star["height"]


def test_an_index_stands_below_its_letter_in_the_font_of_the_site(browser, site):
    with window(browser, 1280) as visit:
        visit.page.goto((site / "theory" / "bounds.html").as_uri())
        assert visit.page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px Formulas'))")
        letter, index = visit.page.locator("math msub").first.locator("mi").all()[:2]
        bottoms = [box["y"] + box["height"] for box in (letter.bounding_box(), index.bounding_box())]
        assert bottoms[1] > bottoms[0]


GROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("width", WIDTHS)
def test_dark_mode_follows_the_system_and_can_be_switched(browser, site, width):
    with window(browser, width, "light") as light, window(browser, width, "dark") as dark:
        for visit in (light, dark):
            visit.page.goto((site / "index.html").as_uri())
        assert light.page.evaluate(GROUND) != dark.page.evaluate(GROUND)
        for _ in range(2):  # from "as the system" over one theme to the other
            light.page.locator("button.theme-toggle:visible").first.click()
            if light.page.evaluate(GROUND) == dark.page.evaluate(GROUND):
                break
        assert light.page.evaluate(GROUND) == dark.page.evaluate(GROUND)


def test_code_is_highlighted(browser, site):
    colour = "selector => getComputedStyle(document.querySelector(selector)).color"
    with window(browser, 1280) as visit:
        visit.page.goto((site / "tutorial.html").as_uri())
        assert visit.page.evaluate(colour, ".highlight-python .k") != visit.page.evaluate(
            colour, ".highlight-python pre"
        )
