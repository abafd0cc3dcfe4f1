"""Counts or probabilities as dictionaries {sent: {got: n}}, of one channel or by its name, and calibrations of mthree.

Qiskit's counts are such dictionaries: what was measured, and how often, for every state that was prepared.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestchannel.counts.labelled_counts import alphabet
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.errors import InputError

_TOLERANCE = 0.02
"""How far from a whole number a count may be that was divided into 32 bits; measured errors are below 0.01."""

_SINGLE = 1e-6
"""How far rows in 32 bits may be from summing to 1."""


def matrices_of(content: Mapping[Any, object], name: str) -> list[NamedMatrix] | None:
    """The matrices of nested dictionaries; None where they are something else. `name` is that of a single channel."""
    if not content or not all(isinstance(value, Mapping) for value in content.values()):
        return None
    if all(_are_numbers(value) for value in content.values()):
        return [matrix_of(name, content)]
    if all(isinstance(row, Mapping) for value in content.values() for row in _values(value)):
        return [matrix_of(_label(key, "the name of a channel"), value) for key, value in content.items()]
    return None


def is_nested(content: object) -> bool:
    """Whether the object may be the counts of one channel, {sent: {got: n}}."""
    return isinstance(content, Mapping) and bool(content) and all(map(_are_numbers, content.values()))


def matrix_of(name: str, content: Any) -> NamedMatrix:
    """The matrix of {sent: {got: n}}; what is not there is 0."""
    where = f'channel "{name}"'
    rows = {_label(sent, f"an input of {where}"): row for sent, row in content.items()}
    _refuse_same(rows, content, f"the inputs of {where}")
    if {"x", "y"} <= {label.casefold() for label in rows}:
        raise InputError(
            f"{where} may be columns x and y of a frame, or inputs called so; write the frame as records"
            " (to_json(orient='records')), or give inputs other names"
        )
    cells = {sent: _row(row, f"an output of input {sent!r} of {where}") for sent, row in rows.items()}
    inputs, outputs = alphabet(cells), alphabet(got for row in cells.values() for got in row)
    if not outputs:
        raise InputError(f"{where} must have counts; it has none")
    table = [[cells[sent].get(got, 0) for got in outputs] for sent in inputs]
    return NamedMatrix(name, table, inputs, outputs, inferred=True)


def _row(row: Mapping[Any, Any], where: str) -> dict[str, Any]:
    found = {_label(got, where): number for got, number in row.items()}
    _refuse_same(found, row, where)
    return found


def _refuse_same(found: Mapping[str, object], given: Mapping[Any, object], where: str) -> None:
    if len(found) < len(given):
        raise InputError(f"{where} must have different labels; as texts, {len(given)} have {len(found)}")


def _label(key: object, where: str) -> str:
    """A key as a label: a text, or a whole number, without spaces around it."""
    if isinstance(key, bool | np.bool_) or not isinstance(key, str | int | np.integer) or not str(key).strip():
        raise InputError(f"{where} must be a text or a whole number; it is {reprlib.repr(key)}")
    return str(key).strip()


def _are_numbers(row: object) -> bool:
    return isinstance(row, Mapping) and all(
        isinstance(n, int | float | np.integer | np.floating) and not isinstance(n, bool) for n in row.values()
    )


def _values(content: Any) -> list[object]:
    return list(content.values())


def mthree_matrices(cals: Sequence[object], shots: object, *, counts: bool) -> list[NamedMatrix]:
    """The read-outs of a calibration that mthree saved, one per qubit: cals[q][got][sent], None where there is none."""
    found = {f"q{q}": _upright(cal, f"the calibration of qubit {q}") for q, cal in enumerate(cals) if cal is not None}
    if not found:
        raise InputError("a calibration must have a qubit; it has none")
    if not counts:
        return [NamedMatrix(name, rows) for name, rows in found.items()]
    n = _shots(np.stack(list(found.values())), shots)
    return [NamedMatrix(name, np.rint(n * rows).astype(np.int64)) for name, rows in found.items()]


def _upright(cal: object, where: str) -> Any:
    """Rows that sum to 1 as doubles: what was measured divided into 32 bits, and the rest is its complement."""
    try:
        A = np.array(cal, dtype=np.float64)
    except (TypeError, ValueError):
        A = np.zeros(0)
    if A.shape != (2, 2) or not np.all((A >= 0) & (A <= 1)) or np.abs(A.sum(axis=0) - 1).max() > _SINGLE:
        raise InputError(f"{where} must be a 2×2 matrix whose columns sum to 1; it is {reprlib.repr(cal)}")
    stay = np.diag(A)
    return np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])


def _shots(rows: Any, shots: object) -> int:
    """How often each state was prepared: `shots`, or, after a balanced calibration, the one number above that fits."""
    if not isinstance(shots, int) or isinstance(shots, bool) or not 0 < shots <= 10**7:
        raise InputError(f"the shots of a calibration must be a whole number to give counts; it is {shots!r}")
    stay = rows[:, (0, 1), (0, 1)].ravel()
    fitting = [n for n in range(shots, 2 * shots + 1) if np.abs(n * stay - np.rint(n * stay)).max() < _TOLERANCE]
    if fitting[:1] != [shots] and len(fitting) != 1:
        raise InputError(
            f"the shots of a calibration must give whole counts; {shots} does not, and {len(fitting)} numbers up to"
            " twice that do, so that counts are not known (`bestchannel capacity` takes the probabilities)"
        )
    return fitting[0]
