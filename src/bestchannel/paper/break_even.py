"""From how many channels on MedianChanEl is cheaper than NaiveChanSel, both as stated in [EBWGW24].

The counts are compared without ceilings and as logarithms, since the answer lies beyond the
range of doubles: k = 2^m with m in the thousands. Accuracies are in **nats**.

[EBWGW24] Egger, Bitar, Wachter-Zeh, Gündüz, Weinberger, "Maximal-Capacity Discrete
Memoryless Channel Identification".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from bestchannel.errors import InputError
from bestchannel.intervals.paper_bounds import C1, Rate
from bestchannel.paper.published import BINARY, published_fig2

MOST_DOUBLINGS = 20_000


def cost_ratios(epsilon: float, delta: float, *, rate: Rate = BINARY) -> Iterator[float]:
    """Senses of MedianChanEl over those of NaiveChanSel at k = 2, 4, 8, …, for ever.

    Σ_{r=1}^m 2^(1-r) N(ε_r, δ_r/3) / N(ε, δ/2^(m+1)) at k = 2^m, with N(ε, α) = 4c₁ g/ε² log²(4 t̃ g/ε²),
    ε_r = (3/4)^(r-1) ε/4 and δ_r = δ/2^r [EBWGW24, Sec. V].

    >>> ratios = cost_ratios(0.1, 0.1)
    >>> [round(next(ratios), 1) for _ in range(3)]
    [26.6, 47.6, 64.8]
    """
    median = 0.0
    m = 0
    while True:
        m += 1
        log_epsilon = math.log(epsilon / 4) + (m - 1) * math.log(0.75)
        log_inverse_alpha = math.log(3 / delta) + m * math.log(2)
        median += math.exp(log_senses(log_epsilon, log_inverse_alpha, rate) - (m - 1) * math.log(2))
        yield median / math.exp(log_senses(math.log(epsilon), math.log(2 / delta) + m * math.log(2), rate))


def break_even(epsilon: float, delta: float, *, rate: Rate = BINARY) -> int:
    """log₂ k of the smallest power of two from which MedianChanEl costs no more than NaiveChanSel."""
    for m, ratio in zip(range(1, MOST_DOUBLINGS + 1), cost_ratios(epsilon, delta, rate=rate), strict=False):
        if ratio <= 1:
            return m
    raise InputError(f"MedianChanEl still costs more than NaiveChanSel at k = 2^{MOST_DOUBLINGS}")


def published_break_even(epsilon: float, delta: float) -> int:
    """The smallest k > 2 at which the formula published for MedianChanEl gives no more than that for NaiveChanSel.

    At k = 2 both have two estimates to make, and MedianChanEl's share of δ is the larger one.

    >>> published_break_even(0.1, 0.1)
    57
    """
    k = 3
    while published_fig2("median", epsilon, delta, k) > published_fig2("naive", epsilon, delta, k):
        k += 1
    return k


def log_senses(log_epsilon: float, log_inverse_alpha: float, rate: Rate) -> float:
    """log N(ε, α) from log ε and log 1/α, without the ceiling; for channels whose input is not fixed."""
    level = math.log(rate.n_inputs) + log_inverse_alpha
    log_ratio = math.log(16 * rate.n_inputs * rate.n_outputs * level) - 2 * log_epsilon
    log_t = (2 + math.log(rate.n_outputs / (rate.n_inputs * level))) / 5
    return math.log(C1) + log_ratio + 2 * math.log(math.log(25 / 4) + log_t + log_ratio)
