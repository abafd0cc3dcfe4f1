"""The compiled kernels: found beside this file, opened once, and called with arrays that were looked at before.

ctypes lets go of the interpreter's lock for the time of a call, so that threads run side by side.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, count
from operator import itemgetter
from typing import Any

import numpy as np

VARIANTS = ("baseline", "avx2", "avx512")
"""How wide the vectors are; all give the same bits. The variable BESTCHANNEL_VECTORS names the widest to use."""

FILE = {"win32": "kernels.dll", "darwin": "kernels.dylib"}.get(sys.platform, "kernels.so")

_ARGUMENT = re.compile(r"([>\w*]+\.?)(?:[\[(]([\w*]+)[\])](\w*))?")
_KINDS = {name: np.dtype(name) for name in ("f8", "i8", "i4", "u8", "u1")}
_MOST_PLANS = 1000
_octet_at, _address_of = ctypes.c_char.from_buffer, ctypes.addressof  # looked up once: they are called a lot


def _opened() -> ctypes.CDLL:
    path = os.path.join(os.path.dirname(__file__), FILE)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"the compiled part of bestchannel cannot be loaded ({error}): install bestchannel again, for this machine"
        ) from None
    library.bc_widest.restype = ctypes.c_int64
    library.bc_stamp.restype = ctypes.c_char_p
    return library


_library = _opened()


def _chosen() -> str:
    wanted = os.environ.get("BESTCHANNEL_VECTORS", VARIANTS[-1])
    if wanted not in VARIANTS:
        raise ImportError(f"BESTCHANNEL_VECTORS must be one of {', '.join(VARIANTS)}; it is {wanted!r}")
    return VARIANTS[min(_library.bc_widest(), VARIANTS.index(wanted))]


VARIANT = _chosen()
"""The variant whose functions are called."""


def stamp() -> str:
    """SHA-256 of the sources that the library was built from."""
    return str(_library.bc_stamp().decode())


class Kernel:
    """The function bc_`name` of the library, called with the arrays and numbers that it takes.

    `arguments` are in the order of C:

    - a letter, as `n`: a size, which the shapes of the arrays tell, or else the caller by its name
    - a word, as `first`: an integer; with a point after it, as `tol.`: a number
    - `W[cnm]`: a C-contiguous array of that shape, of float64 or of the kind after it, as `codes[r]i4`
    - `>Q[cm]`: such an array that is made here and returned
    - `room(nm)`: work space, so many numbers as bc_`name`_room says for these sizes

    `*` at the front of a shape stands for any leading sizes, the same in all shapes, and alone for their product. An
    array of another kind or shape is a mistake of the caller, and so is a size below 1 of those that are `positive`.
    """

    def __init__(self, name: str, arguments: str, returns: Any = None, positive: str = "") -> None:
        self._sizes, self._numbers, self._arrays, self._made, self._room = groups = [list[Any]() for _ in range(5)]
        types, order, given = list[Any](), list[tuple[int, int]](), count()
        for argument in arguments.split():
            word, dims, kind = _ARGUMENT.fullmatch(argument).groups("")  # type: ignore[union-attr]
            types.append(ctypes.c_void_p if dims else ctypes.c_double if word.endswith(".") else ctypes.c_int64)
            array = _KINDS[kind or "f8"], dims
            part: Any
            if word == "room":
                group, part = 4, (_function(f"{name}_room", [ctypes.c_int64] * len(dims), ctypes.c_int64), dims)
            elif dims:
                group, part = (3, array) if word.startswith(">") else (2, (next(given), *array))
            else:
                group, part = (1, next(given)) if len(word) > 1 else (0, word)
            order.append((group, len(groups[group])))
            groups[group].append(part)
        starts = [0, *accumulate(map(len, groups))]
        self._in_order = itemgetter(*[starts[group] + i for group, i in order])  # of C, from that of the groups
        self._places, self._kinds = [i for i, _, _ in self._arrays], [kind for _, kind, _ in self._arrays]
        self._function, self._returns, self._taken = _function(name, types, returns), returns is not None, next(given)
        self._positive, self._plans = positive, dict[Any, Any]()  # what follows from the shapes of the arrays

    def __call__(self, *given: Any, **named: int) -> Any:
        """What the function returns, if anything, and the arrays that were made; one alone as it is."""
        arrays = [given[i] for i in self._places]
        key = *[array.shape for array in arrays], *named.values()
        sizes, to_make = self._plans.get(key) or self._plan(key, arrays, named)
        if [array.dtype for array in arrays] != self._kinds:
            wrong, kind = next((a, kind) for a, kind in zip(arrays, self._kinds, strict=True) if a.dtype != kind)
            raise _refused(wrong, kind, wrong.shape)
        if len(given) != self._taken:
            raise TypeError(f"the kernel takes {self._taken} arrays and numbers; it was given {len(given)}")
        made = [np.empty(shape, kind) for shape, kind in to_make]
        passed = [*sizes, *[given[i] for i in self._numbers], *_addresses([*arrays, *made])]
        answer = self._function(*self._in_order(passed))
        if self._room:
            made.pop()
        if self._returns:
            return (answer, *made) if made else answer
        return made[0] if len(made) == 1 else made

    def _plan(self, key: Any, arrays: list[Any], named: dict[str, int]) -> Any:
        """The sizes to pass and the arrays to make, the room at the end, once the shapes are what they must be."""
        sizes: dict[str, Any] = {**{str(digit): digit for digit in range(10)}, **named}
        for array, (_, kind, dims) in zip(arrays, self._arrays, strict=True):
            shape = array.shape
            leading = len(shape) - len(dims.lstrip("*"))
            parts = [shape[:leading], *shape[leading:]] if dims[0] == "*" and leading >= 0 else shape
            wanted = [sizes.setdefault(dim, part) for dim, part in zip(dims, parts, strict=False)]
            if len(parts) != len(dims) or wanted != [*parts]:
                raise _refused(array, kind, [sizes.get(dim, dim) for dim in dims])
        if any(sizes[dim] < 1 for dim in self._positive):
            raise ValueError(f"the kernel requires sizes of at least 1; it was given {[*key]}")
        passed = [sizes[dim] if dim != "*" else math.prod(sizes[dim]) for dim in self._sizes]
        to_make = [(tuple(_flat(sizes[dim] for dim in dims)), kind) for kind, dims in self._made]
        to_make += [(room(*[sizes[dim] for dim in dims]), _KINDS["f8"]) for room, dims in self._room]
        if len(self._plans) > _MOST_PLANS:
            self._plans.clear()
        self._plans[key] = passed, to_make
        return self._plans[key]


def _flat(parts: Iterable[Any]) -> Iterator[int]:
    for part in parts:
        yield from part if isinstance(part, tuple) else (part,)


def _function(name: str, arguments: list[Any], returns: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = ctypes.CFUNCTYPE(returns, *arguments)((f"bc_{name}_{VARIANT}", _library))
    return function


def _refused(array: Any, kind: Any, shape: Iterable[Any]) -> TypeError:
    wanted = str((*_flat(shape),)).replace("'", "")
    return TypeError(
        f"the kernel requires a C-contiguous array of {kind.name} of shape {wanted}; it was given {array.dtype}"
        f" of shape {array.shape} with strides {array.strides}"
    )


def floats(array: Any, *shape: int) -> int:
    """The address of a C-contiguous array of float64 of this shape; anything else is a mistake of the caller."""
    if array.dtype != _KINDS["f8"] or array.shape != shape:
        raise _refused(array, _KINDS["f8"], shape)
    return address(array)


def address(array: Any) -> int:
    """The address of a C-contiguous array."""
    try:
        return _address_of(_octet_at(array))  # a third of the time that array.ctypes takes
    except (TypeError, ValueError):  # of what is read-only, empty or not contiguous
        if not array.flags.c_contiguous:
            raise _refused(array, array.dtype, array.shape) from None
        return int(array.ctypes.data)


def _addresses(arrays: list[Any]) -> Iterable[int]:
    try:
        return [*map(_address_of, map(_octet_at, arrays))]
    except (TypeError, ValueError):
        return map(address, arrays)
