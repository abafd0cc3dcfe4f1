"""HTML and SVG as values, and tables of them; numbers and names as people read them: 34,586, 3.5·10¹¹, 12.3k.

Whatever is not markup already is escaped on its way in.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from bestchannel.promises import plural

EXPONENTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LARGEST_IN_FULL = 10**9
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_NAMED, LONGEST_NAME = 4, 60


def whole(value: float) -> str:
    """A count in full up to 10⁹, and by its power of ten from there.

    >>> whole(34586), whole(3.52e11)
    ('34,586', '3.52·10¹¹')
    """
    if not math.isfinite(value):
        return "infinitely many"
    return f"{value:,.0f}" if value < LARGEST_IN_FULL else _scientific(value, 2)


def several(number: float, thing: str) -> str:
    """1 request, 2 requests."""
    return f"{whole(number)} {plural(number, thing)}"


def short(value: float) -> str:
    """A count in at most some five signs.

    >>> short(812), short(12345), short(4200000), short(3e11)
    ('812', '12.3k', '4.2M', '3·10¹¹')
    """
    for limit, divisor, letter in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if value < limit * 0.9995:
            return f"{value / divisor:.3g}{letter}"
    return _scientific(value, 1)


def bits(value: float) -> str:
    """A capacity, or the end of an interval."""
    return f"{value:.4f}"


def percent(share: float) -> str:
    """A share of a whole, with one digit more where it is small."""
    return f"{share:.0%}" if share >= 0.1 or share == 0.0 else f"{share:.1%}"


def _scientific(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}·10{str(int(exponent)).translate(EXPONENTS)}"


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers from low to high, about as many as asked for.

    >>> ticks(0, 34586)
    [0.0, 5000.0, 10000.0, 15000.0, 20000.0, 25000.0, 30000.0]
    """
    if not high - low > 1e-9 * max(abs(low), abs(high)):  # nothing lies between that could be told apart
        return [low]
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((power * s for s in STEPS), key=lambda s: abs(math.log(s / rough)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def brief(name: str, longest: int = LONGEST_NAME) -> str:
    """The name, its middle left out where it is longer than so many signs."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}…{name[len(name) - tail :]}"


def named(names: Sequence[str]) -> str:
    """a, b and c; of many the first few and how many others.

    >>> named(["a", "b", "c"]), named(list("abcdef"))
    ('a, b and c', 'a, b, c, d and 2 others')
    """
    first = [brief(name) for name in names[:MOST_NAMED]]
    rest = len(names) - len(first)
    if rest:
        first.append(several(rest, "other"))
    return first[0] if len(first) == 1 else f"{', '.join(first[:-1])} and {first[-1]}"


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
