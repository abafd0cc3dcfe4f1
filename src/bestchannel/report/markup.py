"""HTML and SVG as values, and tables of them: whatever is not markup already is escaped on its way in."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from bestchannel.report.wording import brief


class Html(str):
    """Text that may stand in a page as it is; only this module makes it."""

    __slots__ = ()


UNSAFE = {"Cc", "Cs", "Co", "Cn"}
"""Unicode categories that have no business in a page: controls, half surrogates, what is not assigned."""

TURNS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of what follows them, so that a name could reverse the rest of a line."""


def shown(value: object) -> str:
    """The value as text that can be encoded and read: what a page must not hold becomes U+FFFD."""
    return "".join(c if c.isascii() and c.isprintable() else _printable(c) for c in str(value))


def _printable(character: str) -> str:
    if character in "\n\t":
        return " "
    unsafe = unicodedata.category(character) in UNSAFE or character in TURNS
    return "\ufffd" if unsafe else character


def text(value: object) -> Html:
    """The value escaped, unless it is markup."""
    return value if isinstance(value, Html) else Html(escape(shown(value)))


def joined(parts: Iterable[object]) -> Html:
    """The parts one after the other."""
    return Html("".join(text(part) for part in parts))


def tag(name: str, /, *content: object, **attributes: object) -> Html:
    """<name attributes>content</name>; an attribute that is None is left out, class_ means class, a_b means a-b.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    return Html(f"<{name}{_attributes(attributes)}>{joined(content)}</{name}>")


def lone(name: str, /, *content: object, **attributes: object) -> Html:
    """An SVG element, closed in itself where it has no content.

    >>> lone("rect", width=3)
    '<rect width="3"/>'
    """
    if content:
        return tag(name, *content, **attributes)
    return Html(f"<{name}{_attributes(attributes)}/>")


def trusted(source: str) -> Html:
    """A text of this package (the style sheet) as markup."""
    return Html(source)


def _attributes(attributes: dict[str, object]) -> str:
    return "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(shown(value))}"'
        for key, value in attributes.items()
        if value is not None
    )


def folded(words: object, *content: object) -> Html:
    """Content that shows when asked for."""
    return tag("details", tag("summary", words), *content)


@dataclass(frozen=True)
class Sortable:
    """A cell that shows one thing, and is sorted by a number."""

    shown: object
    value: float


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, by_name: bool = False) -> Html:
    """A table whose first column names the rows; wider than the page, it scrolls by itself.

    `by_name` lets the script of the page find rows by their first column, and sort them.
    """
    head = tag("tr", *(tag("th", word, scope="col") for word in heads))
    body = [
        tag("tr", tag("th", brief(str(name)), scope="row"), *map(_cell, cells), data_name=name if by_name else None)
        for name, *cells in rows
    ]
    sortable = "sortable" if by_name else None
    whole_table = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_=sortable)
    return tag("div", whole_table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cell(cell: object) -> Html:
    if isinstance(cell, Sortable):
        return tag("td", cell.shown, data_value=f"{cell.value:.10g}")
    return tag("td", cell)
