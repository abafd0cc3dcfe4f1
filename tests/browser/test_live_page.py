"""The page of a service in Chromium: a run is begun, watched, paused, survives its server, and ends as the report."""

import http.server
import signal
import threading
from contextlib import contextmanager

import pytest

from bestchannel.report.page import page as report
from bestchannel.report.provenance import origin_of
from bestchannel.runs import view
from tests.browser import chromium
from tests.service.instruments import ERRORS
from tests.service.running import running, sensing, wait_until

if reason := chromium.missing():
    pytest.skip(reason, allow_module_level=True)

VIEWS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
CHANNELS = "\n".join(f"{name} 0,1 0,1" for name in ERRORS)
SHOWN = """() => {
    const copy = document.querySelector('main').cloneNode(true);
    copy.querySelectorAll('[style]').forEach(e => e.setAttribute('style', e.style.cssText));
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


def test_the_example_of_the_start_page_begins_a_run_as_it_stands(browser, service):
    with visited(browser) as window:
        window.goto(service.url())
        window.fill("input[name=name]", "example")
        window.click("#new-run button")
        window.wait_for_url("**/runs/example")
    assert service.call("GET", "/api/runs/example")[1]["channels"] == ["north", "south"]


TOLD = """() => [
    [...document.querySelectorAll('#now dt')].find((dt) => dt.textContent === 'senses')?.nextSibling.textContent,
    document.querySelector('#as-of').textContent, document.querySelector('#as-of').classList.contains('behind'),
]"""


def test_the_report_below_says_as_of_how_many_senses_and_when_and_that_it_is_behind(browser, service):
    with visited(browser) as window:
        begin(window, service, "behind")
        until(window, "#as-of", "as of 0 senses, at 20")
        assert " UTC." in window.text_content("#as-of")
        with sensing(service.url("behind"), list(ERRORS)):
            until(window, "#now", "decided")
        window.wait_for_function("() => !document.querySelector('#as-of').classList.contains('behind')")
        senses, words, behind = window.evaluate(TOLD)
        assert f"as of {senses} senses" in words
        assert not behind
        # in one go: the next event of the service says again how many there are
        later = "() => { showStanding({...standing, senses: standing.senses + 1676}); return (" + TOLD + ")(); }"
        senses, words, behind = window.evaluate(later)
        assert behind
        assert f"above are {senses} senses" in words


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
        wait_until(lambda: states)
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
            "showReport({...drawn, title: 'again', body: document.getElementById('report').innerHTML.replaceAll(' open=\"\"', '').replaceAll(' style=', ' data-style=')})"
        )
        assert window.evaluate("[...document.querySelectorAll('#report details')].every(d => d.open)")
        assert window.evaluate("document.activeElement.tagName") == "SUMMARY"


def answer(service, run, channels):
    """Answer the open request of a run: every channel is without error."""
    wish = {"sensor": "bench", "channels": channels, "run": run}
    lent = service.call("POST", "/api/leases", {**wish, "most": 10**6, "wait": 30})[1]
    pieces = [
        {"channel": part["channel"], "x": part["x"], "start": part["start"], "counts": {part["x"]: part["count"]}}
        for part in lent["parts"]
    ]
    status, answered, _ = service.call(
        "POST", f"/api/runs/{run}/pieces", {"request": lent["request"], "pieces": pieces}
    )
    assert status == 200, answered


def test_what_a_reader_searches_and_sorts_stays_so_when_the_report_is_drawn_again(browser, service):
    channels = {f"q{i}": {"inputs": ["0", "1"], "outputs": ["0", "1"]} for i in range(30)}
    service.create("crowd", channels=channels)
    answer(service, "crowd", list(channels))
    rows = "() => [...document.querySelector('table.sortable').tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
    with visited(browser) as window:
        window.goto(service.url("crowd"))
        until(window, "#report", "Table of capacities")
        window.locator("summary", has_text="Table of capacities").click()
        window.get_by_role("button", name="channel", exact=True).first.click()
        window.get_by_role("searchbox").fill("Q2")
        found = window.evaluate(rows)
        assert found == [*(f"q{i}" for i in range(29, 19, -1)), "q2"]
        window.evaluate("document.querySelector('#report').firstChild.seen = true")
        answer(service, "crowd", list(channels))
        window.wait_for_function("() => !document.querySelector('#report').firstChild.seen")
        assert window.evaluate(rows) == found
        assert window.evaluate("document.activeElement.type") == "search"
        assert window.locator("#search output").inner_text() == "11 found"


def test_the_list_of_runs_is_kept_current(browser, service):
    with visited(browser) as window:
        window.goto(service.url())
        until(window, "#connection", "live")
        service.create("newcomer")
        until(window, "#list", "newcomer")
        tab_to(window, "#list a[href='/runs/newcomer']")
        service.call("PATCH", "/api/runs/newcomer", {"paused": True})
        until(window, "tr:has(a[href='/runs/newcomer'])", "paused")
        assert window.evaluate("document.activeElement.textContent") == "newcomer"


def test_the_page_of_a_run_that_was_deleted_says_so(browser, service):
    service.create("deleted")
    with visited(browser) as window:
        window.goto(service.url("deleted"))
        until(window, "#connection", "live")
        for path in (service.folder / "runs").glob("deleted.db*"):
            path.unlink()
        until(window, "#connection", "there is no run 'deleted'")


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A page of another site with a link."""

    link = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<a href="{self.link}">watch</a>'.encode())

    def log_message(self, *_):
        pass


def test_an_address_with_a_token_opens_from_a_message_on_another_site(browser, service):
    Elsewhere.link = service.url()
    with http.server.HTTPServer(("localhost", 0), Elsewhere) as other, visited(browser) as window:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        window.goto(f"http://localhost:{other.server_port}/")
        window.get_by_text("watch").click()
        until(window, "h1", "Runs")
        assert "token" not in window.url
        other.shutdown()


def test_a_token_can_be_typed_and_a_wrong_one_is_refused(browser, service):
    with visited(browser) as window:
        window.goto(service.address)
        window.keyboard.type("wrong")
        window.keyboard.press("Enter")
        until(window, "main", "not valid here")
        window.keyboard.type("0123456789abcdefghij")
        window.keyboard.press("Enter")
        until(window, "h1", "Runs")
