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

from bestchannel.arrays import ChannelLabels, Integers
from bestchannel.counts.columns import find_columns, is_count_word, is_index, option, role_of
from bestchannel.counts.joint_trials import MISSING, JointTrials
from bestchannel.counts.labelled_counts import Columns, Combinations, alphabet, refuse_labels, refuse_text
from bestchannel.counts.table import Column, Part, Table, column, constant, numbered
from bestchannel.errors import InputError

COUNTS = (
    "these are counts, and a joint design compares the answers of each trial; give the trials, as trial,x,y_A,y_B,…, or"
    ' write --design shared (design="shared") for counts of trials that all channels answered'
)
_TRIAL = ("item", "id", "index", "image", "sample", "shot", "epoch", "question", "row")  # what else numbers trials


class Layout(NamedTuple):
    """Which columns are what: sides[name] are those of a channel's input and answer; with `channel`, of all of them."""

    sides: Mapping[str, tuple[int, int]]
    trial: int | None
    channel: int | None
    group: int | None

    @property
    def used(self) -> set[int]:
        """The columns that are to be read."""
        return {i for i in (*self[1:], *(i for pair in self.sides.values() for i in pair)) if i is not None}


def layout_of(header: Sequence[str], columns: Columns, groups: str | None) -> Layout:
    """The layout that the titles have, as `columns` renames them; `groups` is the column of groups."""
    if not header:
        raise InputError("there must be columns; there is none")
    said = dict(columns) if isinstance(columns, Mapping) else {}
    starred = {role: said.pop(role) for role in ("x", "y") if "*" in said.get(role, "")}
    grouped = {} if groups is None else {"group": groups}
    found = find_columns(header, ("trial", "channel", "x", "y", *grouped), said | grouped)
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
    others = [title for i, title in enumerate(header) if i not in layout.used and not is_index(title)]
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
    lacking = next((name for name in answers if "x" not in found and name not in own), None)
    if not answers or lacking is not None:
        # which columns may be meant where a row is a trial
        trial = [("trial", title) for title in header if title.strip().casefold() in _TRIAL][:1]
        truth = next((title for title in header if role_of(title) == "x"), header[0])
        few = sum(title.strip().casefold().startswith("y_") for title in header if title != truth) < 2
        why = f'there is no input of channel "{lacking}"' if answers else "there are no answers"
        raise InputError(_not_these(header, why, {**dict(trial), "x": truth, "y": "*" if few else "y_*"}))
    for name in answers:
        if "x" in found and name in own:
            raise InputError(f'channel "{name}" must have one input; it has the columns x and {header[own[name]]!r}')
    return {name: (found["x"] if "x" in found else own[name], i) for name, i in answers.items()}


def _matching(header: Sequence[str], pattern: str, taken: Collection[int]) -> dict[str, int]:
    """The columns called by the pattern, by what stands in place of its star."""
    if pattern.count("*") > 1:
        raise InputError(f"a name of columns must have one *, in place of the names of channels; it is {pattern!r}")
    before, after = map(re.escape, pattern.split("*"))
    called: dict[str, int] = {}
    for i, title in enumerate(header):
        match = re.fullmatch(f"{before}(.+){after}", title.strip(), re.IGNORECASE)
        if match and i not in taken and not is_index(title):
            if match[1].strip() in called:
                raise InputError(f'the column "{title.strip()}" must occur once; it occurs more often')
            called[match[1].strip()] = i
    return called


def _not_these(header: Sequence[str], why: str, meant: Mapping[str, str]) -> str:
    """What is said of titles that are not those of joint trials."""
    star = ", where * stands for the names of channels" if "*" in "".join(meant.values()) else ""
    return (
        "trials that all channels answer must have a row per answer with the columns trial, channel, x and y, or a row"
        f" per trial with x and y_NAME of every channel; the columns are {', '.join(header[:20])}, so that {why}; say"
        f" which is which, for instance {option(meant)}{star}"
    )


def joint_trials_of(
    table: Table, columns: Columns = None, groups: str | None = None, outputs: Sequence[str] | None = None
) -> JointTrials:
    """The trials that the rows of a table are; an answer that did not come is missing."""
    layout = layout_of(table.header, columns, groups)
    records = _Records(table.header, layout, table.whole({str(i): i for i in layout.used}, gaps=True))
    seen = Combinations(outputs)
    for _, answer in layout.sides.values():
        seen.expect(records.part.declared.get(str(answer), ()))
    trial = records.trials()
    channels = list(records.channels(seen.declared or ()))
    for one in channels:
        records.refuse_twice(one, trial)
    numbers = [records.numbered(one, seen) for one in channels]
    seen.refuse_measured(np.bincount(np.concatenate(numbers), minlength=len(seen)))
    _, x, y = seen.positions()
    X, Y = np.full((2, int(trial.max()) + 1, len(channels)), MISSING)
    alphabets = []
    for j, (one, own, labels) in enumerate(zip(channels, numbers, seen.labels(), strict=True)):
        # an input that was sent and never answered is an input
        sent = np.unique(one.x.codes[(one.y.codes == MISSING) & (one.x.codes != MISSING)]).tolist()
        inputs = alphabet([*labels.inputs, *(one.x.labels[code].strip() for code in sent)])
        refuse_labels(inputs, f'x of channel "{one.name}"')
        refuse_text(one.name, inputs, labels.outputs)
        t = trial[one.rows[one.y.codes != MISSING]]
        X[t, j], Y[t, j] = np.array([inputs.index(label) for label in labels.inputs])[x[own]], y[own]
        alphabets.append(ChannelLabels(labels.key, tuple(inputs), labels.outputs))
    return JointTrials(tuple(alphabets), X, Y, seen.inferred_outputs, records.groups(trial))


class _Channel(NamedTuple):
    """A channel, the rows that it has, and the input and the answer in each."""

    name: str
    rows: Integers
    x: Column
    y: Column


@dataclass(frozen=True, eq=False)
class _Records:
    """All rows of the columns that are used, which `part` has by their place in the header."""

    header: Sequence[str]
    layout: Layout
    part: Part

    def cells(self, i: int, known: Collection[str] = ()) -> Column:
        """A column; what is blank, or stands for a missing value and is none of the labels `known`, is missing."""
        return column(self.part.columns[str(i)], self.header[i].strip(), self.part.place, known)

    def present(self, i: int) -> Column:
        """A column in which nothing is missing."""
        found = self.cells(i)
        if np.any(found.codes == MISSING):
            place = self.part.place(int(np.argmin(found.codes)))
            raise InputError(f"{place}, {self.header[i].strip()} must be a label; it is blank")
        return found

    def trials(self) -> Integers:
        """The number of each row's trial, in order of first appearance; without a column for it, each row is one."""
        if self.layout.trial is None:
            return np.arange(self.part.n_rows)
        _, first, code = np.unique(self.present(self.layout.trial).codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[code]

    def channels(self, outputs: Collection[str]) -> Iterator[_Channel]:
        """Every channel; an answer is not missing that is one of the declared `outputs`."""
        sides = {name: (self.cells(x), self.cells(y, outputs)) for name, (x, y) in self.layout.sides.items()}
        if self.layout.channel is None:
            for name, (x, y) in sides.items():
                yield _Channel(name, np.arange(self.part.n_rows), x, y)
            return
        names, codes = self.present(self.layout.channel)
        refuse_labels(names, "channel")
        for code in dict.fromkeys(codes.tolist()):
            rows = np.flatnonzero(codes == code)
            yield _Channel(names[code].strip(), rows, *(Column(s.labels, s.codes[rows]) for s in sides[""]))

    def refuse_twice(self, one: _Channel, trial_of: Integers) -> None:
        """Refuse a trial that has two rows of one channel."""
        order = np.argsort(trial_of[one.rows], kind="stable")
        again = np.flatnonzero(np.diff(trial_of[one.rows][order]) == 0)
        if not len(again) or self.layout.trial is None:
            return
        twice = order[again[0] : again[0] + 2]
        trial, (first, second) = self.cells(self.layout.trial), (self.part.place(int(row)) for row in one.rows[twice])
        where = f"trial {trial.labels[trial.codes[one.rows[twice[0]]]]} must have"
        if self.layout.channel is None:
            raise InputError(f"{where} one row; it has {first} and {second}")
        what = "answer" if one.x.codes[twice[0]] == one.x.codes[twice[1]] else "input"
        raise InputError(f'{where} one {what} of channel "{one.name}"; it has one in {first} and another in {second}')

    def numbered(self, one: _Channel, seen: Combinations) -> Integers:
        """The number of the combination of each row of a channel that has an answer."""
        answered = one.y.codes != MISSING
        x, y = (Column(side.labels, side.codes[answered]) for side in (one.x, one.y))
        rows = one.rows[answered]
        if not len(rows):
            raise InputError(f'channel "{one.name}" must have answers; it has none')

        def place(i: int) -> str:
            return f'{self.part.place(int(rows[i]))}, channel "{one.name}"'

        if np.any(x.codes == MISSING):
            raise InputError(f"{place(int(np.argmin(x.codes)))} has an answer and no input; give its input, or neither")
        return numbered(seen, {"channel": constant(one.name, len(rows)), "x": x, "y": y}, place)

    def groups(self, trial_of: Integers) -> Integers | None:
        """The number of each trial's group, None where there is no column for it."""
        if self.layout.group is None:
            return None
        codes, groups = self.present(self.layout.group).codes, np.full(int(trial_of.max()) + 1, MISSING)
        groups[trial_of] = codes
        if np.any(groups[trial_of] != codes):
            place = self.part.place(int(np.argmax(groups[trial_of] != codes)))
            raise InputError(f"{place} must be of the group of its trial; other rows of the trial are of another")
        return groups
