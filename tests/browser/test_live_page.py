"""The page of a service in Chromium: a run is begun, watched, paused, survives its server, and ends as the report."""

import signal
from contextlib import contextmanager

import pytest

from bestchannel.report.page import page as report
from bestchannel.report.provenance import origin_of
from bestchannel.runs import view
from tests.browser import chromium
from tests.service.instruments import ERRORS
from tests.service.running import running, sensing

if reason := chromium.missing():
    pytest.skip(reason, allow_module_level=True)

VIEWS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
CHANNELS = "\n".join(f"{name} 0,1 0,1" for name in ERRORS)
SHOWN = """() => {
    const copy = document.querySelector('main').cloneNode(true);
    copy.querySelectorAll('[style]').forEach(e => e.setAttribute('style', e.style.cssText));
    copy.querySelectorAll('thead button').forEach(b => b.replaceWith(...b.childNodes));  // the offline page sorts
    return copy.innerHTML;
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("live")) as service:
        yield service


@contextmanager
def visited(browser, width=1280, theme="light"):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
    context.set_default_timeout(0)  # a busy machine is not a fault
    window = context.new_page()
    window.set_default_timeout(0)
    heard = []
    window.on("pageerror", lambda error: heard.append(str(error)))
    window.on("console", lambda message: heard.append(message.text) if "Content Security" in message.text else None)
    yield window
    assert heard == []
    context.close()


def tab_to(window, selector):
    """Press Tab until the focus is there."""
    for _ in range(60):
        if window.evaluate("s => document.activeElement === document.querySelector(s)", selector):
            return
        window.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by Tab")


def begin(window, service, name):
    """Begin a run without a mouse."""
    window.goto(service.url())
    tab_to(window, "input[name=name]")
    window.keyboard.type(name)
    tab_to(window, "textarea[name=channels]")
    window.keyboard.press("Control+A")
    window.keyboard.insert_text(CHANNELS)
    tab_to(window, "#new-run button")
    window.keyboard.press("Enter")
    window.wait_for_url(f"**/runs/{name}")


def until(window, selector, text):
    window.wait_for_function("([s, t]) => document.querySelector(s)?.textContent.includes(t)", arg=[selector, text])


def test_a_run_is_begun_watched_and_decided_though_its_server_is_killed(browser, service):
    some, others = list(ERRORS)[:3], list(ERRORS)[3:]
    with visited(browser) as window:
        begin(window, service, "killed")
        assert "token" not in window.url
        until(window, "#connection", "live")
        until(window, "#report", "Undecided between")
        with sensing(service.url("killed"), some, name="bench-1"):
            until(window, "#sensors", "bench-1")
            service.end(signal.SIGKILL)
            until(window, "#connection", "connection lost")
            service.start()
            until(window, "#connection", "live")
            with sensing(service.url("killed"), others, name="bench-2"):
                until(window, "#now", "decided")
                until(window, "#report", "fibre has the largest capacity")
        assert not window.locator("#controls").is_visible()
        live, title = window.evaluate(SHOWN), window.title()
        path = service.folder / "runs" / "killed.db"
        offline = service.folder / "offline.html"
        run = view(path)
        offline.write_text(report(run.outcome(), origin=origin_of(run, path)), encoding="utf-8")
        window.goto(offline.as_uri())
        assert live == window.evaluate(SHOWN)
        assert title == window.title()


def test_an_owner_pauses_limits_and_ends_a_run_without_a_mouse(browser, service):
    with visited(browser) as window:
        window.on("dialog", lambda dialog: dialog.accept())
        begin(window, service, "governed")
        until(window, "#now", "open")
        tab_to(window, "#pause")
        window.keyboard.press("Enter")
        until(window, "#now", "paused")
        window.keyboard.press("Enter")
        until(window, "#now", "open")
        tab_to(window, "#limit")
        window.keyboard.type("1000")
        window.keyboard.press("Enter")
        until(window, "#now", "1,000")
        tab_to(window, "#end")
        window.keyboard.press("Enter")
        until(window, "#now", "limited")


@pytest.fixture(scope="module")
def decided(service):
    service.create("decided")
    with sensing(service.url("decided"), list(ERRORS)) as states:
        while not states:
            pass
    return service


@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_pages_fit_the_window_and_follow_the_theme(browser, decided, width, theme):
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 26)"}[theme]
    with visited(browser, width, theme) as window:
        for path in (None, "decided"):
            window.goto(decided.url(path))
            if path:
                until(window, "#report", "fibre has the largest capacity")
            needed, given = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert needed <= given
            assert window.evaluate("getComputedStyle(document.body).backgroundColor") == ground


def test_what_a_reader_has_unfolded_stays_so_when_the_report_is_drawn_again(browser, service):
    service.create("unfolded")
    with visited(browser) as window:
        window.goto(service.url("unfolded"))
        until(window, "#report", "Undecided")
        with sensing(service.url("unfolded"), list(ERRORS)):
            until(window, "#report", "fibre has the largest capacity")
        window.evaluate("document.querySelectorAll('#report details').forEach(d => d.open = true)")
        tab_to(window, "#report summary")
        window.evaluate(
            "showReport({title: 'again', body: document.getElementById('report').innerHTML.replaceAll(' open=\"\"', '').replaceAll(' style=', ' data-style=')})"
        )
        assert window.evaluate("[...document.querySelectorAll('#report details')].every(d => d.open)")
        assert window.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_token_can_be_typed_and_a_wrong_one_is_refused(browser, service):
    with visited(browser) as window:
        window.goto(service.address)
        window.keyboard.type("wrong")
        window.keyboard.press("Enter")
        until(window, "main", "not valid here")
        window.keyboard.type("0123456789abcdefghij")
        window.keyboard.press("Enter")
        until(window, "h1", "Runs")
