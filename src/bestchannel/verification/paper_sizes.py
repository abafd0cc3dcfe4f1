"""How often the paper's algorithms must sense each candidate, in doubles; accuracies in nats [EBWGW24].

All sizes are built on N(ε, α) = 4 c₁ g/ε² log²(4 t̃ g/ε²), c₁ = 15·25/4, t̃ = (25/4) t, with

g(α) = 4|X||Y| log(|X|/α), or 2(3|X|+2)² log(4/α) at a fixed input distribution (Remark 1), and
t(α) = (|Y| e² / (|X| log(|X|/α)))^(1/5).
"""

from __future__ import annotations

import math
from collections.abc import Callable

C1 = 15.0 * 25.0 / 4.0

LEAST = 5e-324
"""The smallest double: a level must not become 0."""

Size = Callable[[int, int, bool], float]
"""Senses of a channel with so many inputs and outputs; whether the input distribution is fixed."""


def _g(n_inputs: int, n_outputs: int, fixed: bool, alpha: float) -> float:
    if fixed:
        return 2.0 * (3.0 * n_inputs + 2.0) ** 2 * math.log(4.0 / alpha)
    return 4.0 * n_inputs * n_outputs * math.log(n_inputs / alpha)


def _rounds_size(n_inputs: int, n_outputs: int, fixed: bool, epsilon: float, alpha: float) -> float:
    """N(ε, α)."""
    ratio = 4.0 * _g(n_inputs, n_outputs, fixed, alpha) / epsilon / epsilon
    t = (n_outputs * math.e**2 / (n_inputs * math.log(n_inputs / alpha))) ** 0.2
    return C1 * ratio * math.log(6.25 * t * ratio) ** 2


def best_chan_id_accuracy(round_number: int) -> float:
    """ε_r = 2^(-r)/4 [EBWGW24, Alg. 1]."""
    return 0.25 * 0.5**round_number


def best_chan_id_level(round_number: int, delta: float) -> float:
    """δ_r = δ/(50 r³) [EBWGW24, Alg. 1]."""
    return max(delta / (50.0 * round_number**3), LEAST)


def best_chan_id_size(round_number: int, delta: float) -> Size:
    """n_r = N(ε_r, δ_r) [EBWGW24, Sec. IV]."""
    accuracy, level = best_chan_id_accuracy(round_number), best_chan_id_level(round_number, delta)
    return lambda X, Y, fixed: _rounds_size(X, Y, fixed, accuracy, level)


def naive_size(epsilon: float, delta: float, n_channels: int) -> Size:
    """max{N(ε, α), 2g(α)/ε} at α = δ/(2k) [EBWGW24, Sec. V]."""
    alpha = max(delta / (2.0 * n_channels), LEAST)
    return lambda X, Y, fixed: max(_rounds_size(X, Y, fixed, epsilon, alpha), 2.0 * _g(X, Y, fixed, alpha) / epsilon)


def median_size(epsilon_r: float, delta_r: float) -> Size:
    """max{N(ε_r, α), 2g(α)/ε_r²} at α = δ_r/3 [EBWGW24, Sec. V]."""
    alpha = max(delta_r / 3.0, LEAST)
    return lambda X, Y, fixed: max(
        _rounds_size(X, Y, fixed, epsilon_r, alpha), 2.0 * _g(X, Y, fixed, alpha) / epsilon_r / epsilon_r
    )
