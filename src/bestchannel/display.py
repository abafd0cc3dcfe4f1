"""How results are shown and compared: text, notebook cards, data frames, equality by value.

Results live in layers that know neither pages nor data-frame libraries. They ask for what the presentation
layer has registered to draw and to tabulate them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import combining, east_asian_width

import numpy as np

from bestchannel.arrays import on_host

if TYPE_CHECKING:
    from pandas import DataFrame

Frame: TypeAlias = "DataFrame"  # a pandas data frame, which only the presentation layer imports
CARDS: dict[str, Callable[[Any], str]] = {}
FRAMES: dict[str, Callable[[Any], Frame]] = {}
"""What draws and what tabulates results, by the name of their class or of one that it derives from."""


def _registered(functions: Mapping[str, Callable[[Any], Any]], result: object) -> Callable[[Any], Any] | None:
    return next((functions[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in functions), None)


class Shown:
    """A result that a notebook shows as a card."""

    def _repr_html_(self) -> str | None:
        draw = _registered(CARDS, self)
        return draw and draw(self)


class Tabulated(Shown):
    """A result with a table inside."""

    def to_frame(self) -> Frame:
        """The table as a data frame: a row per channel, in their order, or per answered request of an identification.

        Returns
        -------
        pandas.DataFrame
            Indexed by the names of the channels, the places in a stack, or the numbers of requests; in bits, but for
            evidence, which is in nats. What is not known is missing.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.estimate({"link": [[95, 5], [5, 95]]}).to_frame().index.tolist()
        ['link']
        """
        tabulate = _registered(FRAMES, self)
        if tabulate is None:
            raise NotImplementedError(f"no table is registered for {type(self).__name__}")
        return tabulate(self)


class Valued:
    """A result that equals another one of its class with the same content, arrays entry by entry."""

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(other) is type(self) else NotImplemented


def same(a: Any, b: Any) -> bool:
    """Whether two values have the same content: arrays entry by entry, NaN equal to NaN.

    >>> same({"P": np.array([0.5, np.nan])}, {"P": np.array([0.5, np.nan])})
    True
    """
    if hasattr(a, "__dlpack__") != hasattr(b, "__dlpack__"):
        return False
    if hasattr(a, "__dlpack__"):
        a, b = on_host(a), on_host(b)
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b or (a != a and b != b))


def on_one_line(text: str) -> str:
    """The text with line ends and control characters spelled out: a file may hold any, and terminals obey some."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def text_table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: Collection[str] | None = None) -> str:
    """The rows under their heads, the columns `left`, or the first one, to the left and the others to the right.

    >>> print(text_table(["channel", "bits"], [["cable", 0.5], ["radio", 0.25]]))
    channel  bits
    cable     0.5
    radio    0.25
    """
    lines = [[on_one_line(str(cell)) for cell in row] for row in (heads, *rows)]
    columns = []
    for cells in zip(*lines, strict=True):  # some letters take two places of a terminal, and accents none
        widths = [sum(0 if combining(a) else 2 if east_asian_width(a) in "WF" else 1 for a in cell) for cell in cells]
        is_left = cells[0] in (heads[:1] if left is None else left)
        spaces = [" " * (max(widths) - width) for width in widths]
        columns.append([f"{c}{s}" if is_left else f"{s}{c}" for c, s in zip(cells, spaces, strict=True)])
    return "\n".join(map("  ".join, zip(*columns, strict=True)))
