"""The sample sizes and the confidence bound of [EBWGW24], in the paper's unit: **nats**.

Whoever shows one to a person converts it first. Numbers of senses are Python integers: the formulas are evaluated with
enough decimal digits that a ceiling is the ceiling of the formula at the given doubles, also beyond 2^53.

[EBWGW24] Egger, Bitar, Wachter-Zeh, Gündüz, Weinberger, "Maximal-Capacity Discrete Memoryless Channel Identification".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import TypeVar

import numpy as np

from bestchannel.arrays import Floats, number_in
from bestchannel.errors import InputError

C1 = 15 * 25 / 4  # the constant c₁ of [EBWGW24, Lemma 3]
Number = TypeVar("Number", float, Floats, Decimal)
"""One formula serves doubles, arrays of them, and decimals of any length."""


@dataclass(frozen=True)
class Rate:
    """How fast the estimated capacity of an n_inputs x n_outputs channel settles (nats).

    The bound and all sample sizes of the paper are built on g(α) and t(α). With `fixed_input` the estimated quantity is
    I(P; W) at one known input distribution P, and g̃ takes the place of g everywhere [EBWGW24, Remark 1]; the source of
    g̃ treats independent draws of both letters, so for senses whose inputs are planned it is stated, not proved.

    >>> Rate(2, 2).required_senses(0.1, 0.05)
    62814500
    """

    n_inputs: int
    n_outputs: int
    fixed_input: bool = False

    def __post_init__(self) -> None:
        if self.n_inputs < 2 or self.n_outputs < 2:
            raise InputError(
                "the paper's bounds require at least 2 inputs and 2 outputs;"
                f" got {self.n_inputs} and {self.n_outputs} (such a channel has capacity 0 and needs no sense)"
            )

    @property
    def trivial_bound(self) -> float:
        """The largest capacity there is, and so the largest deviation: log min(|X|, |Y|), in nats."""
        return math.log(min(self.n_inputs, self.n_outputs))

    def g(self, alpha: Number) -> Number:
        """The scale of the squared deviation: ε² n is about this, up to logarithms (nats²).

        g(α) = 4|X||Y| log(|X|/α) [EBWGW24, Sec. III], or g̃(α) = 2(3|X|+2)² log(4/α) [EBWGW24, Remark 1].
        """
        if self.fixed_input:
            return 2 * (3 * self.n_inputs + 2) ** 2 * _log(4 / alpha)
        return 4 * self.n_inputs * self.n_outputs * _log(self.n_inputs / alpha)

    def t(self, alpha: Number) -> Number:
        """The factor of n inside the logarithm of ε(n, α), the same with `fixed_input`.

        t(α) = (|Y| e² / (|X| log(|X|/α)))^(1/5) [EBWGW24, Sec. III].
        """
        return _exp((2 + _log(self.n_outputs / (self.n_inputs * _log(self.n_inputs / alpha)))) / 5)

    def t_tilde(self, alpha: Number) -> Number:
        """The factor inside the logarithm of the sample sizes: t̃(α) = (25/4) t(α) [EBWGW24, Sec. III]."""
        return 25 * self.t(alpha) / 4

    def deviation(self, n: float | Floats, alpha: float | Floats) -> Floats:
        """The error of Ĉ that n senses keep with probability 1-α, in nats.

        ε(n, α) = (5/4)√g(α) log(n t(α))/√n + g(α)/n [EBWGW24, Prop. 1], which is proved for n >= 2|Y| senses spread
        evenly over the inputs, and here evaluated at any n > 0. `n` and `alpha` broadcast.
        """
        level = np.asarray(alpha, dtype=np.float64)
        return _deviation(np.asarray(n, dtype=np.float64), self.g(level), self.t(level))

    def clipped_deviation(self, n: float | Floats, alpha: float | Floats) -> Floats:
        """The error of Ĉ that any number n of senses keeps with probability 1-α, in nats.

        min{ε(n, α), log min(|X|, |Y|)}, and for n < 2|Y| the latter alone: the proof of [EBWGW24, Prop. 1] keeps
        output probabilities above η = 1/n, and its Lemma 1 allows no more than η = 1/(2|Y|).
        """
        senses = np.asarray(n, dtype=np.float64)
        proved = np.maximum(senses, 2 * self.n_outputs)
        bound = np.minimum(self.deviation(proved, alpha), self.trivial_bound)
        return np.where(senses < 2 * self.n_outputs, self.trivial_bound, bound)

    def required_senses(self, epsilon: float, alpha: float) -> int:
        """Senses after which Ĉ errs by more than ε nats with probability at most α.

        n = ⌈max{c₁ g/ε² log²(t̃ g/ε²), 2g/ε}⌉ [EBWGW24, Lemma 3]. `smallest_senses` makes the same promise with about
        30 times fewer.
        """
        with _exactly(epsilon, alpha) as (accuracy, level):
            return math.ceil(max(self._lemma_3(accuracy, level, 2), 2 * self.g(level) / accuracy))

    def smallest_senses(self, epsilon: float, alpha: float) -> int:
        """The smallest n >= 2|Y| with ε(m, α) <= ε (nats) for m = n and every m > n [EBWGW24, Prop. 1]."""
        with _exactly(epsilon, alpha) as (accuracy, level):
            g, t = self.g(level), self.t(level)
            low = high = 2 * self.n_outputs
            # ε(n, α) falls for all n > 0: in s = n^(-1/2) its slope is least at s = 5/(4√g), where it has the
            # sign of log(16 g t/25), and g t > 25/16 for |X|, |Y| >= 2 and α <= 1.
            while _deviation(Decimal(high), g, t) > accuracy:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _deviation(Decimal(middle), g, t) > accuracy else (low, middle)
        return high

    def round_senses(self, epsilon: float, alpha: float, *, log_power: int = 2) -> int:
        """Senses of each channel when two estimates share the accuracy ε, half each (nats).

        N(ε, α, p) = ⌈4c₁ g/ε² logᵖ(4 t̃ g/ε²)⌉, p = `log_power` [EBWGW24, Sec. IV]. Every algorithm of the paper takes
        its n_r from this formula; p is 2 in the text, 1 in parts of the published figures.
        """
        with _exactly(epsilon, alpha) as (accuracy, level):
            return math.ceil(self._lemma_3(accuracy / 2, level, log_power))

    def _lemma_3(self, epsilon: Decimal, alpha: Decimal, log_power: int) -> Decimal:
        """c₁ g/ε² logᵖ(t̃ g/ε²): the first argument of the maximum in [EBWGW24, Lemma 3] for p = 2."""
        ratio = self.g(alpha) / epsilon**2
        return Decimal(C1) * ratio * _log(self.t_tilde(alpha) * ratio) ** log_power


def tv_radius(n: float | Floats, alpha: float | Floats, n_outputs: int) -> Floats:
    """How far n draws leave the empirical distribution from the true one, with probability 1-α.

    Σ_y |P̂(y) - P(y)| ≤ √((|Y|-1)/n) + √(2 log(1/α)/n). The first term bounds the mean, the second is McDiarmid's: one
    of n draws moves the sum by 2/n, twice what the empirical total variation lemma of [EBWGW24, App. B] allows for.
    """
    draws = np.asarray(n, dtype=np.float64)
    return np.sqrt((n_outputs - 1) / draws) + np.sqrt(2 * np.log(1 / np.asarray(alpha, dtype=np.float64)) / draws)


def best_chan_id_epsilon(round_number: int) -> float:
    """The accuracy of BestChanID's round r = 1, 2, …: ε_r = 2^(-r)/4 nats [EBWGW24, Alg. 1]."""
    return math.ldexp(0.25, -round_number)


def best_chan_id_delta(round_number: int, delta: float) -> float:
    """The error probability of BestChanID's round r: δ_r = δ/(50 r³) [EBWGW24, Alg. 1]."""
    return delta / (50 * round_number**3)


def best_chan_id_senses(round_number: int, delta: float, rate: Rate) -> int:
    """Senses of each candidate in round r of BestChanID: n_r = N(ε_r, δ_r, 2) [EBWGW24, Sec. IV]."""
    return rate.round_senses(best_chan_id_epsilon(round_number), best_chan_id_delta(round_number, delta))


def naive_senses(epsilon: float, delta: float, n_channels: int, rate: Rate) -> int:
    """Senses of each of k channels in NaiveChanSel (ε in nats).

    n = max{N(α), ⌈2g(α)/ε⌉} with N(α) = N(ε, α, 2) and α = δ/(2k) [EBWGW24, Sec. V]. An error of ε/2 requires 4g/ε for
    the second argument; the first exceeds both.
    """
    alpha = delta / (2 * n_channels)
    with _exactly(epsilon, alpha) as (accuracy, level):
        linear = math.ceil(2 * rate.g(level) / accuracy)
    return max(rate.round_senses(epsilon, alpha), linear)


def median_senses(epsilon_r: float, delta_r: float, rate: Rate) -> int:
    """Senses of each candidate in a round of MedianChanEl (ε_r in nats).

    n_r = max{N(ε_r, α, 2), ⌈2g(α)/ε_r²⌉} with α = δ_r/3 [EBWGW24, Sec. V]. The second argument is the printed one; an
    error of ε_r/2 requires 4g/ε_r, and the first argument exceeds both.
    """
    alpha = delta_r / 3
    with _exactly(epsilon_r, alpha) as (accuracy, level):
        quadratic = math.ceil(2 * rate.g(level) / accuracy**2)
    return max(rate.round_senses(epsilon_r, alpha), quadratic)


def _deviation(n: Number, g: Number, t: Number) -> Number:
    """(5/4)√g log(n t)/√n + g/n [EBWGW24, Prop. 1]."""
    return 5 * _sqrt(g) * _log(n * t) / (4 * _sqrt(n)) + g / n


@contextmanager
def _exactly(epsilon: float, alpha: float) -> Iterator[tuple[Decimal, Decimal]]:
    """Both as decimals, with 60 digits more than 1/ε² has, so that a count of that size keeps its fraction."""
    accuracy = Decimal(number_in(epsilon, "epsilon (nats)", low=0.0, high=sys.float_info.max))
    level = Decimal(number_in(alpha, "the error probability", low=0.0, high=1.0))
    with localcontext(Context(prec=60 + 2 * max(0, -accuracy.adjusted()))):
        yield accuracy, level


def _log(value: Number) -> Number:
    return value.ln() if isinstance(value, Decimal) else np.log(value)


def _exp(value: Number) -> Number:
    return value.exp() if isinstance(value, Decimal) else np.exp(value)


def _sqrt(value: Number) -> Number:
    return value.sqrt() if isinstance(value, Decimal) else np.sqrt(value)
