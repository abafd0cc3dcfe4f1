"""The compiled kernels: found beside this file, opened once, and called with arrays that were looked at before.

ctypes lets go of the interpreter's lock for the time of a call, so that threads run side by side.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

VARIANTS = ("baseline", "avx2", "avx512")
"""How wide the vectors are; all give the same bits. The variable BESTCHANNEL_VECTORS names the widest to use."""

FILE = {"win32": "kernels.dll", "darwin": "kernels.dylib"}.get(sys.platform, "kernels.so")

FLOAT, INTEGER, POINTER = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
_octet_at, _address_of = ctypes.c_char.from_buffer, ctypes.addressof  # looked up once: they are called a lot


def _opened() -> ctypes.CDLL:
    path = os.path.join(os.path.dirname(__file__), FILE)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"the compiled part of bestchannel cannot be loaded ({error}): install bestchannel again, for this machine"
        ) from None
    library.bc_widest.restype = INTEGER
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


def function(name: str, *arguments: Any, returns: Any = None) -> Callable[..., Any]:
    """The function bc_`name` of the library, which takes and returns these types of ctypes."""
    found: Callable[..., Any] = ctypes.CFUNCTYPE(returns, *arguments)((f"bc_{name}_{VARIANT}", _library))
    return found


def require_positive(*sizes: int) -> None:
    """Refuse a size below 1, for kernels that look at the first of something."""
    if min(sizes) < 1:
        raise ValueError(f"the kernel requires sizes of at least 1; it was given {sizes}")


def address(array: Any) -> int:
    """The address of an array that the caller has just made."""
    try:
        return _address_of(_octet_at(array))  # a third of the time that array.ctypes takes
    except (TypeError, ValueError):  # of what is read-only or empty
        return int(array.ctypes.data)


def _address_of_kind(kind: Any) -> Callable[..., int]:
    def checked(array: Any, *shape: int) -> int:
        """The address of a C-contiguous array of this shape; anything else is a mistake of the caller."""
        if array.dtype != kind or array.shape != shape or not array.flags.c_contiguous:
            raise TypeError(
                f"the kernel requires a C-contiguous array of {kind.name} of shape {shape}; it was given {array.dtype}"
                f" of shape {array.shape} with strides {array.strides}"
            )
        return address(array)

    return checked


floats, integers, octets = (_address_of_kind(np.dtype(kind)) for kind in (np.float64, np.int64, np.uint8))
