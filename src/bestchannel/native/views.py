"""What counts suggest of many channels of one size: the kernels of `policies.adaptive.view`."""

from __future__ import annotations

from typing import NamedTuple

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import Kernel

_smoothed_rows = Kernel("smoothed_rows", "* m counts[*m]i8 >W[*m] >senses[*]")
_view = Kernel(
    "view",
    "c n m W[cnm] P[cn] senses[cn] costs[cn] on_leader. on_rival."
    " >values[c] >variances[c] >deviations[cn] >shares[2cn] >unit_variances[2c] >space[s]",
)


def smoothed_rows(counts: Integers) -> tuple[Floats, Floats]:
    """The rows [c, x, y] that counts [c, x, y] suggest, with one sense shared by all outputs; and the senses [c, x]."""
    W, senses = _smoothed_rows(counts)
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
    return Estimates(*_view(W, P, senses, costs, *evenly, s=W.shape[1] + W.shape[2])[:5])
