"""Records of trials that several channels answer: a row per answer, trial,channel,x,y, or a row per trial.

A row per trial has one input and the answer of every channel, x,y_A,y_B,…, or an input for each, x_A,y_A,x_B,y_B,….
An answer may be missing, an input of an answer may not. Which column is what its name says, or `columns`, in which *
stands for the names of channels: {"x": "truth", "y": "*"}.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Integers
from bestchannel.counts.columns import find_columns, is_count_word, is_index_title, option, role_of
from bestchannel.counts.joint_trials import MISSING, JointTrials
from bestchannel.counts.labelled_counts import (
    ChannelLabels,
    Columns,
    Combinations,
    alphabet,
    is_missing,
    label_of,
    refuse_labels,
    refuse_text,
)
from bestchannel.counts.long_table import Column, Place, column, constant, numbered, place_from
from bestchannel.errors import InputError
from bestchannel.promises import several

Choose = Callable[[Sequence[str]], Collection[int]]
"""Which columns are to be read, by what they are called."""

COUNTS = (
    "these are counts, and a joint design compares the answers of each trial; give the trials, as trial,x,y_A,y_B,…, or"
    ' write --design shared (design="shared") for counts of trials that all channels answered'
)
_TRIAL = ("item", "id", "index", "image", "sample", "shot", "epoch", "question", "row")  # what else numbers trials


class Cells(NamedTuple):
    """One label per row, labels[codes[i]], -1 where there is none."""

    labels: Sequence[str]
    codes: Integers


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that were chosen, by their place in the header; row i is called `place(i)` in a refusal.

    `declared` are the labels that the type of a column names, as that of a Categorical does.
    """

    header: Sequence[str]
    columns: Mapping[int, NDArray[Any]]
    n_rows: int
    place: Place
    declared: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def cells(self, i: int, labels: Collection[str] = ()) -> Cells:
        """A column; what is blank, or stands for a missing value and is none of `labels`, is missing."""
        values, title = self.columns[i], self.header[i].strip()
        if values.shape != (self.n_rows,):
            raise InputError(f"the column {title!r} must have one value per row; its shape is {values.shape}")
        there = np.fromiter((not _is_gap(value, labels) for value in values.tolist()), bool, len(values))
        rows, codes = np.flatnonzero(there), np.full(len(values), MISSING)
        if not len(rows):
            return Cells((), codes)
        found = column(values[there], title, lambda row: self.place(int(rows[row])))
        codes[there] = found.codes
        return Cells(found.labels, codes)


def table_of_vectors(
    arrays: Mapping[str, NDArray[Any]], choose: Choose, declared: Mapping[str, Sequence[str]] | None = None
) -> Table:
    """The vectors that are chosen; a matrix with one row or one column is one too."""
    header = list(arrays)
    chosen = {i: arrays[header[i]] for i in choose(header)}
    flat = {i: array.ravel() if array.ndim == 2 and 1 in array.shape else array for i, array in chosen.items()}
    n_rows = max((len(array) for array in flat.values() if array.ndim), default=0)
    known = {i: (declared or {}).get(header[i], ()) for i in flat}
    return Table(header, flat, n_rows, partial(place_from, 0), known)


def _is_gap(value: object, labels: Collection[str]) -> bool:
    if value is None or value != value or type(value).__name__ == "NAType":
        return True
    text = value.strip() if isinstance(value, str) else label_of(value)
    return text is not None and text not in labels and (not text or is_missing(text))


@dataclass(frozen=True)
class Layout:
    """Which columns are what: sides[name] are those of a channel's input and answer; with `channel`, of all of them."""

    sides: Mapping[str, tuple[int, int]]
    trial: int | None
    channel: int | None
    group: int | None

    @property
    def used(self) -> list[int]:
        """The columns that are to be read."""
        places = [self.trial, self.channel, self.group, *(i for pair in self.sides.values() for i in pair)]
        return sorted({i for i in places if i is not None})


def layout_of(header: Sequence[str], columns: Columns, groups: str | None) -> Layout:
    """The layout that the titles have, as `columns` renames them; `groups` is the column of groups."""
    if not header:
        raise InputError("there must be columns; there is none")
    said = dict(columns) if isinstance(columns, Mapping) else {}
    starred = {role: title for role, title in said.items() if role in ("x", "y") and "*" in title}
    plain = {role: title for role, title in said.items() if role not in starred}
    roles = ("trial", "channel", "x", "y", *(() if groups is None else ("group",)))
    found = find_columns(header, roles, plain if groups is None else {**plain, "group": groups})
    if "y" in found:
        if "trial" not in found and any(map(is_count_word, header)):
            raise InputError(COUNTS)
        missing = [role for role in ("trial", "channel", "x") if role not in found]
        if missing:
            raise InputError(_not_these(header, f"there is no {' and no '.join(missing)}", {missing[0]: "NAME"}))
        sides = {"": (found["x"], found["y"])}
    elif "channel" in found:
        raise InputError(_not_these(header, "there is no y", {"y": "NAME"}))
    else:
        sides = _wide(header, found, starred)
    layout = Layout(sides, found.get("trial"), found.get("channel"), found.get("group"))
    others = [title for i, title in enumerate(header) if i not in layout.used and not is_index_title(title)]
    if others and columns is None:
        meant = {"y": "y"} if "y" in found else {"y": "y_*"}
        raise InputError(
            f"the column {others[0]!r} is neither the trial, nor an input x, nor an answer y; remove it, or say which"
            f" columns are answers, {option(meant)}, and others are passed over"
        )
    return layout


def _wide(header: Sequence[str], found: Mapping[str, int], starred: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """The columns of every channel's input and answer, in the order of the answers."""
    taken = set(found.values())
    inputs = _matching(header, starred.get("x", "x_*"), taken)
    own = {} if "x" in found and starred.get("y") == "*" else inputs
    answers = _matching(header, starred.get("y", "y_*"), taken | set(own.values()))
    if not answers:
        raise InputError(_not_these(header, "there are no answers", _proposal(header)))
    for name in answers:
        if "x" in found and name in own:
            raise InputError(f'channel "{name}" must have one input; it has the columns x and {header[own[name]]!r}')
        if "x" not in found and name not in own:
            raise InputError(_not_these(header, f'there is no input of channel "{name}"', _proposal(header)))
    return {name: (found["x"] if "x" in found else own[name], i) for name, i in answers.items()}


def _matching(header: Sequence[str], pattern: str, taken: Collection[int]) -> dict[str, int]:
    """The columns called by the pattern, by what stands in place of its star."""
    if pattern.count("*") > 1:
        raise InputError(f"a name of columns must have one *, in place of the names of channels; it is {pattern!r}")
    before, after = map(re.escape, pattern.split("*"))
    called: dict[str, int] = {}
    for i, title in enumerate(header):
        match = re.fullmatch(f"{before}(.+){after}", title.strip(), re.IGNORECASE)
        if match and i not in taken and not is_index_title(title):
            if match[1].strip() in called:
                raise InputError(f'the column "{title.strip()}" must occur once; it occurs more often')
            called[match[1].strip()] = i
    return called


def _proposal(header: Sequence[str]) -> dict[str, str]:
    """Which columns may be meant where a row is a trial."""
    trial = [("trial", title) for title in header if title.strip().casefold() in _TRIAL]
    truth = [title for title in header if role_of(title) == "x"] or [header[0]]
    few = sum(title.strip().casefold().startswith("y_") for title in header if title != truth[0]) < 2
    return {**dict(trial[:1]), "x": truth[0], "y": "*" if few else "y_*"}


def _not_these(header: Sequence[str], why: str, meant: Mapping[str, str]) -> str:
    """What is said of titles that are not those of joint trials."""
    star = ", where * stands for the names of channels" if "*" in "".join(meant.values()) else ""
    return (
        "trials that all channels answer must have a row per answer with the columns trial, channel, x and y, or a row"
        f" per trial with x and y_NAME of every channel; the columns are {', '.join(header[:20])}, so that {why}; say"
        f" which is which, for instance {option(meant)}{star}"
    )


class _Part(NamedTuple):
    """The rows of one channel, with its inputs and answers."""

    name: str
    rows: Integers
    x: Cells
    y: Cells


def joint_trials_of(
    table: Table, columns: Columns = None, groups: str | None = None, outputs: Sequence[str] | None = None
) -> JointTrials:
    """The trials of a table with the columns of its layout; `outputs` are those that every channel can give."""
    layout = layout_of(table.header, columns, groups)
    if not table.n_rows:
        raise InputError("there must be trials; there is none")
    trial_of = _trials(table, layout)
    n_trials = int(trial_of.max()) + 1
    seen = Combinations(outputs)
    parts = list(_parts(table, layout, seen.declared or ()))
    for _, answer in layout.sides.values():
        seen.expect(table.declared.get(answer, ()))
    for part in parts:
        _refuse_twice(part, trial_of, table, layout)
    found = [_answers(part, seen, table.place) for part in parts]
    seen.refuse_measured(np.bincount(np.concatenate([numbers for _, numbers in found]), minlength=len(seen)))
    _, x, y = seen.positions()
    X, Y = (np.full((n_trials, len(parts)), MISSING) for _ in range(2))
    alphabets = []
    for j, (part, labels, (answered, numbers)) in enumerate(zip(parts, seen.labels(), found, strict=True)):
        known, moved = _with_unanswered(part, labels, answered)
        t = trial_of[part.rows[answered]]
        X[t, j], Y[t, j] = moved[x[numbers]], y[numbers]
        alphabets.append(known)
        refuse_text(known.key, known.inputs, known.outputs)
    group_of = None if layout.group is None else _groups(table, layout.group, trial_of, n_trials)
    return JointTrials(tuple(alphabets), X, Y, seen.inferred_outputs, group_of)


def _trials(table: Table, layout: Layout) -> Integers:
    """The number of each row's trial, in order of first appearance; without a column for it, each row is one."""
    if layout.trial is None:
        return np.arange(table.n_rows)
    _, first, code = np.unique(_present(table, layout.trial), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[code]


def _present(table: Table, i: int) -> Integers:
    """The codes of a column in which nothing is missing."""
    codes = table.cells(i).codes
    if np.any(codes == MISSING):
        raise InputError(
            f"{table.place(int(np.argmin(codes)))}, {table.header[i].strip()} must be a label; it is blank"
        )
    return codes


def _parts(table: Table, layout: Layout, outputs: Collection[str]) -> Iterator[_Part]:
    """What each channel has; an answer is not missing that is one of the declared `outputs`."""
    sides = {i: table.cells(i) for i in {x for x, _ in layout.sides.values()}}
    sides |= {i: table.cells(i, outputs) for _, i in layout.sides.values()}
    if layout.channel is None:
        for name, (x, y) in layout.sides.items():
            yield _Part(name, np.arange(table.n_rows), sides[x], sides[y])
        return
    codes, ((x, y),) = _present(table, layout.channel), layout.sides.values()
    names = table.cells(layout.channel).labels
    refuse_labels(names, "channel")
    for code in dict.fromkeys(codes.tolist()):
        yield _Part(names[code].strip(), np.flatnonzero(codes == code), sides[x], sides[y])


def _refuse_twice(part: _Part, trial_of: Integers, table: Table, layout: Layout) -> None:
    """Refuse a trial that has two rows of one channel."""
    order = np.argsort(trial_of[part.rows], kind="stable")
    again = np.flatnonzero(np.diff(trial_of[part.rows][order]) == 0)
    if not len(again) or layout.trial is None:
        return
    first, second = (int(part.rows[order[again[0] + i]]) for i in (0, 1))
    trial = table.cells(layout.trial)
    where = f"trial {trial.labels[trial.codes[first]]} must have"
    if layout.channel is None:
        raise InputError(f"{where} one row; it has {table.place(first)} and {table.place(second)}")
    what = "answer" if part.x.codes[first] == part.x.codes[second] else "input"
    raise InputError(
        f'{where} one {what} of channel "{part.name}"; it has one in {table.place(first)} and another in'
        f" {table.place(second)}"
    )


def _answers(part: _Part, seen: Combinations, place: Place) -> tuple[NDArray[np.bool_], Integers]:
    """Which rows of a channel have an answer, and the number of each one's combination."""
    answered = part.y.codes[part.rows] != MISSING
    rows = part.rows[answered]
    if not len(rows):
        raise InputError(f'channel "{part.name}" must have answers; it has none')
    if np.any(part.x.codes[rows] == MISSING):
        row = int(rows[np.argmin(part.x.codes[rows])])
        raise InputError(f'{place(row)}, channel "{part.name}" has an answer and no input; give its input, or neither')
    sides = {"x": Column(part.x.labels, part.x.codes[rows]), "y": Column(part.y.labels, part.y.codes[rows])}
    named = {"channel": constant(part.name, len(rows)), **sides}
    return answered, numbered(seen, named, lambda i: f'{place(int(rows[i]))}, channel "{part.name}"')


def _with_unanswered(part: _Part, labels: ChannelLabels, answered: NDArray[np.bool_]) -> tuple[ChannelLabels, Integers]:
    """The labels with the inputs that were sent and never answered, and which number each input has then."""
    codes = set(part.x.codes[part.rows[~answered]].tolist()) - {MISSING}
    letters = alphabet([*labels.inputs, *(part.x.labels[code].strip() for code in sorted(codes))])
    refuse_labels(letters, f'x of channel "{part.name}"')
    moved = np.array([letters.index(label) for label in labels.inputs])
    return ChannelLabels(labels.key, tuple(letters), labels.outputs), moved


def _groups(table: Table, column: int, trial_of: Integers, n_trials: int) -> Integers:
    """The number of each trial's group."""
    codes, groups = _present(table, column), np.full(n_trials, MISSING)
    groups[trial_of] = codes
    if np.any(groups[trial_of] != codes):
        row = int(np.argmax(groups[trial_of] != codes))
        raise InputError(
            f"{table.place(row)} must be of the group of its trial; other rows of the trial are of another"
        )
    return groups


def missing_in_words(trials: JointTrials) -> Iterator[str]:
    """Which channels did not answer all trials."""
    for name, n in trials.missing.items():
        if n:
            yield f'channel "{name}" has no answer in {n:,} of {several(len(trials.y), "trial")}'
