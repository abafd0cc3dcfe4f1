"""How many senses are still needed, and where: the sampling rule of `Adaptive`."""

from __future__ import annotations

import numpy as np

from bestchannel.arrays import Floats


def remaining_senses(
    gaps: Floats, needed: Floats, leader_variance: float, rival_variances: Floats
) -> tuple[float, Floats]:
    """The fewest further senses of the leader and of each rival after which every rival should be ruled out.

    After n senses of the leader and n_a of a rival, evidence grows to about
    Δ_a² / (2 (v/n + v_a/n_a)); it must reach needed[a]. Given n, each n_a follows;
    the best n is looked for on a grid.
    """
    evidence = gaps**2 / (2.0 * needed)
    least = leader_variance / evidence.min()
    leader = least * (1.0 + np.geomspace(0.02, 50.0, 60))
    rivals = rival_variances / (evidence - leader_variance / leader[:, None])
    best = int(np.argmin(leader + rivals.sum(axis=1)))
    return float(leader[best]), rivals[best]


def spread_over_inputs(total: float, shares: Floats) -> tuple[int, ...]:
    """`total` senses in proportion to the shares, a tenth of them evenly, at least one of each input."""
    mixed = 0.9 * shares / max(shares.sum(), 1e-300) + 0.1 / len(shares)
    return tuple(int(n) for n in np.maximum(np.rint(total * mixed), 1.0))
