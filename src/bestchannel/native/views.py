"""What counts suggest of many channels of one size: the kernels of `policies.adaptive.view`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import FLOAT, INTEGER, POINTER, floats, function, integers

_smoothed_rows = function("smoothed_rows", *[INTEGER] * 2, *[POINTER] * 3)
_view = function("view", *[INTEGER] * 3, *[POINTER] * 4, FLOAT, FLOAT, *[POINTER] * 6)


def smoothed_rows(counts: Integers) -> tuple[Floats, Floats]:
    """The rows [c, x, y] that counts [c, x, y] suggest, with one sense shared by all outputs; and the senses [c, x]."""
    cases, n, m = counts.shape
    W, senses = np.empty((cases, n, m)), np.empty((cases, n))
    _smoothed_rows(
        cases * n, m, integers(counts, cases, n, m), floats(W, cases, n, m), floats(senses, cases, n)
    )  # fmt: skip
    return W, senses


class Estimates(NamedTuple):
    """Of every channel c: its value, the variance of that, the deviations of its inputs, and how to spread senses."""

    values: Floats  # [c]
    variances: Floats  # [c]
    deviations: Floats  # [c, x]
    shares: Floats  # [as leader or as rival, c, x]
    unit_variances: Floats  # [as leader or as rival, c] of the value, times the number of senses


def estimates(W: Floats, P: Floats, senses: Floats, costs: Floats, evenly: tuple[float, float]) -> Estimates:
    """For the rows W [c, x, y], and P, senses and costs of a sense [c, x]; a part of them is spread evenly."""
    cases, n, m = W.shape
    found = Estimates(
        np.empty(cases), np.empty(cases), np.empty((cases, n)), np.empty((2, cases, n)), np.empty((2, cases))
    )
    room = np.empty(n + m)
    _view(
        cases, n, m, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n), floats(costs, cases, n),
        *evenly, floats(found.values, cases), floats(found.variances, cases), floats(found.deviations, cases, n),
        floats(found.shares, 2, cases, n), floats(found.unit_variances, 2, cases), floats(room, n + m),
    )  # fmt: skip
    return found
