"""`bestchannel explain TOPIC`: what is promised, in a few lines or with the proof, from the pages of the package."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import typer

from bestchannel.cli import options, terminal, verbs
from bestchannel.cli.formulas import readable
from bestchannel.errors import InputError

WITHIN = "the named channel is within epsilon of the best, wrong with probability at most delta"

TOPICS = {
    "adaptive": ("adaptive", "the named channel is the best, wrong with probability at most delta, however it sensed"),
    "questions": ("questions", "what is said of a level, the best m, an order or a size is wrong at most delta"),
    "best-chan-id": ("best-chan-id", "the named channel is the best, wrong with probability at most delta"),
    "naive": ("naive-chan-sel", WITHIN),
    "median": ("median-chan-el", WITHIN),
    "estimate": ("intervals", "all intervals hold together and at all times, wrong with probability at most delta"),
    "recorded-counts": (
        "recorded-counts",
        "intervals, verdict and order hold where nobody chose numbers of senses by looking at outputs",
    ),
    "checks": ("drift-and-memory", "if channels neither change nor remember, at most 1 file in 100 gets a warning"),
    "capacity": ("capacity", "the capacity lies between its lower and its upper bound"),
    "bound": (
        "characteristic-time",
        "no policy that errs with probability at most delta takes fewer senses on average",
    ),
    "theorem-4": ("theorem-4", "the paper's lower bound on the senses of every policy"),
    "paper-bounds": ("bounds", "how far the capacity of an empirical channel is from the true one"),
    "verify": ("certificate", "a record that is found valid proves what it claims"),
    "study": ("study", "what the numbers of a study are, and how sure they are"),
}
"""The page of each topic, and what it promises."""

ENTRY = re.compile(r"^\*\*\[(\w+)\]\*\* .+$", re.MULTILINE)
"""What the bibliography has for a key."""

LINK = re.compile(r"\[([^][]+)\]\(((?:\.\./|[\w-]+/)*)([\w-]+)\.md(?:#[^)]*)?\)")
"""The words of a link to another page, the folders on the way to it, and its name."""

SUMMARY = re.compile(r"^\*\*In short\.\*\* (.+?)\n\n", re.MULTILINE | re.DOTALL)
"""The paragraph with which every page begins."""

COLUMNS = 80

PACKAGE = Path(__file__).parents[1]


@verbs.verb("Example: bestchannel explain adaptive")
def explain(
    topic: str | None = typer.Argument(
        None,
        help="What a guarantee cites; without one, the topics are listed.",
        autocompletion=lambda incomplete: [name for name in TOPICS if name.startswith(incomplete)],
    ),
    full: bool = options.flag("Print the theorem with its proof as well.", "--full"),
    json: bool = options.JSON,
) -> None:
    """Say what is promised and what it rests on, in a few lines; with --full, prove it."""
    if topic is None:
        listed = [{"topic": name, "promise": words} for name, (_, words) in TOPICS.items()]
        width = max(map(len, TOPICS))
        lines = [f"{name:{width}}  {words}" for name, (_, words) in TOPICS.items()]
        terminal.answer({"topics": listed}, lambda: terminal.say(*lines), json=json)
        return
    explanation = explained(topic)
    if json:
        terminal.print_json(explanation)
        return
    print(f"{explanation['topic']}: {explanation['promise']}\n")
    if full:
        print(readable("\n\n".join([explanation["text"], "## References", *explanation["references"].values()])))
    else:
        print(textwrap.fill(readable(explanation["summary"]), COLUMNS, break_on_hyphens=False))
        print(f"\nThe theorem and its proof: bestchannel explain {explanation['topic']} --full")


def explained(topic: str) -> dict[str, Any]:
    """The page of a topic (or of the name that links give the page) with the works that it cites."""
    pages = {page: name for name, (page, _) in TOPICS.items()}
    name = topic if topic in TOPICS else pages.get(topic)
    if name is None:
        raise InputError(f"the topic must be one of {', '.join(TOPICS)}; it is {topic!r}")
    page, promise = TOPICS[name]
    text = LINK.sub(_here, _page(f"theory/{page}.md")).rstrip()
    summary = SUMMARY.search(text)
    assert summary is not None, page
    return {
        "topic": name,
        "title": text.partition("\n")[0].removeprefix("# "),
        "promise": promise,
        "summary": " ".join(summary[1].split()),
        "text": text,
        "references": _references(text),
    }


def _here(link: re.Match[str]) -> str:
    """A link between pages as the command that prints the other one; other pages are not part of the package."""
    words, folder, page = link.groups()
    return words if folder else f"{words} (bestchannel explain {page})"


def _references(text: str) -> dict[str, str]:
    """What the bibliography has for the keys of the text, and for "the paper" of every page."""
    entries = {entry[1]: entry[0] for entry in ENTRY.finditer(_page("bibliography.md"))}
    return {key: entry for key, entry in entries.items() if key == "EBWGW24" or re.search(rf"\b{key}\b", text)}


def _page(name: str) -> str:
    """A page of `bestchannel/pages` of an installed package; an editable install reads docs/ of its source."""
    installed = PACKAGE / "pages"
    pages = installed if installed.is_dir() else PACKAGE.parents[1] / "docs"
    return (pages / name).read_text(encoding="utf-8")
