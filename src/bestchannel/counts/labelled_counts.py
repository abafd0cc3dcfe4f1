"""Counts with their labels, from rows that say channel, x, y and perhaps a count, as they come.

A reader finds the columns by their roles, numbers the (channel, x, y) of every row by `Combinations`, and
hands on blocks of such numbers; what is counted in the end are these. Labels may be numbers that were measured, of
which counts say nothing: these are told from others.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import MOST_SENSES, ChannelLabels, Integers, count_table
from bestchannel.channels import Channel
from bestchannel.errors import InputError

if TYPE_CHECKING:
    from bestchannel.counts.quantisation import Binning

MOST_CELLS = 2**24  # the most cells that the matrices of a file may have (128 MiB); rows are few, but x and y multiply
MOST_SEEN = 2**20  # the most different combinations of channel, x and y that a log may have
LONGEST = 10_000  # the most letters of a label; what is longer is text, and is not to be kept for every combination
MOST_LETTERS = 2**27  # the most letters of the labels of all combinations together
Columns = Mapping[str, str] | Sequence[str] | None
"""What the columns of rows are called, by role, where they are not called as their roles, "" where there is none; a
sequence names the columns of rows without a header."""

NO_ORDER = (
    "these are counts or probabilities, which do not say in which order senses were taken, and a recording requires one"
    " row per sense with the columns x, y and perhaps channel; `bestchannel estimate` takes counts, and `bestchannel"
    " identify --simulate` known channels"
)

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # NUL, and half of a surrogate pair, which JSON can spell
# what R, Excel, pandas, NumPy and databases write where there is no value; besides NaN, in any letters
_MISSING = frozenset(["NA", "N/A", "#N/A", "<NA>", "NaT", "NULL"])
# words for what sums beside counts are called; All is pandas' word
_TOTALS = {"all", "total", "totals", "sum", "margin", "margins", "summe", "gesamt", "somme", "suma", "σ", "∑"}
_TRUTH = {"false": "0", "true": "1"}
_SPELLED_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_FEWEST = 10  # fewer different outputs are labels, whatever they look like
_MOST_CLASSES = 1000  # so many different whole numbers may be the names of classes
_MANY_LEVELS = 100  # more different whole numbers may be the names of classes, or what a converter measured
_ONCE = 0.1
"""Where a larger share of the senses has an output that came once, the alphabet is not known from them.

That share is the Good–Turing estimate of the probability that the next output is a new one [Goo53]. As no more outputs
come once than there are, a channel with ten senses per output is never above it.
"""

_REAL = r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(?:{_REAL}|[+-]?(?:inf|infinity))", re.IGNORECASE)
_COMPLEX = re.compile(rf"\(?({_REAL}(?=\s*[+-]))?\s*([+-]?)\s*({_REAL.removeprefix('[+-]?')})\s*[ijIJ]\)?")
_WHOLE = re.compile(r"[+-]?[0-9]+(?:[.,]0*)?")
_WITH_UNIT = re.compile(rf"(?=[^.,]*[.,]){_REAL}\s*[^\W\d_%]{{1,4}}%?")


@dataclass(frozen=True)
class Hints:
    """What the caller says of a file or an object beyond what it shows; None where nothing is said.

    `columns` is what the columns of rows are called, by role; `transpose` says that the columns of the matrices are
    the inputs; `form` is "rows" or "matrix"; `channel_axis` is which axis of a stack counts the channels, "first" or
    "last".
    """

    columns: Columns = None
    transpose: bool = False
    form: str | None = None
    channel_axis: str | None = None

    def __post_init__(self) -> None:
        said = ("form", self.form, ("rows", "matrix")), ("channel_axis", self.channel_axis, ("first", "last"))
        for name, value, known in said:
            if value is not None and value not in known:
                raise InputError(f"{name} must be {' or '.join(known)}; it is {value!r}")
        if self.columns is not None and self.form == "matrix":
            raise InputError("columns belongs to rows, and form says that the file is a matrix; give one of them")


@dataclass(frozen=True, eq=False)
class LabelledCounts:
    """How often each input gave each output: counts[x, y], with the labels of both.

    `inferred_outputs` says that the outputs are the labels that lines happened to have, `binning` how they were made
    from measured values, if they were, and `order` the inputs and outputs of all senses in their order, if it is known;
    `by_time` says that it is the order of a column time, and not that of the rows.
    """

    name: str
    counts: Integers
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inferred_outputs: bool
    binning: Binning | None = None
    order: tuple[NDArray[Any], NDArray[Any]] | None = None
    by_time: bool = False


@dataclass(frozen=True, eq=False)
class Trials:
    """The senses of every channel in their order: input sent[j][i] of channel j gave its output received[j][i].

    Both are numbered as in its alphabets, and take one byte each where there are at most 256 letters, two up to 65536.
    Where outputs were measured values, binnings[j] are the bins of channel j. `by_time` says that the rows had times,
    and were not in their order.
    """

    alphabets: tuple[ChannelLabels, ...]
    sent: tuple[NDArray[Any], ...]
    received: tuple[NDArray[Any], ...]
    inferred_outputs: bool
    binnings: tuple[Binning | None, ...]
    by_time: bool = False

    @cached_property
    def outputs(self) -> tuple[tuple[NDArray[Any], ...], ...]:
        """outputs[j][x] are the outputs of input x of channel j in their order."""
        every = zip(self.sent, self.received, self.counts().values(), strict=True)
        return tuple(tuple(_divided(_pieces(x, y), counts.sum(axis=1), y.dtype)) for x, y, counts in every)

    def counts(self) -> dict[Hashable, Integers]:
        """counts[x, y] of every channel by its key, of shape (n_inputs, n_outputs)."""
        tables: dict[Hashable, Integers] = {}
        for labels, sent, received in zip(self.alphabets, self.sent, self.received, strict=True):
            counts = np.zeros(math.prod(labels.alphabet), np.int64)
            for piece in _pieces(sent, received):
                counts += np.bincount(np.ravel_multi_index(piece, labels.alphabet), minlength=len(counts))
            tables[labels.key] = counts.reshape(labels.alphabet)
        return tables

    def labelled_counts(self) -> Iterator[LabelledCounts]:
        """The counts of every channel with their labels."""
        every = zip(self.alphabets, self.counts().values(), self.binnings, self.sent, self.received, strict=True)
        for labels, table, binning, *order in every:
            sides = labels.inputs, labels.outputs
            inferred, by_time = self.inferred_outputs, self.by_time
            yield LabelledCounts(str(labels.key), table, *sides, inferred, binning, (order[0], order[1]), by_time)


def _pieces(x: NDArray[Any], y: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The letters of some senses at a time: NumPy takes eight bytes for each."""
    return ((x[i : i + 2**19], y[i : i + 2**19]) for i in range(0, len(x), 2**19))


def _divided(
    parts: Iterable[tuple[NDArray[Any], NDArray[Any]]], sizes: Integers, dtype: np.dtype[Any]
) -> list[NDArray[Any]]:
    """The symbols of each group in their order, from parts (group, symbol) of the rows; sizes[g] are of group g."""
    ends = np.cumsum(sizes)
    free, divided = ends - sizes, np.empty(int(ends[-1]), dtype)
    for groups, symbols in parts:
        order = np.argsort(groups, kind="stable")  # NumPy sorts two bytes by radix, in linear time
        own = np.bincount(groups, minlength=len(sizes))
        divided[np.repeat(free - (np.cumsum(own) - own), own) + np.arange(len(groups))] = symbols[order]
        free += own
    return np.split(divided, ends[:-1])


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows of a log: the number of each one's combination, its count (None: 1 each), and its time if any."""

    combinations: NDArray[Any]
    counts: NDArray[Any] | None
    times: NDArray[Any] | None = None


def label_of(value: object) -> str | None:
    """The value as text, None where it is no label; 2.0 is 2, as where a missing value made floats of whole numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool | np.bool_ | int | np.integer) or hasattr(value, "isoformat"):
        return str(value)
    if isinstance(value, float | np.floating | Decimal) and math.isfinite(value):
        return str(int(value)) if value % 1 == 0 else str(value) if isinstance(value, Decimal) else repr(float(value))
    return str(value) if isinstance(value, complex) and math.isfinite(abs(value)) else None


def is_missing(label: str) -> bool:
    """Whether the label stands for a value that is not there."""
    return label in _MISSING or label.casefold() == "nan"


def spelling(label: str) -> str:
    """The same text for all labels that may be one: 1, 1.0 and true, 0.5 and 0.50, é in one sign or in two.

    Nor do signs that nobody sees tell labels apart, nor which spaces there are, and how many, between words.

    Digits alone are what they are, as 01 and 1 are different strings of bits.
    """
    label = _TRUTH.get(label.casefold(), label)
    if label.isdecimal() or not _SPELLED_NUMBER.fullmatch(label):
        seen = (sign for sign in unicodedata.normalize("NFC", label) if unicodedata.category(sign) != "Cf")
        return " ".join("".join(seen).split())
    number = float(label.replace(",", "."))
    return str(int(number)) if math.isfinite(number) and number.is_integer() else repr(number)


class Spellings:
    """The labels of one column or side, no two of which may be one; a missing value is none, unless it is declared."""

    def __init__(self, role: str, declared: Container[str] = ()) -> None:
        self._role, self._declared = role, declared
        self._first: dict[str, str] = {}

    def add(self, label: str, place: str) -> None:
        """Refuse a label that is blank, missing, or spelled otherwise before."""
        first = self._first.setdefault(spelling(label), label)
        if label == first and label and (label in self._declared or not is_missing(label)):
            return
        if not label:
            raise InputError(f"{place}{self._role} must be a label; it is blank")
        if label == first:
            named = f"declare all outputs, as --outputs {label},other (outputs=['{label}', 'other']),"
            raise InputError(
                f"{place}{self._role} must be a label; it is {label}, which stands for a missing value; drop the row,"
                f" or {named if self._role == 'y' else 'call it otherwise'} if it is a label"
            )
        raise InputError(
            f"{place}{self._role} is {label!r}, and elsewhere {first!r}, which may be the same; spell them alike"
        )


class Combinations:
    """The different (channel, x, y) that a log has, numbered 0, 1, 2, ... in order of first appearance.

    Channels keep the order of the log. Each has its own alphabets: the labels that its rows have, in
    numeric order if all are integers, otherwise in order of first appearance; or the declared outputs. Outputs that
    look like measured values are refused, unless `numbers_are_labels`. With `transpose`, x and y of every row are
    exchanged.
    """

    most_spelled = 4 * MOST_SEEN  # the most ways in which labels may be spelled, as with quotes or spaces around them
    rows_differ = False  # whether the rows of a log are expected to be all different, as those of measured outputs

    def __init__(
        self, outputs: Sequence[str] | None = None, *, numbers_are_labels: bool = False, transpose: bool = False
    ) -> None:
        self.declared = None if outputs is None else declared_outputs(outputs)
        self.judges_numbers = self.declared is None and not numbers_are_labels
        self.transpose = transpose
        self._numbers_are_labels = numbers_are_labels
        self._channels: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # inputs and outputs as they came
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._spellings = {role: Spellings(role, self.declared or ()) for role in ("channel", "x", "y")}
        self._expected: dict[str, None] = {}
        self._letters = 0

    def number(self, channel: str, x: str, y: str, place: str) -> int:
        """The number of the combination with these labels; `place` says in a refusal where they stand."""
        sent, got = (y, x) if self.transpose else (x, y)
        labels = channel.strip(), sent.strip(), got.strip()
        number = self._numbers.get(labels)
        return self._add(labels, place) if number is None else number

    def _add(self, labels: tuple[str, str, str], place: str) -> int:
        for (role, known), label in zip(self._spellings.items(), labels, strict=True):
            if len(label) > LONGEST:
                raise InputError(f"{place}, {role} must be a label; it is {len(label):,} letters long")
            known.add(label, f"{place}, ")
        channel, x, y = labels
        if self.declared is not None and y not in self.declared:
            raise InputError(undeclared(f"{place}, y", y, self.declared))
        number = len(self._numbers)
        self._letters += sum(map(len, labels))
        if self._letters > MOST_LETTERS:
            raise InputError(f"{place} brings the labels to more than {MOST_LETTERS:,} letters; are these labels?")
        if number == MOST_SEEN:
            raise InputError(
                f"{place} has the {MOST_SEEN + 1:,}th different combination of channel, x and y, too many for labels;"
                " is one of these columns a measured value, a time or a running number? Measured outputs are cut into"
                " bins, --bins 8 (bins=8)"
            )
        inputs, outputs = self._channels.setdefault(channel, ({}, {}))
        inputs[x] = outputs[y] = None
        self._numbers[labels] = number
        return number

    def __len__(self) -> int:
        return len(self._numbers)

    def channel_names(self) -> list[str]:
        """What the channels are called, in the order of the log."""
        return list(self._channels)

    def expect(self, outputs: Iterable[str]) -> None:
        """Outputs that the type of a column declares, as a Categorical does: those that do not come count 0."""
        self._expected |= dict.fromkeys(outputs)

    @property
    def inferred_outputs(self) -> bool:
        """Whether the outputs are those that happened to be seen; one that was not shows that they were declared."""
        seen = {y for _, outputs in self._channels.values() for y in outputs}
        return self.declared is None and self._expected.keys() <= seen

    def refuse_measured(self, totals: NDArray[Any]) -> None:
        """Refuse channels whose letters look measured, or are too many; combination i came totals[i] times."""
        every = list(self.by_channel())
        for labels, own, x, y in [] if self._numbers_are_labels else every:
            if len(labels.inputs) >= _FEWEST:
                refuse_measured_inputs(labels.key, labels.inputs, np.bincount(x, totals[own]))
            if self.inferred_outputs and len(labels.outputs) >= _FEWEST:
                refuse_measured(labels.key, labels.outputs, np.bincount(y, totals[own]))
        refuse_too_many_cells((labels.key, *labels.alphabet) for labels, *_ in every)

    def by_channel(self) -> Iterator[tuple[ChannelLabels, Integers, Integers, Integers]]:
        """The labels of every channel, the numbers of its combinations, and the positions of their x and y."""
        channel, x, y = self.positions()
        members = np.split(np.argsort(channel, kind="stable"), np.cumsum(np.bincount(channel))[:-1])
        for labels, own in zip(self.labels(), members, strict=True):
            yield labels, own, x[own], y[own]

    def labels(self) -> list[ChannelLabels]:
        """The labels of every channel, in the order of the log."""
        return [
            ChannelLabels(name, tuple(alphabet(inputs)), self.declared or tuple(alphabet(self._expected | outputs)))
            for name, (inputs, outputs) in self._channels.items()
        ]

    def positions(self) -> tuple[Integers, Integers, Integers]:
        """The position of each combination's channel, of its x and of its y in the alphabets."""
        places = {}
        for j, labels in enumerate(self.labels()):
            x_of, y_of = ({letter: i for i, letter in enumerate(side)} for side in (labels.inputs, labels.outputs))
            places[labels.key] = j, x_of, y_of
        rows = ((*places[name], x, y) for name, x, y in self._numbers)
        j, x, y = np.array([(j, x_of[x], y_of[y]) for j, x_of, y_of, x, y in rows], np.int64).T
        return j, x, y

    def trials(self, blocks: Iterable[RowBlock]) -> Trials:
        """The trials of a log of which every row is one sense."""
        rows, by_time = in_time(list(map(_compact, blocks)))
        totals = np.sum([np.bincount(block, minlength=len(self)) for block in rows], axis=0, initial=0)
        if not np.any(totals):
            raise InputError("there must be trials; there is none")
        self.refuse_measured(totals)
        channel, x, y = (letters.astype(np.min_scalar_type(int(letters.max()))) for letters in self.positions())
        sizes = np.bincount(channel, totals).astype(np.int64)
        sent, received = (
            tuple(_divided(((channel[block], side[block]) for block in rows), sizes, side.dtype)) for side in (x, y)
        )
        return Trials(tuple(self.labels()), sent, received, self.inferred_outputs, (None,) * len(sizes), by_time)

    def counted(self, blocks: Iterable[RowBlock], *, order: bool = False) -> list[LabelledCounts]:
        """The counts of every channel, in the order of the log; the blocks may add combinations as they come.

        With `order` that of the senses is kept too, if every row is one.
        """
        blocks, kept = iter(blocks), []
        while order and (block := next(blocks, None)) is not None:
            order = block.counts is None
            kept.append(_compact(block) if order else block)
        if order:
            return list(self.trials(kept).labelled_counts()) if self._numbers else []
        totals, senses = np.zeros(0), 0
        for block in chain(kept, blocks):
            if block.counts is not None:
                about = float(block.counts.sum(dtype=np.float64))  # a sum of integers may overflow
                senses += int(block.counts.sum(dtype=np.int64)) if about < 2.0**60 else int(about)
            if senses > MOST_SENSES:  # up to here a sum of doubles is exact
                raise InputError("the counts must add up to at most 2^53; they add up to more")
            added = np.bincount(block.combinations, block.counts, minlength=len(self)).astype(np.float64)
            added[: len(totals)] += totals
            totals = added
        if not len(self):
            return []
        self.refuse_measured(totals)
        tables = []
        for labels, own, x, y in self.by_channel():
            counts = np.zeros(labels.alphabet)
            counts[x, y] = totals[own]
            table = count_table(counts, where := f'the counts of channel "{labels.key}"')
            refuse_totals(table, labels.inputs, labels.outputs, where)
            tables.append(LabelledCounts(labels.key, table, labels.inputs, labels.outputs, self.inferred_outputs))
        return tables


def _compact(block: RowBlock) -> RowBlock:
    """The rows, each of which is one sense, in two bytes each where that is enough."""
    if block.counts is not None:
        raise InputError(NO_ORDER)
    few = not len(block.combinations) or int(block.combinations.max()) < 2**16
    return RowBlock(block.combinations.astype(np.uint16 if few else np.uint32), None, block.times)


def in_time(blocks: list[RowBlock]) -> tuple[list[NDArray[Any]], bool]:
    """The combinations of the rows in the order of their times, if all have one; whether that is another order.

    There is no order among dates, which are integers, and numbers.
    """
    rows = [block.combinations for block in blocks]
    times = [block.times for block in blocks if block.times is not None]
    if len(times) < len(blocks) or len({kind.dtype for kind in times}) != 1:
        return rows, False
    together = np.concatenate(times)
    if np.all(together[:-1] <= together[1:]):
        return rows, False
    return [np.concatenate(rows)[np.argsort(together, kind="stable")]], True


def alphabet(labels: Iterable[str]) -> list[str]:
    """The distinct labels, in numeric order if all are integers, otherwise in order of first appearance."""
    distinct = list(dict.fromkeys(labels))
    return sorted(distinct, key=int) if all(map(_INTEGER.fullmatch, distinct)) else distinct


def declared_outputs(outputs: Sequence[str]) -> tuple[str, ...]:
    """The outputs that were declared, which are different labels."""
    labels = tuple(outputs)
    for label in labels:
        if not isinstance(label, str):
            raise InputError(f"the declared outputs must be texts; one is {label!r}")
    if not labels or len(set(labels)) < len(labels):
        raise InputError(f"the declared outputs must be different labels, at least one; they are {', '.join(labels)}")
    return labels


Named = TypeVar("Named", Channel, LabelledCounts)


def by_name(found: Sequence[Named]) -> dict[str, Named]:
    """The channels of a file or an object, at least one, each with a name of its own, and texts that can be written."""
    if not found:
        raise InputError("there must be rows or a matrix of at least one channel; there is none")
    named: dict[str, Named] = {}
    for content in found:
        if content.name in named:
            raise InputError(f'the channel "{content.name}" must occur once; it occurs twice')
        refuse_text(content.name, content.inputs, content.outputs)
        named[content.name] = content
    return named


def refuse_labels(labels: Iterable[str], where: str, declared: Container[str] = ()) -> None:
    """Refuse labels of a side of a matrix of which one is missing, or two may be one."""
    known = Spellings(f"a label of {where}", declared)
    for label in labels:
        known.add(label.strip(), "")


def refuse_totals(cells: NDArray[Any], inputs: Sequence[str], outputs: Sequence[str], where: str) -> None:
    """Refuse an input or output that is called total and is one, which would be counted twice."""
    for labels, table in ((inputs, cells), (outputs, cells.T)):
        for i, label in enumerate(labels if len(labels) == len(table) > 1 else ()):
            called = not _TOTALS.isdisjoint(label.casefold().split())
            if called and np.allclose(table.sum(axis=0), 2 * table[i], rtol=1e-9, atol=0):
                raise InputError(f"{where} must be without totals; {label!r} is the sum of the others (leave it out)")


def refuse_text(name: object, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuse a name or label that not every format and terminal can hold."""
    for text in (name, *inputs, *outputs):
        if not isinstance(text, str) or _UNWRITABLE.search(text):
            raise InputError(f"names and labels must be Unicode text without NUL; one of channel {name!r} is {text!r}")


def undeclared(place: str, label: str, outputs: Sequence[str]) -> str:
    """What is said of an output that is none of the declared."""
    return f"{place} must be one of the declared outputs {', '.join(outputs[:20])}; it is {label!r}"


def refuse_too_many_cells(channels: Iterable[tuple[Any, int, int]]) -> None:
    """Refuse channels (name, n_inputs, n_outputs) whose matrices have more than MOST_CELLS together."""
    cells = 0
    for name, n_inputs, n_outputs in channels:
        cells += n_inputs * n_outputs
        if cells > MOST_CELLS:
            raise InputError(
                f"the channels of a file must have at most {MOST_CELLS:,} cells; they have more with channel"
                f' "{name}", whose lines have {n_inputs} different x and {n_outputs} different y (are these columns'
                " labels?)"
            )


def measured(label: str) -> tuple[float, ...] | None:
    """The number that a label spells, or the two of a complex number such as 0.3-1.2j; None for any other label.

    >>> measured("-0.5"), measured("0,25"), measured("1.5-2j"), measured("lost")
    ((-0.5,), (0.25,), (1.5, -2.0), None)
    """
    text = label.strip()
    if _NUMBER.fullmatch(text):
        return (float(text.replace(",", ".")),)
    point = _COMPLEX.fullmatch(text)
    if point is None:
        return None
    real, sign, imaginary = ((part or "").replace(",", ".") for part in point.groups())
    return float(real or 0), float(sign + imaginary)  # Python writes 2j where the real part is 0


def point(first: str, second: str) -> str:
    """The complex number with these parts, as a label.

    >>> point("0.5", "-2"), point("0.5", "2")
    ('0.5-2j', '0.5+2j')
    """
    second = second.strip()
    return f"{first.strip()}{'' if second.startswith(('+', '-')) else '+'}{second}j"


def looks_measured(labels: Sequence[str], totals: NDArray[Any]) -> bool:
    """Whether labels are numbers, not all of them whole unless there are very many, of which too many came once."""
    if len(labels) < _FEWEST or not (totals == 1).sum() > _ONCE * totals.sum():
        return False
    if all(map(_WHOLE.fullmatch, labels)):
        return len(labels) > _MOST_CLASSES
    return all(measured(label) is not None or _WITH_UNIT.fullmatch(label) for label in labels)


def refuse_measured_inputs(channel: object, inputs: Sequence[str], totals: NDArray[Any]) -> None:
    """Refuse inputs that are numbers of which too many were sent once: totals[x] senses sent inputs[x]."""
    if looks_measured(inputs, totals):
        raise InputError(
            f'the inputs of channel "{channel}" look like measured values: {int(totals.sum()):,} senses have'
            f" {len(inputs):,} different numbers, and an input is a symbol that is sent again and again; if x and y are"
            ' exchanged, say --transpose (transpose=True); if they are labels, --bins none (bins="none")'
        )


def refuse_measured(channel: object, outputs: Sequence[str], totals: NDArray[Any]) -> None:
    """Refuse outputs that are numbers of which too many came once: totals[y] senses gave outputs[y]."""
    if not looks_measured(outputs, totals):
        return
    senses, once = int(totals.sum()), int((totals == 1).sum())
    raise InputError(
        f'the outputs of channel "{channel}" look like measured values: {senses:,} senses have {len(outputs):,}'
        f" different numbers, of which {once:,} came once, so that counts say nothing; cut them into bins, --bins 8"
        " (bins=8, bc.quantise), or with edges, --bins=-1,0,1 (bins=[-1, 0, 1]); if they are labels, say --bins none"
        ' (bins="none")'
    )


def hint_about_bins(channel: str, outputs: Sequence[str]) -> str | None:
    """What is said of outputs that are labels, and may as well be measured: whole numbers of very many kinds."""
    if len(outputs) <= _MANY_LEVELS or not all(map(_WHOLE.fullmatch, outputs)):
        return None
    return (
        f'channel "{channel}" has {len(outputs):,} different whole numbers as outputs; if they were measured, as by a'
        " converter, --bins 8 (bins=8) puts them into bins, which proves more with the same senses"
    )
