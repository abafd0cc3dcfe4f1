"""Which column of a table is what: by its name, as somebody says, or by its cells; never guessed, but proposed.

A row of a table of counts is one cell, and comes once; a row of a log is one sense, and comes again. Where no row comes
twice, a further column of whole numbers is never passed over: it is read if its name says that it counts, as `n` or
polars' `len`, else refused. Nor is a further column that may name channels.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bestchannel.arrays import ROUNDING
from bestchannel.counts.labelled_counts import Columns, Combinations, is_missing, label_of, looks_measured
from bestchannel.errors import CountsFoundError, InputError, JointTrialsFoundError

Cells = Callable[[int], Sequence[object]]  # of column i in the first rows, as texts or numbers; the same for all
Line = Sequence[str]

SHOWN = 2**14  # how many rows show what the columns of a table are
_COUNTED = (
    "count counts cnt n nr num number nobs observations freq freqs frequency frequencies weight weights shots hits"
    " events occurrence occurrences times tally total totals len length size"
)
_COUNT_WORDS = frozenset(_COUNTED.split())  # what a column of counts may be called
_KNOWN = {  # words that people use for each role
    "x": "x tx sent send in input inputs stimulus prepared prep true truth actual target label secret source src symbol"
    " transmitted cause gold reference written stim",
    "y": "y rx got received receive out output outputs response measured outcome predicted prediction pred observed"
    " observation destination dst decoded effect answer read spikes called resp",
    "channel": "channel ch link device qubit antenna subject sensor cable path name carrier subcarrier cell listener"
    " classifier model user node station port neuron participant person patient electrode detector unit",
    "count": f"{_COUNTED} trials senses",
    "p": "p prob probability probabilities w",
}
_ROLE_OF = {word: role for role, words in _KNOWN.items() for word in words.split()}
_STRONG = frozenset(["count", "counts", "occurrences"])  # words that say it in any title
_BESIDE = {"of", "the", "trials", "senses", "samples", "rows", "obs", "events", "raw"}  # what may stand beside others
_PLANE = (("i", "q"), ("re", "im"), ("real", "imag"))  # what the two coordinates of points of the plane are called
_PANDAS = "0"  # what pandas calls the sizes of groups after `reset_index()`
_INDEX = re.compile(r"(?:unnamed: ?\d+|index|)", re.IGNORECASE)
_PARQUET_INDEX = "__index_level_0__"  # what a column is called that pandas' index became, in texts and in Parquet
_PERCENTAGE = re.compile(r"[0-9.,]+ ?%")
_MOST_WITHOUT = 0.9  # where a larger share has no label, the one label of the others is a remark and no channel
_ALONE = frozenset(["channel", "x", "y", "y2", "count", "p"])  # roles of which a column has but one
_FEW = 4  # counts of more cells than these do not rise from row to row by chance
MOST_INPUTS = 64  # the most rows of a matrix whose outputs are called like columns, unless there is one for each output
_ROLES = frozenset(["channel", "x", "y", "count"])
_SPLIT = ["x", "count", "y"]  # columns in an order that nobody writes rows in, or outputs below a corner
_FEW_ROWS = 8  # up to so many rows, equal labels do not tell a log from a matrix with an index beside it


def role_of(title: str) -> str | None:
    """The role of a title as `tx`, `Tx symbol` or `sent_bit`; in `y_true` it is `true` that says it."""
    known = [word for word in re.findall(r"[a-z]+", title.casefold()) if word in _ROLE_OF]
    return next((_ROLE_OF[word] for word in sorted(known, key=lambda word: word in ("x", "y"))), None)


def say_roles(header: Sequence[str]) -> bool:
    """Whether titles are those of columns: one is x, y or channel, or two have different roles."""
    small = [title.strip().casefold() for title in header]
    return not {"x", "y", "channel"}.isdisjoint(small) or len({role_of(title) for title in small} - {None}) > 1


def proposal(header: Sequence[str] | None, *, value: str = "count", strict: bool = False) -> dict[str, str] | None:
    """Which column may have which role: by their names, then by their order; None where there is no telling.

    With `strict`, by their names alone. `value` is the role of the last column, `count` or `p`.
    """
    titles = [title.strip() for title in header or []]
    titles = titles[not all(titles[:1]) :]  # without an index of the rows, which has no name
    if not all(titles) or any(map(_PERCENTAGE.fullmatch, titles)) or len(set(map(str.casefold, titles))) < len(titles):
        return None
    named: dict[str, str] = {}
    for title in titles:
        named.setdefault(role_of(title) or "", title)
    others = [title for title in titles if role_of(title) is None]
    roles = [role for role in ("x", "y") if role not in named]
    if len(roles) == 2:
        roles = {2: roles, 3: ["channel", *roles], 4: ["channel", *roles, value]}.get(len(others), [])
    if roles == ["y"] and tuple(map(str.casefold, others)) in _PLANE:
        roles = ["y", "y2"]
    if not strict and len(roles) == len(others):
        named |= dict(zip(roles, others, strict=True))
    if not {"x", "y"} <= named.keys() or any(set(',="') & set(title) for title in named.values()):
        return None
    return {role: named[role] for role in ("channel", "x", "y", "y2", value) if role in named}


def option(columns: Mapping[str, str], python: str = " in Python") -> str:
    """How columns are said on the command line, quoted for a shell where that is required, and in Python."""
    text = ",".join(f"{role}={title}" for role, title in columns.items())
    return f"--columns {shlex.quote(text)} (columns={dict(columns)}{python})"


def way_out(header: Sequence[str], value: str = "count") -> str:
    """How to say which column is which."""
    proposed = proposal(header, value=value)
    if proposed is not None:
        return f"if these are the columns, write {option(proposed)}"
    needed = ("x", "y", "p") if value == "p" else ("x", "y")
    titles = list(dict.fromkeys(title.strip() for title in header if title.strip() and not set(',="') & set(title)))
    if any(map(_PERCENTAGE.fullmatch, titles)):
        return "write percentages as fractions of 1, 0.9 in place of 90%"
    if len(titles) < len(needed):
        return "write other names above the columns"
    if "x" in map(str.casefold, titles) and len(titles) > 2:
        cells = f"write one row per cell below channel,x,y,{value} (pandas: stack())"
        if titles[-1].isdecimal():
            return f"these may be outputs side by side; {cells}"
        return f"say which column is y, as {option({'y': titles[-1]})}, or, where each output has a column, {cells}"
    example = dict(zip(needed, titles[-len(needed) :], strict=True))
    sent = next((title for title in titles if role_of(title) == "x" and title not in example.values()), example["x"])
    example["x"] = sent
    return f"say which is which, for instance with {option(example)}"


def unknown_columns(header: Sequence[str], missing: Sequence[str], value: str) -> str:
    """What is said where no column has a role that is required."""
    wanted = "x, y and p, and may have channel" if value == "p" else "x and y, and may have channel and count"
    return (
        f"rows must have the columns {wanted}; the columns are {', '.join(filter(str.strip, header[:20]))}, so that"
        f" {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; {way_out(header, value)}"
    )


def log_columns(
    header: Sequence[str], columns: Columns, seen: Combinations, cells: Cells, *, are_all: bool
) -> dict[str, int]:
    """Where x, y and, if there, channel, count and time are; `cells` may tell that a further column has the counts.

    `are_all` says that there are no rows but those of `cells`.
    """
    found = named_columns(header, columns)
    said = columns if isinstance(columns, Mapping) else {}  # others are the header
    if "channel" in found:
        _refuse_shared_trials(header, found["channel"], cells, said)
    if len(found) < len(header) and "count" not in {**found, **said}:
        further = count_column(header, found, seen, cells, said)
        found |= {} if further is None else {"count": further}
    if len(found) < len(header) and "channel" not in {**found, **said}:
        _refuse_channel_column(header, found, cells, said, are_all)
    return found


def named_columns(header: Sequence[str], columns: Columns) -> dict[str, int]:
    """Where x, y and, if there, channel, count and time are by name; probabilities are sent to `capacity`.

    Points of the plane may have their second coordinate in a column that `columns` says is y2.
    """
    plane = ("y2",) if columns and "y2" in columns else ()
    found = find_columns(header, ("channel", "x", "y", *plane, "count", "time", "trial"), columns)
    found.pop("trial", None)
    missing = [role for role in ("x", "y") if role not in found]
    if missing:
        refuse_joint(header)
        raise InputError(unknown_columns(header, missing, "count"))
    if "count" not in found and any(cell.strip().casefold() == "p" for cell in header):
        raise InputError(
            "there is a column p and none called count, so these look like probabilities, and an estimate requires"
            " counts; use `bestchannel capacity`, or, if p is a number of senses, --columns count=p"
        )
    return found


def refuse_joint(header: Sequence[str], sent: Sequence[str] | None = None) -> None:
    """Refuse the titles of answers of several channels to the same trials: x,y_A,y_B,…, x_A,y_A,… or y_true,y_A,….

    `sent` is what the first column has where this may be a matrix, called x in its corner: there no input comes twice.
    """
    small = [title.strip().casefold() for title in header]
    truth = [title.strip() for title in header if title.strip()[:2] in ("y_", "Y_") and role_of(title) == "x"]
    answers = [title for title in small if re.fullmatch("y_.+", title) and title not in map(str.casefold, truth)]
    own = {f"y_{title[2:]}" for title in small if title.startswith("x_")}
    if len(answers) < 2 or "y" in small or not ("x" in small or truth or own >= set(answers)):
        return
    if small[0] == "x" and sent is not None and len(set(sent)) == len(sent):
        return
    columns = {} if "x" in small or own >= set(answers) else {"x": truth[0], "y": "y_*"}
    said = f" and {option(columns)}" if columns else ""
    raise JointTrialsFoundError(
        f"the columns {', '.join(answers[:3])}{', …' * (len(answers) > 3)} look like answers of several channels to the"
        " same trials, which may depend on each other; write `bestchannel estimate --design joint`"
        f' (design="joint"){said}'
    )


def _refuse_shared_trials(header: Sequence[str], channel: int, cells: Cells, columns: Mapping[str, str]) -> None:
    """Refuse rows whose column trial says that several channels answered the same trial."""
    title = columns.get("trial", "trial")
    for i in (i for i, name in enumerate(header) if title and name.strip().casefold() == title.strip().casefold()):
        answers = set(zip(_texts(cells(i)), _texts(cells(channel)), strict=False))
        if len({trial for trial, _ in answers}) < len(answers):
            raise JointTrialsFoundError(
                f"the column {header[i]!r} says that channels answered the same trials, so that their answers may"
                ' depend on each other; write `bestchannel estimate --design joint` (design="joint"), or write'
                f" {option({**columns, 'trial': ''}, '')} if equal numbers say nothing"
            )


def find_columns(header: Sequence[str], roles: Sequence[str], columns: Columns) -> dict[str, int]:
    """Where the header has the column of each role, for the roles that it has.

    A column is called as its role, or as `columns` renames it, "" where there is none; capitals do not matter.
    """
    if not isinstance(columns, Mapping | None) and list(columns) != list(header):
        raise InputError(
            f"columns as {', '.join(columns)} name the columns of text without a header; here they have names, and"
            f" columns says which is which: {way_out(header)}"
        )
    renamed = columns if isinstance(columns, Mapping) else {}
    for role in renamed:
        if role not in roles:
            raise InputError(f"columns may rename {', '.join(roles)}; it renames {role!r}")
    titles = [title.strip().casefold() for title in header]
    found: dict[str, int] = {}
    for role in roles:
        called = renamed.get(role, role)
        if role in renamed and not called.strip():
            continue
        matches = [i for i, title in enumerate(titles) if title == called.strip().casefold()]
        if len(matches) > 1:
            raise InputError(f'the column "{called}" must occur once; it occurs {len(matches)} times')
        if role in renamed and not matches:
            raise InputError(f'{role} must be the column "{called}"; the columns are {", ".join(header[:20])}')
        for i in matches:
            other = next((other for other, k in found.items() if k == i), None)
            if other in _ALONE and role in _ALONE:
                raise InputError(f'{other} and {role} must be different columns; both are "{header[i].strip()}"')
            found[role] = i
    return found


def probability_columns(header: Sequence[str], columns: Columns) -> dict[str, int]:
    """Where the columns x, y, p and, if there, channel are; counts and trial logs are sent to `estimate`."""
    found = find_columns(header, ("channel", "x", "y", "p"), columns)
    missing = [role for role in ("x", "y", "p") if role not in found]
    if missing == ["p"]:
        counted = any(cell.strip().casefold() in ("count", "counts") for cell in header)
        others = [title.strip() for i, title in enumerate(header) if i not in found.values() and title.strip()]
        way = f", or say which column is p, as {option({'p': others[-1]}).partition(' (')[0]}" if others else ""
        raise CountsFoundError(
            f"there is no column p, so this looks like {'counts' if counted else 'a trial log'}, and a channel requires"
            f" probabilities; use `bestchannel estimate`{way}"
        )
    if missing:
        raise InputError(unknown_columns(header, missing, "p"))
    return found


def count_column(
    header: Sequence[str], found: Mapping[str, int], seen: Combinations, cells: Cells, columns: Mapping[str, str]
) -> int | None:
    """The further column that has the counts, None where a row is one sense; refused where either may be."""
    others = [i for i in range(len(header)) if i not in found.values()]
    numbers = {i: values for i in others if (values := [_number(cell) for cell in cells(i) if _label(cell)])}
    named = [i for i in numbers if _says_count(header[i]) and any(v is not None for v in numbers[i])]
    whole = [i for i, v in numbers.items() if _is_whole(v) and not is_index(header[i], v)]
    if not named and (not whole or seen.rows_differ):
        return None
    labels = {role: _texts(cells(i)) for role, i in found.items() if role != "time"}
    if len(set(map(len, labels.values()))) > 1:
        return None  # refused where the rows are read
    rows = list(zip(*labels.values(), strict=True))
    once = len(set(rows)) == len(rows)
    if once and len(named) == 1 and is_count_word(header[named[0]]) and not _is_running(numbers[named[0]]):
        return named[0]
    if not named and not once:  # or with a further column that may name channels
        apart = [i for i in others if _tells_apart(list(map(_label, cells(i))), rows)]
        whole, once = [i for i in whole if any(k != i for k in apart)], bool(apart)
    if not named and (not whole or not once or (seen.judges_numbers and _look_measured(labels))):
        return None
    titles = [header[i] for i in named or whole]
    either = " or ".join(option({**columns, "count": title}) for title in titles[:3])
    raise InputError(
        f"the column{'s' * (len(titles) > 1)} {', '.join(map(repr, titles))} may say how often a row counts, or be"
        f" something else; write {either} if it is the count, or {option({**columns, 'count': ''}, '')} if a"
        " row is one sense"
    )


def _refuse_channel_column(
    header: Sequence[str], found: Mapping[str, int], cells: Cells, columns: Mapping[str, str], are_all: bool
) -> None:
    """Refuse a further column that may name channels.

    By its name; as it tells the rows of counts apart, or may do so where it has no label; or as it has one label where
    it has any. `are_all` says that there are no rows but these: others may have the names of further channels.
    """
    rows = list(zip(*(_texts(cells(found[role])) for role in ("x", "y")), strict=False)) if "count" in found else []
    repeated = len(set(rows)) < len(rows)
    for i in range(len(header)):
        if i in found.values():
            continue
        title, texts, labels = header[i], _texts(cells(i)), list(map(_label, cells(i)))
        by_name = role_of(title) == "channel" and (len(set(texts)) > 1 or not are_all)
        one_name = len({*labels} - {None}) == 1 and labels.count(None) <= _MOST_WITHOUT * len(labels)
        none = {**columns, "channel": ""}
        if by_name or (repeated and None not in labels and _tells_apart(labels, rows)):
            raise InputError(
                f"the column {title!r} may name channels; write {option({**columns, 'channel': title})} if it does, or"
                f" {option(none, '')} if all rows are of one channel"
            )
        if None in labels and any(labels) and (one_name or repeated):
            raise InputError(
                f"the column {title!r} may name channels, as {next(filter(None, labels))!r}, and row"
                f" {labels.index(None) + 1} has no value in it; fill it in, or write {option(none)} if all rows are of"
                " one channel"
            )


def _texts(cells: Sequence[object]) -> list[str]:
    return [str(cell).strip() for cell in cells]


def _tells_apart(labels: Sequence[str | None], rows: Sequence[Any]) -> bool:
    """Whether labels that come again make different rows of all, as the names of channels do in a table of counts.

    One that is missing may be any of the others.
    """
    known = [pair for pair in zip(labels, rows, strict=False) if pair[0] is not None]
    names = {label for label, _ in known}
    enough = len(labels) == len(rows) and max(Counter(rows).values(), default=0) <= len(names)
    return enough and 2 * len(names) <= len(labels) and len(set(known)) == len(known)


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


def _look_measured(columns: Mapping[str, Sequence[str]]) -> bool:
    """Whether the outputs of every channel look measured, so that rows come once and are refused for that anyway."""
    outputs: dict[str, Counter[str]] = defaultdict(Counter)
    for channel, y in zip(columns.get("channel", [""] * len(columns["y"])), columns["y"], strict=True):
        outputs[channel][y] += 1
    return all(looks_measured(list(n), np.array(list(n.values()))) for n in outputs.values())


def _says_count(title: str) -> bool:
    """Whether a title says that something is counted, as `n`, `n_shots`, `Number of hits`."""
    words = set(re.findall(r"[a-z]+", title.casefold()))
    weak = not words.isdisjoint(_COUNT_WORDS) and words <= _COUNT_WORDS | _BESIDE
    return is_count_word(title) or not words.isdisjoint(_STRONG) or weak


def is_count_word(title: str) -> bool:
    """Whether the title is a word for counts."""
    return title.strip().casefold() in _COUNT_WORDS or title.strip() == _PANDAS


def is_index(title: str, values: Sequence[Any] = ()) -> bool:
    """Whether a title is none, or that of an index of pandas in a file, and the values number the rows."""
    numbers_rows = list(values) == [values[0] + i for i in range(len(values))]
    return title == _PARQUET_INDEX or (numbers_rows and _INDEX.fullmatch(title.strip()) is not None)


def _is_running(values: Sequence[float | None]) -> bool:
    """Whether the values may number the senses: all of 0, 1, 2, ... or 1, 2, 3, ..., or ever rising ones."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(known) < 2:
        return False
    rising = len(known) > _FEW and all(a < b for a, b in pairwise(known))
    return rising or sorted(known) in [[first + i for i in range(len(known))] for first in (0.0, 1.0)]


def is_long_header(header: Line) -> bool:
    """Whether the first line may name the columns of a long table."""
    fields = {field.strip().casefold() for field in header}
    return {"x", "y"} <= fields or ("channel" in fields and not fields.isdisjoint({"x", "y", "p", "count"}))


def are_rows(
    header: Line, some: Sequence[Line] | None, number: Callable[[str], float | None], value: str = "count"
) -> bool:
    """Whether there are rows under the names of their columns; refused where it may be a matrix as well.

    `some` are the first rows; None where one cannot be split, of which the reader of rows speaks. `value` is "p" for
    probabilities.
    """
    if not some or not is_long_header(header):
        if value == "count":
            refuse_joint(header, [row[0].strip() for row in some or () if row])
        return is_long_header(header)
    titles = [title.strip() for title in header]
    small = [title.casefold() for title in titles]
    named = small[0] == "channel" or ("count" in small and set(small) <= _ROLES)
    if value == "count" and named and small != _SPLIT and some[0][0].strip() not in titles:
        return True  # nothing but rows, which is most logs

    def may_be_cells(cells: Line) -> bool:
        numbers = [-1.0 if n is None else n for n in map(number, cells)]
        if min(numbers) < 0:
            return False
        return abs(sum(numbers) - 1) <= ROUNDING if value == "p" else all(n.is_integer() for n in numbers)

    kind = _reading(titles, some, may_be_cells)
    if kind is None and value == "count":
        _refuse_either(header, {role: header[i] for role, i in named_columns(header, None).items()})
    if kind is None and {"x", "y", "p"} <= set(small):
        _refuse_either(header, {role: role for role in ("channel", "x", "y", "p") if role in small})
    return kind == "rows"


def _refuse_either(header: Line, columns: dict[str, str]) -> None:
    raise InputError(
        f"the first line ({', '.join(header[:20])}) may name the columns of rows or the outputs of a matrix; write"
        f" {option(columns)} for rows, or --form matrix (form='matrix')"
    )


def _reading(titles: Line, rows: Sequence[Line], may_be_cells: Callable[[Line], bool]) -> str | None:
    """What a text with x and y in its first line is, "rows" or "matrix"; None where it may be either."""
    small, labels = [title.casefold() for title in titles], [row[0].strip() for row in rows]

    def fits(first: int) -> bool:
        return len(titles) > first and all(len(row) == len(titles) and may_be_cells(row[first:]) for row in rows)

    beside = len(set(labels)) == len(labels) and fits(1)
    if beside and set(labels) == set(titles[1:]) and len(labels) == len(titles) - 1:
        return None if small[0] == "channel" else "matrix"
    if len(rows) > MOST_INPUTS:
        return "rows"
    if len(set(small)) < len(small):
        return None if beside else "rows"
    letters = next((small.index(role) for role in ("x", "y") if role in small), None)
    again = letters is not None and 2 * len({row[letters].strip() for row in rows if letters < len(row)}) <= len(rows)
    are_roles = [s in ("channel", "x", "y", "p") or (len(s) > 1 and is_count_word(s)) for s in small]
    # numbers the rows of a log, as pandas' index
    is_index = (
        again and len(rows) > _FEW_ROWS and (bool(titles[0]) or all(label.lstrip("-").isdigit() for label in labels))
    )
    is_corner = small[0] in ("x", "y") or not are_roles[0]
    in_order = small != _SPLIT or {row[2].strip() for row in rows if len(row) > 2} <= set(labels)
    if beside and is_corner and not is_index and not (len(titles) > 2 and all(are_roles) and in_order):
        return None
    one_letter = all(len(title) == 1 and title != "p" for title in small)
    return None if one_letter and fits(0) and not again else "rows"
