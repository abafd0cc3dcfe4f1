"""Records of trials that several channels answer: a row per answer, trial,channel,x,y, or a row per trial.

A row per trial has one input and the answer of every channel, x,y_A,y_B,…, or an input for each, x_A,y_A,x_B,y_B,….
An answer may be missing, an input of an answer may not. Which column is what its name says, or `columns`, in which *
stands for the names of channels: {"x": "truth", "y": "*"}.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ChannelLabels, Integers
from bestchannel.counts.columns import find_columns, is_count_word, is_index_title, option, role_of
from bestchannel.counts.joint_trials import MISSING, JointTrials
from bestchannel.counts.labelled_counts import (
    Columns,
    Combinations,
    alphabet,
    is_missing,
    label_of,
    refuse_labels,
    refuse_text,
)
from bestchannel.counts.table import Column, Part, Place, Table, column, constant, numbered
from bestchannel.errors import InputError
from bestchannel.promises import several

COUNTS = (
    "these are counts, and a joint design compares the answers of each trial; give the trials, as trial,x,y_A,y_B,…, or"
    ' write --design shared (design="shared") for counts of trials that all channels answered'
)
_TRIAL = ("item", "id", "index", "image", "sample", "shot", "epoch", "question", "row")  # what else numbers trials


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


class _Answers(NamedTuple):
    """The rows of one channel, with its inputs and answers."""

    name: str
    rows: Integers
    x: Column
    y: Column


def joint_trials_of(
    table: Table, columns: Columns = None, groups: str | None = None, outputs: Sequence[str] | None = None
) -> JointTrials:
    """The trials that the rows of a table are; an answer that did not come is missing."""
    layout = layout_of(table.header, columns, groups)
    records = _Records(table.header, layout, table.whole({str(i): i for i in layout.used}, gaps=True))
    trial_of, seen = records.trials(), Combinations(outputs)
    n_trials = int(trial_of.max()) + 1
    every = list(records.answers(seen.declared or ()))
    for _, answer in layout.sides.values():
        seen.expect(records.rows.declared.get(str(answer), ()))
    for one in every:
        records.refuse_twice(one, trial_of)
    found = [records.numbered(one, seen) for one in every]
    seen.refuse_measured(np.bincount(np.concatenate([numbers for _, numbers in found]), minlength=len(seen)))
    _, x, y = seen.positions()
    X, Y = (np.full((n_trials, len(every)), MISSING) for _ in range(2))
    alphabets = []
    for j, (one, labels, (answered, numbers)) in enumerate(zip(every, seen.labels(), found, strict=True)):
        known, moved = _with_unanswered(one, labels, answered)
        t = trial_of[one.rows[answered]]
        X[t, j], Y[t, j] = moved[x[numbers]], y[numbers]
        alphabets.append(known)
        refuse_text(known.key, known.inputs, known.outputs)
    group_of = None if layout.group is None else records.groups(layout.group, trial_of, n_trials)
    return JointTrials(tuple(alphabets), X, Y, seen.inferred_outputs, group_of)


@dataclass(frozen=True, eq=False)
class _Records:
    """All rows of the columns that are used, which `rows` has by their place in the header."""

    header: Sequence[str]
    layout: Layout
    rows: Part

    def cells(self, i: int, labels: Collection[str] = ()) -> Column:
        """A column; what is blank, or stands for a missing value and is none of `labels`, is missing."""
        given = self.rows.columns[str(i)]
        if isinstance(given, Column):  # without the labels that are none
            there = np.array([*(not _is_gap(label, labels) for label in given.labels), False])
            codes = np.where(there, np.cumsum(there) - 1, MISSING)[given.codes]
            return Column([label for label, is_one in zip(given.labels, there, strict=False) if is_one], codes)
        there = np.fromiter((not _is_gap(value, labels) for value in given.tolist()), bool, len(given))
        rows, codes = np.flatnonzero(there), np.full(len(given), MISSING)
        if not len(rows):
            return Column((), codes)
        found = column(given[there], self.header[i].strip(), lambda row: self.rows.place(int(rows[row])))
        codes[there] = found.codes
        return Column(found.labels, codes)

    def present(self, i: int) -> Column:
        """A column in which nothing is missing."""
        found = self.cells(i)
        if np.any(found.codes == MISSING):
            place = self.rows.place(int(np.argmin(found.codes)))
            raise InputError(f"{place}, {self.header[i].strip()} must be a label; it is blank")
        return found

    def trials(self) -> Integers:
        """The number of each row's trial, in order of first appearance; without a column for it, each row is one."""
        if self.layout.trial is None:
            return np.arange(self.rows.n_rows)
        codes = self.present(self.layout.trial).codes
        _, first, code = np.unique(codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[code]

    def answers(self, outputs: Collection[str]) -> Iterator[_Answers]:
        """What each channel has; an answer is not missing that is one of the declared `outputs`."""
        pairs = self.layout.sides
        sides = {i: self.cells(i) for i in {x for x, _ in pairs.values()}}
        sides |= {i: self.cells(i, outputs) for _, i in pairs.values()}
        if self.layout.channel is None:
            for name, (x, y) in pairs.items():
                yield _Answers(name, np.arange(self.rows.n_rows), sides[x], sides[y])
            return
        names, codes = self.present(self.layout.channel)
        ((x, y),) = pairs.values()
        refuse_labels(names, "channel")
        for code in dict.fromkeys(codes.tolist()):
            yield _Answers(names[code].strip(), np.flatnonzero(codes == code), sides[x], sides[y])

    def refuse_twice(self, one: _Answers, trial_of: Integers) -> None:
        """Refuse a trial that has two rows of one channel."""
        order = np.argsort(trial_of[one.rows], kind="stable")
        again = np.flatnonzero(np.diff(trial_of[one.rows][order]) == 0)
        if not len(again) or self.layout.trial is None:
            return
        rows = [int(row) for row in one.rows[order[again[0] : again[0] + 2]]]
        trial, (first, second) = self.cells(self.layout.trial), map(self.rows.place, rows)
        where = f"trial {trial.labels[trial.codes[rows[0]]]} must have"
        if self.layout.channel is None:
            raise InputError(f"{where} one row; it has {first} and {second}")
        what = "answer" if one.x.codes[rows[0]] == one.x.codes[rows[1]] else "input"
        raise InputError(f'{where} one {what} of channel "{one.name}"; it has one in {first} and another in {second}')

    def numbered(self, one: _Answers, seen: Combinations) -> tuple[NDArray[np.bool_], Integers]:
        """Which rows of a channel have an answer, and the number of each one's combination."""
        answered = one.y.codes[one.rows] != MISSING
        rows = one.rows[answered]
        place: Place = lambda i: f'{self.rows.place(int(rows[i]))}, channel "{one.name}"'  # noqa: E731
        if not len(rows):
            raise InputError(f'channel "{one.name}" must have answers; it has none')
        if np.any(one.x.codes[rows] == MISSING):
            unknown = place(int(np.argmin(one.x.codes[rows])))
            raise InputError(f"{unknown} has an answer and no input; give its input, or neither")
        x, y = (Column(side.labels, side.codes[rows]) for side in (one.x, one.y))
        return answered, numbered(seen, {"channel": constant(one.name, len(rows)), "x": x, "y": y}, place)

    def groups(self, column: int, trial_of: Integers, n_trials: int) -> Integers:
        """The number of each trial's group."""
        codes, groups = self.present(column).codes, np.full(n_trials, MISSING)
        groups[trial_of] = codes
        if np.any(groups[trial_of] != codes):
            place = self.rows.place(int(np.argmax(groups[trial_of] != codes)))
            raise InputError(f"{place} must be of the group of its trial; other rows of the trial are of another")
        return groups


def _with_unanswered(
    one: _Answers, labels: ChannelLabels, answered: NDArray[np.bool_]
) -> tuple[ChannelLabels, Integers]:
    """The labels with the inputs that were sent and never answered, and which number each input has then."""
    codes = set(one.x.codes[one.rows[~answered]].tolist()) - {MISSING}
    letters = alphabet([*labels.inputs, *(one.x.labels[code].strip() for code in sorted(codes))])
    refuse_labels(letters, f'x of channel "{one.name}"')
    moved = np.array([letters.index(label) for label in labels.inputs])
    return ChannelLabels(labels.key, tuple(letters), labels.outputs), moved


def missing_in_words(trials: JointTrials) -> Iterator[str]:
    """Which channels did not answer all trials."""
    for name, n in trials.missing.items():
        if n:
            yield f'channel "{name}" has no answer in {n:,} of {several(len(trials.y), "trial")}'
