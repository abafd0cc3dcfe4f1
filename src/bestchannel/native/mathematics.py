"""Logarithm and exponential that are the same to the bit on every machine, to 0.6 units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.native.library import Kernel


def _elementwise(name: str) -> Any:
    kernel = Kernel(name, "* x[*] >out[*]")

    def of(x: Any) -> Floats:
        out: Floats = kernel(np.ascontiguousarray(x, dtype=np.float64))
        return out.reshape(np.shape(x))

    return of


log = _elementwise("log")
quick_log = _elementwise("quick_log")
log1p = _elementwise("log1p")
exp = _elementwise("exp")
psi = _elementwise("psi")
