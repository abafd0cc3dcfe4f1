"""The pages that people see: the list of runs, one run kept current, and where a token is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from bestchannel.policies.catalogue import POLICIES
from bestchannel.record import RunStatus
from bestchannel.report.markup import Html, joined, lone, tag, trusted
from bestchannel.report.page import meta, script, style

EXAMPLE = "north 0,1 0,1\nsouth 0,1 0,1"  # channels of a new run: a name, its inputs and its outputs on each line
CONNECTION = tag("span", "connecting …", id="connection", role="status", aria_live="polite")
WRONG = tag("p", role="alert", class_="wrong")  # where the script says what was refused


def home_page(runs: Sequence[RunStatus], *, owner: bool) -> str:
    """The runs of the folder, and for the owner a form that begins another."""
    bar = tag("nav", tag("b", "All runs"), CONNECTION, class_="bar")
    listed = tag("div", trusted(run_list(runs)), id="list")
    return _page("Runs · bestchannel", bar, tag("main", tag("h1", "Runs"), listed, *([_new_run()] if owner else [])))


def run_list(runs: Sequence[RunStatus]) -> str:
    """How many runs there are, and where each stands: what the home page keeps current."""
    if not runs:
        return tag("p", "There are none yet.", class_="lead")
    how_many = f"{len(runs):,} in this folder, {sum(run.state == 'open' for run in runs):,} of them open."
    titles = ("run", "state", "leader", "evidence", "senses", "last activity")
    head = tag("thead", tag("tr", *(tag("th", title, scope="col") for title in titles)))
    table = tag("table", head, tag("tbody", *map(_row, runs)), id="runs")
    return tag("p", how_many, class_="lead") + tag("section", tag("div", table, class_="scroll", tabindex="0"))


def run_page(status: RunStatus, *, owner: bool) -> str:
    """One run: what is going on, and below it the report, which the script keeps current."""
    bar = tag("nav", tag("a", "All runs", href="/"), tag("b", status.run), CONNECTION, class_="bar")
    now = tag("section", id="now", aria_label="What is going on", class_="now-of-run")
    controls = tag(
        "form",
        tag("button", "Pause", type="button", id="pause"),
        _input("Most senses", "max_senses", inputmode="numeric", id="limit"),
        tag("button", "Set limit", type="submit"),
        tag("button", "End the run", type="button", id="end"),
        WRONG,
        id="controls",
        class_="controls",
    )
    links = {"file": "run (.db)", "result": "result (.json)", "report": "report (.html)"}
    shown = (tag("a", word, href=f"/api/runs/{status.run}/{what}", download="") for what, word in links.items())
    downloads = tag("p", "Download: ", joined(part for link in shown for part in (link, " ")), class_="downloads")
    return _page(
        f"{status.run} · bestchannel",
        bar,
        tag("div", now, *([controls] if owner else []), downloads, class_="live"),
        tag("p", id="as-of", class_="as-of", hidden=""),
        tag("main", tag("p", "The report is being drawn …", class_="lead"), id="report"),
        data_run=status.run,
    )


def login_page(*, wrong: bool) -> str:
    """Where a person types the token."""
    token = lone("input", name="token", type="password", autofocus="", autocomplete="off", required="")
    body = tag(
        "main",
        tag("h1", "A token, please"),
        tag("p", "This service was started with a token; its address with the token was printed then.", class_="lead"),
        tag("p", "That token is not valid here.", role="alert", class_="wrong") if wrong else "",
        tag("form", tag("label", "Token ", token), tag("button", "Go on"), method="post", action="/login"),
    )
    return _page("bestchannel", body)


def again_page(path: str) -> str:
    """Asks for an address of this service again."""
    refresh = lone("meta", http_equiv="refresh", content=f"0; url={path}")
    head = tag("head", *meta(), refresh, tag("title", "bestchannel"))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('a', 'Go on', href=path)), lang='en')}\n"


@cache
def static_file(name: str) -> tuple[bytes, str] | None:
    """A file that pages load, and its kind."""
    kinds = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
    kind, ours = kinds.get(name.rpartition(".")[2], ""), {"page.css": style, "page.js": script}
    if name in ours:
        return ours[name]().encode(), kind
    if name in ("live.css", "live.js"):
        return files("bestchannel.service").joinpath("static", name).read_bytes(), kind
    return None


def _page(title: str, *content: object, **data: object) -> str:
    head = tag(
        "head",
        *meta(),
        tag("title", title),
        *(trusted(f'<link rel="stylesheet" href="/static/{name}.css">') for name in ("page", "live")),
        *(tag("script", src=f"/static/{name}.js", defer="") for name in ("page", "live")),
    )
    body = tag("body", *content, class_="bestchannel page", **data)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _row(run: RunStatus) -> Html:
    cells = (
        "paused" if run.paused and run.state == "open" else run.state,
        run.answer or run.best or run.leader or "",
        evidence(run),
        f"{run.senses:,}",
        tag("time", run.last_activity.replace("T", " ").removesuffix("+00:00"), datetime=run.last_activity),
    )
    name = tag("th", tag("a", run.run, href=f"/runs/{run.run}"), scope="row")
    return tag("tr", name, *(tag("td", cell) for cell in cells), title=run.error or None)


def evidence(run: RunStatus) -> str:
    """Evidence of its threshold, in bits, against the rival that is hardest to rule out."""
    if run.evidence_bits is None or run.threshold_bits is None or run.best:
        return ""
    return f"{run.evidence_bits:.1f} of {run.threshold_bits:.1f} bits"


QUESTIONS = {
    "best": "Which is the best?",
    "above": "Which are above a level?",
    "top": "Which are the best so many?",
    "order": "In which order do they come?",
    "within": "How large are they, to within a width?",
}


def _new_run() -> Html:
    channels = tag("textarea", trusted(EXAMPLE), name="channels", rows=5, required="")
    policies = tag("select", *(tag("option", name) for name in POLICIES), name="policy")
    questions = tag("select", *(tag("option", words, value=kind) for kind, words in QUESTIONS.items()), name="kind")
    form = tag(
        "form",
        _input("Name", "name", required="", pattern="[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}", autocomplete="off"),
        tag("label", tag("span", "Channels: name, inputs, outputs"), channels),
        tag("label", tag("span", "Policy"), policies),
        _input("δ, the largest probability of a wrong name", "delta", value="0.05", inputmode="decimal"),
        _input("ε, bits within which any channel will do", "epsilon", inputmode="decimal"),
        tag("label", tag("span", "Question"), questions),
        _input("Level or width in bits, or how many", "number", inputmode="decimal"),
        _input("Most senses", "max_senses", inputmode="numeric"),
        tag("button", "Begin"),
        WRONG,
        id="new-run",
    )
    return tag("section", tag("h2", "Begin a run"), form)


def _input(words: str, name: str, **attributes: object) -> Html:
    return tag("label", tag("span", words), lone("input", name=name, **attributes))
