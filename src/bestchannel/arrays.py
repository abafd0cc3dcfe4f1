"""Outside numbers become validated arrays here, once, or are refused by name; and what rows and columns are called."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from bestchannel.errors import CountsFoundError, InputError
from bestchannel.promises import several

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

K = TypeVar("K")
V = TypeVar("V")

ROW_SUM_TOLERANCE = 1e-9  # how far a row of probabilities may be from summing to 1 without `normalize`
ROUNDING = 0.02  # how far from 1 rounded probabilities may sum and still look like a distribution


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, marked read-only."""
    array.setflags(write=False)
    return array


class FrozenMapping(Mapping[K, V]):
    """A copy of a mapping that cannot be changed, and, unlike `MappingProxyType`, can be pickled and copied."""

    def __init__(self, content: Mapping[K, V]) -> None:
        self._content = dict(content)

    def __getitem__(self, key: K) -> V:
        return self._content[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return repr(self._content)


@dataclass(frozen=True)
class ChannelLabels:
    """What a channel is called, and what its letters are called: input x is inputs[x].

    `condition` is what a guarantee about the channel adds, as that its outputs are bins of measured values.
    """

    key: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    condition: str = ""

    @property
    def alphabet(self) -> tuple[int, int]:
        """(n_inputs, n_outputs)."""
        return len(self.inputs), len(self.outputs)

    @staticmethod
    def numbered(key: Hashable, alphabet: tuple[int, int]) -> ChannelLabels:
        """A channel whose (n_inputs, n_outputs) letters are called 0, 1, 2, ..."""
        n_inputs, n_outputs = alphabet
        return ChannelLabels(key, tuple(map(str, range(n_inputs))), tuple(map(str, range(n_outputs))))


def numeric_array(values: object, where: str) -> NDArray[Any]:
    """`values` as a real numeric array, or an `InputError` that names the cell at fault."""
    refuse_masked(values, where)
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(_ragged_message(values, where)) from None
    if array.size and array.dtype.kind in "OUS":
        raise InputError(_ragged_message(values, where))
    refuse_unless_real(array, where)
    return array


def refuse_masked(values: object, where: str) -> None:
    """Raise `InputError` for masked cells, here or in a row: an array made of them would show what is masked."""
    if type(values) is np.ndarray:  # not one of its subclasses
        return
    parts = values if isinstance(values, list | tuple) else ()
    masked = sys.modules.get("numpy.ma")  # whoever has a masked array has loaded it
    if masked and any(masked.is_masked(part) for part in (values, *parts)):
        raise InputError(
            f"{where} must have no masked cells; some are masked (filled(0), or whatever is meant, ends it)"
        )


def refuse_unless_real(array: Any, where: str) -> None:
    """Raise `InputError` for an array, of any library, that is empty or does not hold real numbers."""
    if array.size == 0:
        raise InputError(f"{where} must not be empty; its shape is {array.shape}")
    if array.dtype.kind not in "iuf":
        raise InputError(f"{where} must hold real numbers; it has dtype {array.dtype}")


def on_host(array: Any) -> NDArray[Any]:
    """An array of any library in the memory of the host: CuPy calls the way there `get`, PyTorch `cpu`."""
    moved = array.get() if hasattr(array, "get") else array.cpu() if hasattr(array, "cpu") else array
    return np.asarray(moved)


def _ragged_message(values: object, where: str) -> str:
    """Which row has another length than the first, or which cell is no number."""
    rows = list(values) if isinstance(values, Sequence | np.ndarray) and getattr(values, "ndim", True) else []
    for x, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
            return f"row x={x} of {where} must be a list of numbers; it is {row!r}"
        if len(row) != len(rows[0]):
            return f"row x={x} of {where} must have {len(rows[0])} entries like row x=0; it has {len(row)}"
        for y, cell in enumerate(row):
            if not isinstance(cell, int | float | np.number):
                return f"row x={x}, column y={y} of {where} must be a number; it is {cell!r}"
    return f"{where} must be a rectangular matrix of numbers"


def probability_rows(values: object, where: str, *, normalize: bool = False) -> tuple[Floats, float]:
    """`values` as a row-stochastic matrix, and the largest |row sum - 1| that was removed.

    Rows within `ROW_SUM_TOLERANCE` of 1 are kept to the bit. Others are refused, or
    divided by their sum under `normalize`. Whole numbers that do not sum to 1 are
    counts, not probabilities, and are always refused.
    """
    array = numeric_array(values, where)
    if array.ndim != 2:
        raise InputError(
            f"{where} must be a matrix (one row per input, one column per output);"
            f" it has {several(array.ndim, 'dimension')}"
        )
    W = np.array(array, dtype=np.float64, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        sums = W.sum(axis=1)
    excess = np.abs(sums - 1.0)
    if excess.max() <= ROW_SUM_TOLERANCE and W.min() >= 0.0:
        return W, 0.0
    refuse_bad_probabilities(W, where)
    x = int(np.argmax(excess))
    if not np.isfinite(sums[x]):
        raise InputError(f"row x={x} of {where} must have a finite sum; its entries add up to more than 1e308")
    if np.all(np.floor(W) == W) and np.any(sums > 1):
        raise CountsFoundError(
            f"row x={x} of {where} looks like counts (whole numbers with sum {sums[x]:g}), and a channel requires"
            " probabilities; use `estimate` for counts, or divide percentages by 100"
        )
    _refuse_columns_of_inputs(W, where, x)
    if not normalize:
        raise InputError(
            f"row x={x} of {where} must sum to 1 within {ROW_SUM_TOLERANCE:g}; it sums to {sums[x]:.12g}"
            " (normalize=True or --normalize divides each row by its sum)"
        )
    if sums.min() <= 0.0:
        raise InputError(f"row x={int(np.argmin(sums))} of {where} sums to 0 and cannot be normalized")
    return W / sums[:, None], float(excess[x])


def _refuse_columns_of_inputs(W: Floats, where: str, x: int) -> None:
    """Refuse a matrix of which the columns sum to 1, perhaps but for rounding, and row x does not."""
    off = float(np.abs(W.sum(axis=0) - 1.0).max())
    row = float(W[x].sum())
    if off <= ROW_SUM_TOLERANCE or off <= ROUNDING < abs(row - 1.0):
        rounded = off > ROW_SUM_TOLERANCE
        raise InputError(
            f"row x={x} of {where} must sum to 1 within {ROW_SUM_TOLERANCE:g}; it sums to {row:.12g}, and the columns"
            " do sum to 1, as where these are the inputs (Qiskit's assignment matrices): give --transpose"
            f"{' --normalize' * rounded} (in Python the transpose, .T{', and normalize=True' * rounded})"
        )


def refuse_bad_probabilities(W: Floats, where: str) -> None:
    """Raise `InputError` for the first NaN, infinite or negative entry of `W`."""
    bad = np.argwhere(~np.isfinite(W) | (W < 0.0))
    if len(bad):
        x, y = bad[0]
        raise InputError(f"row x={x}, column y={y} of {where} must be a finite number >= 0; it is {W[x, y]:g}")


def distribution(values: object, size: int, where: str) -> Floats:
    """`values` as a probability vector of length `size`, or an `InputError`."""
    array = numeric_array(values, where)
    if array.shape != (size,):
        raise InputError(f"{where} must be a vector of {size} probabilities; its shape is {array.shape}")
    P = np.array(array, dtype=np.float64)
    refuse_bad_probabilities(P[None], where)
    with np.errstate(over="ignore"):
        total = P.sum()
    if abs(total - 1.0) > ROW_SUM_TOLERANCE:
        raise InputError(f"{where} must sum to 1 within {ROW_SUM_TOLERANCE:g}; it sums to {total:.12g}")
    return P


def number_in(
    value: object, where: str, *, low: float, high: float, low_open: bool = True, high_open: bool = False
) -> float:
    """`value` as a finite float between low and high, either end excluded where open."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{where} must be a number; it is {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an int of hundreds of digits
        number = np.inf if value > 0 else -np.inf
    above = low < number if low_open else low <= number
    below = number < high if high_open else number <= high
    if not (above and below):
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
        raise InputError(f"{where} must lie in {interval}; it is {number:g}")
    return number


def whole_number(value: object, where: str, *, at_least: int) -> int:
    """`value` as a whole number, or an `InputError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise InputError(f"{where} must be a whole number >= {at_least}; it is {value!r}")
    return int(value)


MOST_SENSES = 2**53  # up to here every whole number is a double


def count_table(values: object, where: str) -> Integers:
    """`values` as a matrix of counts, at least one of them above 0, or an `InputError` that names the cell at fault."""
    array = numeric_array(values, where)
    if array.ndim != 2:
        raise InputError(
            f"{where} must be a matrix (one row per input, one column per output);"
            f" they have {several(array.ndim, 'dimension')}"
        )
    low, high = array.min().item(), array.max().item()  # exact numbers of Python, whatever the width of the array
    whole = array.astype(np.int64) if low >= 0 and high <= MOST_SENSES else None  # a NaN is neither
    if whole is None or (array.dtype.kind == "f" and not np.array_equal(whole, array)):
        _refuse_cell(array, where)
    total = float(array.sum(dtype=np.float64))
    if not 0.0 < total < 2.0**60 or int(whole.sum()) > MOST_SENSES:
        raise InputError(f"{where} must add up to at least 1 and at most 2^53; they add up to {total:g}")
    return whole


def _refuse_cell(array: NDArray[Any], where: str) -> NoReturn:
    """Name the first cell that is no count."""
    x, y = np.argwhere(~np.isfinite(array) | (array < 0) | (array != np.floor(array)) | (array > MOST_SENSES))[0]
    hint = "; probabilities are for `capacity`" if 0.0 < array[x, y] < 1.0 else ""
    found = str(array[x, y]) if array.dtype.kind in "iu" else f"{array[x, y]:.12g}"
    raise InputError(f"row x={x}, column y={y} of {where} must be a whole number from 0 to 2^53; it is {found}{hint}")
