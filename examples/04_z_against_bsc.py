"""Nearly equal capacities, rows far apart: why the gap alone does not measure how hard a choice is.

A channel that is almost a Z-channel meets a binary symmetric channel of almost the same capacity. As the Z-channel's
leak vanishes, so does the gap; yet the rows of the two channels drift apart without end, and the lower bound of
Theorem 4, which only sees the rows, stays at a handful of senses per nat. docs/reproduction.md has the picture.
"""

import math

import bestchannel as bc
from bestchannel.lower_bound.theorem4 import theorem4
from bestchannel.study.spec import bsc_of_capacity


def divergence(p: float, q: float) -> float:
    """D((p, 1-p) || (q, 1-q)), in nats."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


print("   leak        p  gap, bits  divergence, nats  Theorem 4, senses per nat")
for leak in (10.0**-power for power in range(1, 11)):
    nearly_z = bc.channels.binary_asymmetric(leak, 0.5)
    best = bc.capacity(nearly_z, tol=1e-13).lower
    p = bsc_of_capacity(best * (1 - leak))
    # relabelling a BSC exchanges p and 1-p, nothing else
    apart = min(max(divergence(a, leak), divergence(1 - a, 0.5)) for a in (p, 1 - p))
    senses = theorem4([nearly_z, bc.bsc(p)], 0, 0.1).sum_lower
    print(f"{leak:7.0e}  {p:.5f}  {best * leak:9.1e}  {apart:16.3f}  {senses:25.2f}")
