"""Matrices as somebody gave them: a name, rows, and labels where there are any; as arrays, stacks, or {sent: {got: n}}.

Qiskit's counts are such dictionaries: what was measured, and how often, for every state that was prepared.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import count_table, numeric_array
from bestchannel.channels import Channel
from bestchannel.counts.labelled_counts import (
    Hints,
    LabelledCounts,
    alphabet,
    refuse_labels,
    refuse_measured,
    refuse_totals,
    undeclared,
)
from bestchannel.errors import InputError

_Array = NDArray[Any]
MOST_SIDE = 2**18  # the most inputs, or outputs, of a matrix: each has a label, which takes more room than a number
_SAID = {  # words in the labels of a matrix that say which side of the channel they are of
    "x": {"tx", "sent", "transmitted", "true", "truth", "actual", "input", "inputs", "prepared", "stimulus"},
    "y": {"rx", "received", "got", "predicted", "prediction", "pred", "output", "outputs", "measured", "decoded"},
}
# up to so many rows, equal ones are no trials; from so many columns on, two rows may be their inputs and outputs
_FEW, _MANY = 8, 32
LONGEST_LOG_ROW = 4  # channel, x, y, count
_TOLERANCE = 0.02  # how far from whole a count may be that was divided into 32 bits; measured errors are below 0.01
_SINGLE = 1e-6  # how far rows in 32 bits may be from summing to 1


@dataclass(frozen=True, slots=True)
class NamedMatrix:
    """A matrix before anything is checked; None stands for the labels 0, 1, 2, ...

    `inferred` says that the outputs are those that happened to be there, `titles` what stands above the labels of the
    inputs and beside those of the outputs, `doubtful` that nobody said on which side the inputs are.
    """

    name: str
    rows: object
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None
    inferred: bool = False
    titles: tuple[str, str] = ("", "")
    doubtful: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.rows, np.ndarray):
            refuse_long_side(self.name, *self.rows.shape)
        elif isinstance(self.rows, list | tuple):
            first = (len(row) for row in self.rows[:1] if isinstance(row, list | tuple))
            refuse_long_side(self.name, len(self.rows), *first)

    def upright(self, transpose: bool) -> NamedMatrix:
        """The matrix, its rows as columns if so; the labels are those of the inputs and outputs already."""
        if not transpose:
            return self
        return replace(self, rows=np.transpose(numeric_array(self.rows, f'channel "{self.name}"')))

    def channel(self, *, normalize: bool) -> Channel:
        """The channel whose rows these are."""
        self._refuse_exchanged()
        if normalize:  # which would divide by a total too
            where = f'channel "{self.name}"'
            refuse_totals(numeric_array(self.rows, where), self.inputs or (), self.outputs or (), where)
        return Channel.from_rows(
            self.rows, name=self.name, inputs=self.inputs, outputs=self.outputs, normalize=normalize
        )

    def counts(self, declared: tuple[str, ...] | None) -> LabelledCounts:
        """The counts that these rows are; the columns are the outputs, declared by being there or among `declared`."""
        where = f'the counts of channel "{self.name}"'
        self._refuse_exchanged()
        counts = count_table(self.rows, where)
        inputs = _labels(self.inputs, counts.shape[0], "input", where)
        refuse_totals(counts, self.inputs or (), self.outputs or (), where)
        if declared is None or self.outputs is None:
            outputs = _labels(declared or self.outputs, counts.shape[1], "output", where, declared or ())
            if self.inferred:
                refuse_measured(self.name, outputs, counts.sum(axis=0))
            return LabelledCounts(self.name, counts, inputs, outputs, self.inferred)
        wide = np.zeros((len(counts), len(declared)), dtype=np.int64)
        for y, label in enumerate(_labels(self.outputs, counts.shape[1], "output", where, declared)):
            if label not in declared:
                raise InputError(undeclared(f"column {label!r} of {where}", label, declared))
            wide[:, declared.index(label)] = counts[:, y]
        return LabelledCounts(self.name, wide, inputs, declared, False)

    def _refuse_exchanged(self) -> None:
        """Refuse a matrix whose labels say that its columns are the inputs, or its rows the outputs."""
        sides = [*zip(self.titles, (self.inputs, self.outputs), strict=True)]
        said = [_side(*side) for side in sides]
        if self.doubtful and said[0] != said[1] and (said[0] == "y" or said[1] == "x"):
            rows, columns = (title.strip() or (labels or ("",))[0] for title, labels in sides)
            raise InputError(
                f'the rows of channel "{self.name}" must be its inputs and the columns its outputs; they are called'
                f" {rows!r} and {columns!r}, which says the opposite; write --transpose (transpose=True, or give the"
                " transposed matrix), or --form matrix (form='matrix') if it is right"
            )


def refuse_long_side(name: str, *sides: int) -> None:
    """Refuse a matrix with more inputs or outputs than labels are made for."""
    if max(sides, default=0) > MOST_SIDE:
        raise InputError(
            f'channel "{name}" must have at most {MOST_SIDE:,} inputs, and as many outputs; it has {max(sides):,}'
        )


def _labels(
    labels: Sequence[str] | None, size: int, kind: str, where: str, declared: Sequence[str] = ()
) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if len(labels) != size or len(set(labels)) != size:
        raise InputError(
            f"{where} must have a different label for each of their {size} {kind}s; there are {len(labels)}:"
            f" {', '.join(labels[:20])}"
        )
    refuse_labels(labels, f"the {kind}s of {where.removeprefix('the counts of ')}", declared)
    return tuple(labels)


def _side(title: str, labels: Sequence[str] | None) -> str | None:
    """Whether a side of a matrix is called what was sent, "x", or received, "y", by its title or by all its labels."""
    words = set(re.findall(r"[a-z]+", title.casefold()))
    for role, known in _SAID.items():
        if words & (known | {role}):
            return role
    parts = [set(re.findall(r"[a-z]+|[0-9]+", label.casefold())) for label in labels or ()]
    return next((r for r, known in _SAID.items() if parts and all(p & known and p - known for p in parts)), None)


def labels_or_none(labels: Sequence[str]) -> Sequence[str] | None:
    """The labels, or None if they are 0, 1, 2, ... and need not be stored."""
    return None if list(labels) == [str(i) for i in range(len(labels))] else labels


def refuse_trials(array: NDArray[Any], hints: Hints) -> None:
    """Refuse an array without labels that looks like the trials of a log, one a row or one a column."""
    if hints.form is not None or array.ndim != 2 or array.dtype.kind not in "iu":
        return
    one_a_row = 1 < array.shape[1] <= LONGEST_LOG_ROW and len(array) > _FEW and _come_again(array)
    if one_a_row or (len(array) == 2 and array.shape[1] >= _MANY and _come_again(array.T)):
        raise InputError(
            f"the array of shape {array.shape} may be trials, one a {'row' if one_a_row else 'column'},"
            f" or a matrix with {len(array)} inputs; give trials as vectors x and y (numpy.savez(path, x=…, y=…), or"
            " {'x': …, 'y': …}), or write --form matrix (form='matrix')"
        )


def refuse_pair_in_doubt(name: str, x: NDArray[Any], y: NDArray[Any]) -> None:
    """Refuse a pair (x, y) of numbers that may be the two rows of a matrix of counts."""
    values = [*x.tolist(), *y.tolist()]
    are_counts = len(x) == len(y) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and v >= 0 and v % 1 == 0 for v in values
    )
    if are_counts and not (len(x) > _FEW and _come_again(np.array(values, np.float64).reshape(2, -1).T)):
        raise InputError(
            f'the pair of channel "{name}" may be the inputs and outputs of {len(x)} senses, or the two rows of a'
            " matrix; say form='rows' or form='matrix'"
        )


def _come_again(lines: NDArray[Any]) -> bool:
    """Whether lines come again and again, also without the one that comes most often, as zeros do in a table."""
    _, times = np.unique(lines, axis=0, return_counts=True)
    return len(times) > 1 and 2 * (len(times) - 1) <= len(lines) - int(times.max())


def matrices_in(
    array: _Array, where: str, axis: str | None, usual: str, labels: tuple[int | None, int | None] = (None, None)
) -> Iterator[_Array]:
    """The matrices (n_inputs, n_outputs) of a stack; `axis` says where the channels are, "first" or "last".

    Without it `labels` tell, how many inputs and outputs have one, or the shape: NumPy's stacks have the channels first
    and MATLAB's have them last, which is `usual`, and a stack that looks like the other kind, or of MATLAB like either,
    is refused.
    """
    a, b, c = array.shape
    if axis is None and labels != (None, None):
        sides = {"first": (b, c), "last": (a, b)}
        fitting = [end for end, side in sides.items() if all(n in (None, m) for n, m in zip(labels, side, strict=True))]
        axis = fitting[0] if len(fitting) == 1 else None
    square = {"first": b == c > 1, "last": a == b > 1}
    if axis is None and (square["first"] != square["last"] or (usual == "first" and c > 1)):
        axis = usual if square[usual] or not any(square.values()) else None
    if axis is None:
        raise InputError(
            f"{where} has the shape {array.shape}, whose channels may be along its first axis ({a} of {b}×{c}) or along"
            f" its last ({c} of {a}×{b}); write --channel-axis first (channel_axis='first'), or last"
        )
    yield from np.moveaxis(array, -1, 0) if axis == "last" else array


def matrices_of(content: Mapping[Any, Any], name: str) -> list[NamedMatrix] | None:
    """The matrices of nested dictionaries; None where they are something else. `name` is that of a single channel."""
    if not content or not all(isinstance(value, Mapping) for value in content.values()):
        return None
    if all(_are_numbers(value) for value in content.values()):
        return [matrix_of(name, content)]
    if all(isinstance(row, Mapping) for value in content.values() for row in value.values()):
        return [matrix_of(_label(key, "the names of channels"), value) for key, value in content.items()]
    return None


def is_nested(content: object) -> bool:
    """Whether the object may be the counts of one channel, {sent: {got: n}}."""
    return isinstance(content, Mapping) and bool(content) and all(map(_are_numbers, content.values()))


def matrix_of(name: str, content: Any) -> NamedMatrix:
    """The matrix of {sent: {got: n}}; what is not there is 0."""
    where = f'channel "{name}"'
    rows = _labelled(content, f"the inputs of {where}")
    if {"x", "y"} <= {label.casefold() for label in rows}:
        raise InputError(
            f"{where} may be columns x and y of a frame, or inputs called so; write the frame as records"
            " (to_json(orient='records')), or give inputs other names"
        )
    cells = {sent: _labelled(row, f"the outputs of input {sent!r} of {where}") for sent, row in rows.items()}
    inputs, outputs = alphabet(cells), alphabet(got for row in cells.values() for got in row)
    table = [[cells[sent].get(got, 0) for got in outputs] for sent in inputs]
    return NamedMatrix(name, table, inputs, outputs, inferred=True)


def _labelled(content: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """The content by labels that are all different."""
    found = {_label(key, where): value for key, value in content.items()}
    if len(found) < len(content):
        raise InputError(f"{where} must have different labels; as texts, {len(content)} have {len(found)}")
    return found


def _label(key: object, where: str) -> str:
    """A key as a label: a text, or a whole number, without spaces around it."""
    if isinstance(key, bool | np.bool_) or not isinstance(key, str | int | np.integer) or not str(key).strip():
        raise InputError(f"{where} must be texts or whole numbers; one is {reprlib.repr(key)}")
    return str(key).strip()


def _are_numbers(row: object) -> bool:
    return isinstance(row, Mapping) and all(
        isinstance(n, int | float | np.integer | np.floating) and not isinstance(n, bool) for n in row.values()
    )


def mthree_matrices(cals: Sequence[object], shots: object, *, counts: bool) -> list[NamedMatrix]:
    """The read-outs of a calibration that mthree saved, one per qubit: cals[q][got][sent], None where there is none.

    What was measured divided into 32 bits, and the rest is its complement. Each state was prepared `shots` times, or,
    in a balanced calibration, the one number of times above that gives whole counts.
    """
    kept: dict[str, _Array] = {}  # how probable it is that each state is read as itself
    for q, cal in ((q, cal) for q, cal in enumerate(cals) if cal is not None):
        try:
            A = np.array(cal, dtype=np.float64)
        except (TypeError, ValueError):
            A = np.zeros(0)
        if A.shape != (2, 2) or not np.all((A >= 0) & (A <= 1)) or np.abs(A.sum(axis=0) - 1).max() > _SINGLE:
            raise InputError(
                f"the calibration of qubit {q} must be a 2×2 matrix whose columns sum to 1; it is {reprlib.repr(cal)}"
            )
        kept[f"q{q}"] = np.diag(A)
    if not kept:
        raise InputError("a calibration must have a qubit; it has none")
    rows = {name: np.array([[a, 1 - a], [1 - b, b]]) for name, (a, b) in kept.items()}
    if not counts:
        return [NamedMatrix(name, W) for name, W in rows.items()]
    if not isinstance(shots, int) or isinstance(shots, bool) or not 0 < shots <= 10**7:
        raise InputError(f"the shots of a calibration must be a whole number to give counts; it is {shots!r}")
    stay = np.concatenate(list(kept.values()))
    fitting = [n for n in range(shots, 2 * shots + 1) if np.abs(n * stay - np.rint(n * stay)).max() < _TOLERANCE]
    if fitting[:1] != [shots] and len(fitting) != 1:
        raise InputError(
            f"the shots of a calibration must give whole counts; {shots} does not, and {len(fitting)} numbers up to"
            " twice that do, so that counts are not known (`bestchannel capacity` takes the probabilities)"
        )
    return [NamedMatrix(name, np.rint(fitting[0] * W).astype(np.int64)) for name, W in rows.items()]
