"""Arrays of two or three dimensions as matrices of channels: which axis of a stack counts the channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.errors import InputError
from bestchannel.promises import several

_Array = NDArray[Any]
Sizes = tuple[int | None, int | None]
"""How many inputs and outputs have labels; None where none have."""


def matrices_in(
    array: _Array, where: str, axis: str | None, usual: str, labels: Sizes = (None, None)
) -> Iterator[_Array]:
    """The matrices (n_inputs, n_outputs) of a stack; `axis` says where the channels are, "first" or "last".

    Without it the labels tell, or the shape: NumPy's stacks have the channels first and MATLAB's have them last,
    which is `usual`, and a stack that looks like the other kind, or of MATLAB like either, is refused.
    """
    if array.ndim != 3:
        raise InputError(f"{where} must be a matrix, or a stack of matrices; it has {several(array.ndim, 'dimension')}")
    axis = axis or _told_by_labels(array.shape, labels) or _told_by_shape(array.shape, usual)
    if axis is None:
        a, b, c = array.shape
        raise InputError(
            f"{where} has the shape {array.shape}, whose channels may be along its first axis ({a} of {b}×{c}) or along"
            f" its last ({c} of {a}×{b}); write --channel-axis first (channel_axis='first'), or last"
        )
    yield from np.moveaxis(array, -1, 0) if axis == "last" else array


def _told_by_labels(shape: tuple[int, ...], labels: Sizes) -> str | None:
    """The axis that leaves as many inputs and outputs as there are labels, if one alone does."""
    if labels == (None, None):
        return None
    sides = {"first": shape[1:], "last": shape[:2]}
    fitting = [axis for axis, side in sides.items() if all(n in (None, m) for n, m in zip(labels, side, strict=True))]
    return fitting[0] if len(fitting) == 1 else None


def _told_by_shape(shape: tuple[int, ...], usual: str) -> str | None:
    """The axis that leaves square matrices, if one alone does; else, of NumPy, the usual one."""
    first_is_square, last_is_square = shape[1] == shape[2] > 1, shape[0] == shape[1] > 1
    if first_is_square != last_is_square:
        square = "first" if first_is_square else "last"
        return usual if square == usual else None
    return usual if usual == "first" and shape[2] > 1 else None
