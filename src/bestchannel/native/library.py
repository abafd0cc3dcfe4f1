"""The compiled kernels: found beside this file, opened once, and called with arrays that were looked at before.

ctypes lets go of the interpreter's lock for the time of a call, so that threads run side by side.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bestchannel.arrays import Floats

VARIANTS = ("baseline", "avx2", "avx512")
"""How wide the vectors are; all give the same bits. The variable BESTCHANNEL_VECTORS names the widest to use."""

FILE = {"win32": "kernels.dll", "darwin": "kernels.dylib"}.get(sys.platform, "kernels.so")

_ARGUMENT = re.compile(r"([>\w*]+\.?)(?:[\[(]([\w*]+)[\])](\w*))?")
_KINDS = {name: np.dtype(name) for name in ("f8", "i8", "i4", "u8", "u1")}
_LITERALS = {str(digit): digit for digit in range(10)}
_MOST_PLANS = 1000
_MOST, _MOST_TOGETHER = 2**29, 2**55  # sizes of work space, and their product, that never overflow in what it takes
_LINE = 64  # bytes of a cache line: vectors of work space that begin with one are read in a third less time
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
        types, self._given, self._sizes, self._made = list[Any](), list[Any](), list[Any](), list[Any]()
        self._room: Any = None
        self._positive, self._plans = positive, dict[Any, Any]()  # what follows from the shapes of the arrays
        for place, argument in enumerate(arguments.split()):
            word, dims, kind = _ARGUMENT.fullmatch(argument).groups("")  # type: ignore[union-attr]
            number = ctypes.c_double if word.endswith(".") else ctypes.c_int64
            types.append(ctypes.c_void_p if dims else number)
            array = place, _KINDS[kind or "f8"] if dims else None, dims
            if word == "room":
                self._room = place, dims, _function(f"{name}_room", [ctypes.c_int64] * len(dims), ctypes.c_int64)
            elif word.startswith(">"):
                self._made.append(array)
            elif dims or len(word) > 1:
                self._given.append(array)
            else:
                self._sizes.append((place, word))
        self._arrays = [i for i, (_, _, dims) in enumerate(self._given) if dims]
        self._function, self._returns = _function(name, types, returns), returns is not None
        self._blank = [0] * len(types)

    def __call__(self, *given: Any, **named: int) -> Any:
        """What the function returns, if anything, and the arrays that were made; one alone as it is."""
        key = *[given[i].shape for i in self._arrays], *named.values()
        sizes, to_make, room_size = self._plans.get(key) or self._plan(key, given, named)
        passed, made = sizes.copy(), []
        for (place, kind, _), value in zip(self._given, given, strict=True):
            if kind is None:
                passed[place] = value
                continue
            if value.dtype is not kind and value.dtype != kind:
                raise _refused(value, kind, value.shape)
            try:
                passed[place] = _address_of(_octet_at(value))  # as `address` does, without a call
            except (TypeError, ValueError):
                passed[place] = address(value)
        for place, kind, shape in to_make:
            made.append(np.empty(shape, kind))
            passed[place] = address(made[-1])
        if self._room:
            room = np.empty(room_size + _LINE // 8)
            passed[self._room[0]] = -(-address(room) // _LINE) * _LINE
        answer = self._function(*passed)
        if self._returns:
            return (answer, *made) if made else answer
        return made[0] if len(made) == 1 else made

    def _plan(self, key: Any, given: tuple[Any, ...], named: dict[str, int]) -> Any:
        """The sizes to pass, the arrays to make and the room, once the shapes are what they must be."""
        sizes: dict[str, Any] = {**_LITERALS, **named}
        for i in self._arrays:
            _, kind, dims = self._given[i]
            parts = given[i].shape
            if dims[0] == "*" and len(parts) + 1 >= len(dims):
                leading = len(parts) + 1 - len(dims)
                parts = parts[:leading], *parts[leading:]
            fits = len(parts) == len(dims)
            for dim, part in zip(dims, parts, strict=False):
                fits = sizes.setdefault(dim, part) == part and fits
            if not fits:
                raise _refused(given[i], kind, _shape(dims, sizes))
        if min([sizes[dim] for dim in self._positive], default=1) < 1:
            raise ValueError(f"the kernel requires sizes of at least 1; it was given {[*key]}")
        passed = self._blank.copy()
        for place, dim in self._sizes:
            passed[place] = sizes[dim] if dim != "*" else math.prod(sizes[dim])
        to_make = [(place, kind, _shape(dims, sizes)) for place, kind, dims in self._made]
        asked = [sizes[dim] for dim in self._room[1]] if self._room else []
        counted = max(asked, default=0) < _MOST and math.prod(1 + size for size in asked) < _MOST_TOGETHER
        room = self._room[2](*asked) if asked and counted else 0
        if room < 0 or not counted:
            raise ValueError(f"the kernel does not take these sizes: {[*key]}")
        if len(self._plans) > _MOST_PLANS:
            self._plans.clear()
        plan = self._plans[key] = passed, to_make, room
        return plan


def _shape(dims: str, sizes: dict[str, Any]) -> tuple[Any, ...]:
    """The sizes of an array, as far as they are known, and the letters of the others."""
    shape = [sizes.get(dim, dim) for dim in dims]
    return (*shape[0], *shape[1:]) if dims[0] == "*" else tuple(shape)


def _function(name: str, arguments: list[Any], returns: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = ctypes.CFUNCTYPE(returns, *arguments)((f"bc_{name}_{VARIANT}", _library))
    return function


def _refused(array: Any, kind: Any, shape: tuple[Any, ...]) -> TypeError:
    wanted = str(shape).replace("'", "")
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


def _elementwise(name: str) -> Callable[[Any], Floats]:
    """A function of every number of an array, the same to the bit on every machine, to 0.6 units in the last place."""
    kernel = Kernel(name, "* x[*] >out[*]")

    def of(x: Any) -> Floats:
        out: Floats = kernel(np.ascontiguousarray(x, dtype=np.float64))
        return out.reshape(np.shape(x))

    return of


log, quick_log, log1p, exp, psi = map(_elementwise, ("log", "quick_log", "log1p", "exp", "psi"))
