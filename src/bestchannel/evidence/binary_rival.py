"""Evidence against rivals with two inputs and two outputs, by likelihood: the rows are few enough to be searched.

The likelihood of all rows v that make the rival as good as supposed is compared with that of a
mixture of rows. For binary rivals it wins against the plug-in value of `evidence.leader_bets`: nothing is lost
in the variance, and no more than half a logarithm per row for not knowing the rows.
"""

from __future__ import annotations

import math

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.compiled import Kernels

kernels = Kernels("bestchannel.evidence.binary_rival_kernels", seconds=5)

SHARE_OF_ALL = 0.1
"""Of the stake: the part that is held against all senses of the rival, not just those since the bets began."""

ANY_INPUT = -1.0
"""Stands for the probability of input 1 where it is not fixed."""


def likelihood_evidence(counts: Floats, starts: Floats, weights: Floats, fixed_input: float = ANY_INPUT) -> Floats:
    """The rival's part of the evidence, in nats and from below, for counts[r, x, y] and weights s[r].

    min over v of log(KT / prod v^n) - s f(v), where KT is the probability that a mixture gives to the
    counts: the Krichevsky-Trofimov mixture of all counts (with `SHARE_OF_ALL` of the stake), or of the counts
    since `starts`, its predictions begun from those.

    >>> counts = np.array([[[80.0, 20.0], [30.0, 70.0]]])
    >>> float(likelihood_evidence(counts, counts / 10, np.zeros(1))[0]) < 0.0  # at weight 0, what not knowing v costs
    True
    """
    nats = np.empty(len(counts))
    shares = math.log(SHARE_OF_ALL), math.log1p(-SHARE_OF_ALL)
    kernels().likelihood_evidence(counts, starts, weights, fixed_input, *shares, nats)
    return nats


def balanced_rates(
    counts: Floats, weights: Floats, leader_senses: float, rates: Floats, levels: Floats, fixed_input: float = ANY_INPUT
) -> Floats:
    """For every rival the rate σ that pushes leader and rival to the same value, that value, and its cost.

    Bets of weight σ for each of the leader's senses push it down to a level, levels[i] at rates[i]
    (levels fall as rates rise). The rival, with counts[r] and weight s[r] + σ leader_senses, is pushed up. Evidence is
    largest where both come to the same value; the third number is what the rival's counts charge for it, in nats.
    """
    met = np.empty((len(counts), 3))
    kernels().balanced_rates(counts, weights, leader_senses, rates, levels, fixed_input, met)
    return met
