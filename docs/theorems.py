"""What Theorems 1 to 3 of [EBWGW24] say of the cost of its policies, and from which k on MedianChanEl is the cheaper.

`theorem_1_order` and its siblings are what stands inside O(·), without its constant. `theorem_1_bound` and its siblings
carry the constants of the proofs: no run costs more as long as no estimate errs by more than its share. `break_even`
compares NaiveChanSel and MedianChanEl. Gaps and accuracies are in **nats**.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, islice

from bestchannel.arrays import number_in
from bestchannel.errors import InputError
from bestchannel.intervals.paper_bounds import C1, Rate, best_chan_id_delta, best_chan_id_epsilon
from bestchannel.paper import BINARY

MOST_DOUBLINGS = 20_000
"""Of the number of channels, within which MedianChanEl must become cheaper."""

ROUNDS_AFTER, HALVINGS = 64, 400
"""Terms kept of the sums in the proofs of Theorems 1 and 3. They fall like 2^-r r³ and (8/9)^r r³: less than 1e-12
of a sum is left out, far less than its bound exceeds what it bounds."""


def theorem_1_order(gaps_nats: Sequence[float], delta: float, *, n_inputs: int = 1, n_outputs: int = 1) -> float:
    """How the cost of BestChanID grows, without its constant [EBWGW24, Thm. 1].

    |X||Y| Σ_j Δ_j⁻² A_j (log² A_j + log² Δ_j⁻¹) with A_j = log((1/δ) log Δ_j⁻¹).

    `gaps_nats` are the gaps of all channels; the best one counts with the gap of its nearest rival. The theorem hides
    the factor |X||Y|. Logarithms that would fall below 1 count as 1, so that large gaps and large δ have a value.
    """

    def term(gap: float) -> float:
        inverse = _log_at_least_1(1 / gap)
        level = _log_at_least_1(inverse / delta)
        return level * (math.log(level) ** 2 + inverse**2) / gap**2

    return n_inputs * n_outputs * sum(map(term, _effective_gaps(gaps_nats)))


def theorem_2_order(
    n_channels: int, epsilon_nats: float, delta: float, *, n_inputs: int = 1, n_outputs: int = 1
) -> float:
    """How the cost of NaiveChanSel grows, without its constant [EBWGW24, Thm. 2].

    |X||Y| k ε⁻² A log²(ε⁻² A) with A = log(k/δ); the theorem hides |X||Y|.
    """
    return _pac_order(n_channels, epsilon_nats, n_channels / delta, n_inputs * n_outputs)


def theorem_3_order(
    n_channels: int, epsilon_nats: float, delta: float, *, n_inputs: int = 1, n_outputs: int = 1
) -> float:
    """How the cost of MedianChanEl grows, without its constant [EBWGW24, Thm. 3].

    |X||Y| k ε⁻² A log²(ε⁻² A) with A = log(1/δ); the theorem hides |X||Y|.
    """
    return _pac_order(n_channels, epsilon_nats, 1 / delta, n_inputs * n_outputs)


def _pac_order(n_channels: int, epsilon: float, odds: float, n_cells: int) -> float:
    level = _log_at_least_1(odds)
    return n_cells * n_channels * level * _log_at_least_1(level / epsilon**2) ** 2 / epsilon**2


def _log_at_least_1(value: float) -> float:
    return max(1.0, math.log(value))


def theorem_1_bound(gaps_nats: Sequence[float], delta: float, rate: Rate, *, subroutine: str = "naive") -> float:
    """Senses that BestChanID does not exceed with probability 1-δ, constants included [EBWGW24, proof of Thm. 1].

    2 Σ_j ( Σ_{r<s_j} m_r + Σ_{r≥0} 8⁻ʳ m_{r+s_j} ) over the rivals j, with s_j = max(1, ⌈log₂ Δ_j⁻¹⌉)
    and m_r = n_r + (senses of one candidate in the subroutine of round r).

    A rival with 2^-s ≤ Δ_j < 2^(1-s) may stay through round s; then its class shrinks to an eighth per round [KKS13,
    Lemma 3.4]. A round has at least as many rivals as best channels, hence the 2. The proof writes 8^-(r+1), an eighth
    already in round s, leaves the best channel out, and drops the subroutine as of the same order; here all three
    count.
    """
    rivals = _effective_gaps(gaps_nats)
    rivals.remove(min(rivals))
    cost = cache(lambda r: _round_cost(r, delta, rate, subroutine, len(gaps_nats)))

    def cost_of_class(s: int) -> float:
        tail = math.fsum(math.ldexp(cost(r + s), -3 * r) for r in range(ROUNDS_AFTER))
        return math.fsum(map(cost, range(1, s))) + tail

    classes = Counter(max(1, math.ceil(-math.log2(gap))) for gap in rivals)
    return 2 * math.fsum(size * cost_of_class(s) for s, size in classes.items())


def _round_cost(r: int, delta: float, rate: Rate, subroutine: str, n_channels: int) -> float:
    """Senses of one candidate in round r of BestChanID, its share of the subroutine included."""
    epsilon_r, delta_r = best_chan_id_epsilon(r), best_chan_id_delta(r, delta)
    pac = _naive_share(n_channels, epsilon_r / 2, delta_r, rate)
    if subroutine == "median":
        pac = _median_share(epsilon_r / 2, delta_r, rate)
    # a ceiling adds less than 1 to each count, and the even split over the inputs less than |X|
    return _formula(epsilon_r, delta_r, rate) + pac + 2 * (1 + rate.n_inputs)


def theorem_2_bound(n_channels: int, epsilon_nats: float, delta: float, rate: Rate) -> float:
    """Senses that NaiveChanSel does not exceed, for ε ≤ 2 nats [EBWGW24, proof of Thm. 2].

    T ≤ 4c₁ k g/ε² log²(4 t̃ k g/ε²) with g and t̃ at δ/(2k).
    """
    return n_channels * _naive_share(n_channels, epsilon_nats, delta, rate, inside=n_channels)


def theorem_3_bound(n_channels: int, epsilon_nats: float, delta: float, rate: Rate) -> float:
    """Senses that MedianChanEl does not exceed, for ε ≤ 4 nats [EBWGW24, proof of Thm. 3].

    T ≤ (128c₁ k/ε²) Σ_{r≥1} (8/9)^(r-1) g_r log²(4 t̃_r g_r/ε_r²) with g_r and t̃_r at δ/(3·2ʳ).

    Twice the sum in the proof: it divides k by 2 without remainder, while ⌈k/2ʳ⌉ channels stay.
    """
    return n_channels * _median_share(epsilon_nats, delta, rate)


def _naive_share(n_channels: int, epsilon: float, delta: float, rate: Rate, *, inside: float = 1.0) -> float:
    return _formula(epsilon, delta / (2 * n_channels), rate, inside=inside)


def _median_share(epsilon: float, delta: float, rate: Rate) -> float:
    # 2 · 2^(1-r) N(ε_r, δ_r/3): with ε_r = (3/4)^(r-1) ε/4 a term of the sum above
    rounds = range(1, HALVINGS + 1)
    terms = (2.0 ** (2 - r) * _formula(epsilon / 4 * 0.75 ** (r - 1), delta / 3 * 2.0**-r, rate) for r in rounds)
    return math.fsum(terms)


def _formula(epsilon: float, alpha: float, rate: Rate, *, inside: float = 1.0) -> float:
    """4c₁ g/ε² log²(4 t̃ g/ε²) at α, in doubles, with a factor `inside` the logarithm."""
    ratio = 4 * float(rate.g(alpha)) / epsilon**2
    return C1 * ratio * math.log(inside * float(rate.t_tilde(alpha)) * ratio) ** 2


def _effective_gaps(gaps_nats: Sequence[float]) -> list[float]:
    """The gaps, the best channel's 0 replaced by the smallest of its rivals'."""
    gaps = [number_in(gap, f"gap {j} (nats)", low=0.0, high=1e300, low_open=False) for j, gap in enumerate(gaps_nats)]
    if sum(gap == 0.0 for gap in gaps) != 1 or len(gaps) < 2:
        raise InputError(f"the gaps of two channels or more must have exactly one 0, the best channel's; got {gaps}")
    smallest = min(gap for gap in gaps if gap > 0.0)
    return [gap or smallest for gap in gaps]


def cost_ratios(epsilon: float, delta: float, *, rate: Rate = BINARY) -> Iterator[float]:
    """Senses of MedianChanEl over those of NaiveChanSel at k = 2, 4, 8, …, for ever, both as stated, without ceilings.

    Σ_{r=1}^m 2^(1-r) N(ε_r, δ_r/3) / N(ε, δ/2^(m+1)) at k = 2^m, with N(ε, α) = 4c₁ g/ε² log²(4 t̃ g/ε²),
    ε_r = (3/4)^(r-1) ε/4 and δ_r = δ/2^r [EBWGW24, Sec. V].

    >>> ratios = cost_ratios(0.1, 0.1)
    >>> [round(next(ratios), 1) for _ in range(3)]
    [26.6, 47.6, 64.8]
    """
    median = 0.0
    for m in count(1):
        log_epsilon = math.log(epsilon / 4) + (m - 1) * math.log(0.75)
        log_inverse_alpha = math.log(3 / delta) + m * math.log(2)
        median += math.exp(log_senses(log_epsilon, log_inverse_alpha, rate) - (m - 1) * math.log(2))
        yield median / math.exp(log_senses(math.log(epsilon), math.log(2 / delta) + m * math.log(2), rate))


def break_even(epsilon: float, delta: float, *, rate: Rate = BINARY) -> int:
    """log₂ k of the smallest power of two from which MedianChanEl costs no more than NaiveChanSel."""
    for m, ratio in enumerate(islice(cost_ratios(epsilon, delta, rate=rate), MOST_DOUBLINGS), start=1):
        if ratio <= 1:
            return m
    raise InputError(f"MedianChanEl still costs more than NaiveChanSel at k = 2^{MOST_DOUBLINGS}")


def log_senses(log_epsilon: float, log_inverse_alpha: float, rate: Rate) -> float:
    """log N(ε, α) from log ε and log 1/α, without the ceiling; the counts that meet are beyond the range of doubles."""
    level = math.log(rate.n_inputs) + log_inverse_alpha
    log_ratio = math.log(16 * rate.n_inputs * rate.n_outputs * level) - 2 * log_epsilon
    log_t = (2 + math.log(rate.n_outputs / (rate.n_inputs * level))) / 5
    return math.log(C1) + log_ratio + 2 * math.log(math.log(25 / 4) + log_t + log_ratio)
