"""Which column has the counts where none is called count: `n`, `freq`, polars' `len`, the `0` of pandas.

A row of a table of counts is one cell, and comes once; a row of a log is one sense, and comes again. Where no row comes
twice, a further column of whole numbers is never passed over: it is read if its name says that it counts, else refused.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bestchannel.counts.column_names import role_of, stated
from bestchannel.counts.labelled_counts import Cells, Combinations, is_missing, label_of
from bestchannel.counts.soft_outputs import looks_measured
from bestchannel.errors import InputError

_SPELLED = (
    "count counts cnt n nr num number nobs observations freq freqs frequency frequencies weight weights shots hits"
    " events occurrence occurrences times tally total totals len length size"
)
LONGEST_SAID = 80
"""Letters of a title that are said."""

_WORDS = frozenset(_SPELLED.split())
"""What a column of counts may be called."""

_STRONG = frozenset(["count", "counts", "occurrences"])
_BESIDE = frozenset(["of", "the", "trials", "senses", "samples", "rows", "obs", "events", "raw"])
"""Words that say it in any title, and words that may stand beside those that do not."""

_PANDAS = "0"
"""What pandas calls the sizes of groups after `reset_index()`."""

_INDEX = re.compile(r"(?:unnamed: ?\d+|index|)", re.IGNORECASE)
_PARQUET_INDEX = "__index_level_0__"
"""What a column is called that pandas' index became, in texts and in Parquet."""

_MOST_WITHOUT = 0.9
"""Where a larger share of the rows has no label, the one label of the others is a remark, and names no channel."""

_FEW = 4
"""Counts of more cells than these do not rise from row to row by chance."""


def count_column(
    header: Sequence[str], found: Mapping[str, int], seen: Combinations, cells: Cells, columns: Mapping[str, str] | None
) -> int | None:
    """The further column that has the counts, None where a row is one sense; refused where either may be."""
    others = [i for i in range(len(header)) if i not in found.values()]
    numbers = {
        i: values for i in others if (values := [_number(cell) for cell in cells(i) if _label(cell) is not None])
    }
    named = [i for i in numbers if _counts(header[i]) and any(v is not None for v in numbers[i])]
    whole = [i for i in numbers if _is_whole(numbers[i]) and not _is_index(header[i], numbers[i])]
    if not named and (not whole or seen.rows_differ):
        return None
    labels = {role: [str(cell).strip() for cell in cells(i)] for role, i in found.items() if role != "time"}
    if len(set(map(len, labels.values()))) > 1:
        return None  # refused where the rows are read
    rows = list(zip(*labels.values(), strict=True))
    once = len(set(rows)) == len(rows)
    if once and len(named) == 1 and is_count_word(header[named[0]]) and not _is_running(numbers[named[0]]):
        return named[0]
    if not named and not once:  # or with a further column that may name channels
        apart = [i for i in others if _tells_apart([str(cell).strip() for cell in cells(i)], rows)]
        whole, once = [i for i in whole if i not in apart], bool(apart)
    if not named and (not whole or not once or _look_measured(labels, seen)):
        return None
    raise _refusal([header[i] for i in named or whole], columns)


def refuse_channel_column(
    header: Sequence[str],
    found: Mapping[str, int],
    cells: Cells,
    columns: Mapping[str, str] | None,
    *,
    are_all: bool,
) -> None:
    """Refuse a further column that may name channels.

    By its name; as it tells the rows of counts apart, or may do so where it has no label; or as it has one label where
    it has any. `are_all` says that there are no rows but these: others may have the names of further channels.
    """
    others = [i for i in range(len(header)) if i not in found.values()]
    for i in others:
        if role_of(header[i]) == "channel" and (len({str(cell).strip() for cell in cells(i)}) > 1 or not are_all):
            raise _channel_refusal(header[i], columns)
        labels = list(map(_label, cells(i)))
        if len({*labels} - {None}) == 1 and labels.count(None) <= _MOST_WITHOUT * len(labels):
            _refuse_unnamed_rows(header[i], labels, columns)
    if "count" not in found:
        return
    rows = list(zip(*([str(cell).strip() for cell in cells(found[role])] for role in ("x", "y")), strict=False))
    if len(set(rows)) == len(rows):
        return
    for i in others:
        if _tells_apart([str(cell).strip() for cell in cells(i)], rows):
            raise _channel_refusal(header[i], columns)
        _refuse_unnamed_rows(header[i], list(map(_label, cells(i))), columns)


def _refuse_unnamed_rows(title: str, labels: Sequence[str | None], columns: Mapping[str, str] | None) -> None:
    """Refuse a column that may name channels and has no label in some rows."""
    label = next(filter(None, labels), None)
    if label is None or None not in labels:
        return
    none = {**(columns or {}), "channel": ""}
    raise InputError(
        f"the column {_short(title)!r} may name channels, as {_short(label)!r}, and row {labels.index(None) + 1} has no"
        f" value in it; fill it in, or write --columns {stated(none)} (columns={none} in Python) if all rows are of one"
        " channel"
    )


def _tells_apart(labels: Sequence[str], rows: Sequence[Any]) -> bool:
    """Whether labels that come again make different rows of all, as the names of channels do in a table of counts."""
    return 2 * len(set(labels)) <= len(labels) == len(rows) == len({*zip(labels, rows, strict=True)})


def _channel_refusal(title: str, columns: Mapping[str, str] | None) -> InputError:
    title = _short(title)
    way, none = {**(columns or {}), "channel": title}, {**(columns or {}), "channel": ""}
    return InputError(
        f"the column {title!r} may name channels; write --columns {stated(way)} (columns={way} in Python) if it does,"
        f" or --columns {stated(none)} (columns={none}) if all rows are of one channel"
    )


def _short(title: str) -> str:
    """As much of a title as a sentence has room for."""
    return title if len(title) <= LONGEST_SAID else f"{title[:LONGEST_SAID]}…"


def _label(cell: object) -> str | None:
    """What a cell says; None where it has no value."""
    label = (label_of(cell) or "").strip()
    return None if not label or is_missing(label) else label


def _number(cell: object) -> float | None:
    """The number that a cell holds; a number that may be two, as 1,000, is none of both and yet a number."""
    if isinstance(cell, bool):
        return None
    try:
        return float(re.sub(r"(?<=\d),(?=\d)", ".", cell) if isinstance(cell, str) else cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _is_whole(values: Sequence[float | None]) -> bool:
    """Whether all are whole numbers from 0 on that would not all count 1."""
    return set(values) != {1.0} and all(v is not None and v >= 0 and math.isfinite(v) and v % 1 == 0 for v in values)


def _look_measured(columns: Mapping[str, Sequence[str]], seen: Combinations) -> bool:
    """Whether the outputs of every channel look measured, so that rows come once and are refused for that anyway."""
    if not seen.judges_numbers:
        return False
    outputs: dict[str, Counter[str]] = defaultdict(Counter)
    for channel, y in zip(columns.get("channel", columns["y"]), columns["y"], strict=True):
        outputs[channel if "channel" in columns else ""][y] += 1
    return all(looks_measured(list(seen), np.array(list(seen.values()))) for seen in outputs.values())


def _counts(title: str) -> bool:
    """Whether a title says that something is counted, as `n`, `n_shots`, `Number of hits`."""
    words = set(re.findall(r"[a-z]+", title.casefold()))
    return is_count_word(title) or bool(words & _STRONG) or (bool(words & _WORDS) and words <= _WORDS | _BESIDE)


def is_count_word(title: str) -> bool:
    """Whether the title is a word for counts."""
    return title.strip().casefold() in _WORDS or title.strip() == _PANDAS


def _is_index(title: str, values: Sequence[Any]) -> bool:
    """Whether a column numbers the rows and its name says nothing else."""
    numbers_rows = list(values) == [values[0] + i for i in range(len(values))]
    return title == _PARQUET_INDEX or (numbers_rows and _INDEX.fullmatch(title.strip()) is not None)


def _is_running(values: Sequence[float | None]) -> bool:
    """Whether the values may number the senses: all of 0, 1, 2, ... or 1, 2, 3, ..., or ever rising ones."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(known) < 2:
        return False
    rising = len(known) > _FEW and all(a < b for a, b in pairwise(known))
    return rising or sorted(known) in [[first + i for i in range(len(known))] for first in (0.0, 1.0)]


def _refusal(titles: Sequence[str], columns: Mapping[str, str] | None) -> InputError:
    titles = [_short(title) for title in titles]
    ways = [{**(columns or {}), "count": title} for title in titles]
    none = {**(columns or {}), "count": ""}
    either = " or ".join(f"--columns {stated(way)} (columns={way} in Python)" for way in ways[:3])
    return InputError(
        f"the column{'s' * (len(titles) > 1)} {', '.join(map(repr, titles))} may say how often a row counts, or be"
        f" something else; write {either} if it is the count, or --columns {stated(none)} (columns={none}) if a row is"
        " one sense"
    )
