"""The leader's part of the evidence: what bets on its senses have brought, in nats and from below.

Whatever P, V > 0, ν and s are, with g_x = log(V_x/PV) and N_x senses of input x, a bet that multiplies by
e^h = (ν_x + s P_x g_x(y))/N_x at each sense and divides by e^k, k = sum_x max_y (N_x (e^h - 1) - s P_x g_x(y)), wins
nothing on average against s f(W_b): docs/theory/adaptive.md, "The leader's part".
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct, convert

from bestchannel.record import Number
from bestchannel.verification.record import Floats, Integers, NotValidError, floats, reading

ROUNDING = 1e-13
"""Relative to the sum of all terms without their signs, by which what was paid is lowered."""

LEAST_ROW = 1e-200
"""No entry of V may be smaller: numbers near 1e-308 lose their digits, and with them log(V/PV) its proof."""

AGREEMENT = 1e-6
"""How closely, relatively, a multiplier must be the root that it is said to be."""


class Bet(Struct, frozen=True):
    """What was staked against one rival in one request: on its own senses and on the leader's."""

    since: Annotated[int, Meta(le=2**53)]  # the request with which these bets began
    restarts: Annotated[int, Meta(le=2**53)]
    weight: Number  # s
    tilts: Floats  # ω[x] of the rival
    outputs: Floats  # Q[y] of the rival
    auxiliary: Floats  # V[x, y]
    multipliers: Floats  # ν[x]


class Stakes(Struct, frozen=True):
    """All that Adaptive stakes on the answer to a request."""

    leader: str
    input: Floats  # P
    bets: dict[str, Bet]  # by rival


def stakes_of(stated: object) -> Stakes:
    """The stakes in a record, or an `InputError`."""
    with reading():
        return convert(stated, Stakes, dec_hook=lambda _, value: floats(value))


def paid_nats(bet: Bet, inputs: Floats, counts: Integers, where: str) -> float:
    """sum n(x, y) h_x(y) - k for the leader's counts."""
    _check_numbers(bet, inputs, counts, where)
    senses = counts.sum(axis=1).astype(np.float64)[:, None]
    stakes = _stakes(bet, inputs)
    gross = np.broadcast_to(bet.multipliers[:, None] + stakes, counts.shape)
    used = senses[:, 0] > 0.0
    if (gross[used] <= 0.0).any():
        raise NotValidError(f"a bet must pay something whatever the answer; its multipliers are too small {where}")
    wealth = gross[used] / senses[used]
    won = counts[used] * np.log(wealth)
    price = np.concatenate([(senses[used] * (wealth - 1.0) - stakes[used]).max(axis=1), (-stakes[~used]).max(axis=1)])
    size = float(np.abs(won).sum() + senses.sum() + np.abs(stakes).sum() + np.abs(gross).sum())
    return math.fsum(won.ravel()) - math.fsum(price) - ROUNDING * size


def _check_numbers(bet: Bet, inputs: Floats, counts: Integers, where: str) -> None:
    n_inputs, n_outputs = counts.shape
    shapes = inputs.shape, bet.multipliers.shape, bet.auxiliary.shape
    if shapes != ((n_inputs,), (n_inputs,), (n_inputs, n_outputs)):
        raise NotValidError(
            f"a bet must have the leader's inputs and outputs; its numbers have the shapes {shapes} {where}"
        )
    if (inputs < 0.0).any() or abs(inputs.sum() - 1.0) > 1e-9:
        raise NotValidError(f"the input distribution of a bet must sum to 1; it is {inputs.tolist()} {where}")
    if not (bet.auxiliary >= LEAST_ROW).all():
        wanted = f"at least {LEAST_ROW:g}"
        raise NotValidError(f"the auxiliary rows of a bet must be {wanted}; they are {bet.auxiliary.tolist()} {where}")
    if not bet.weight > 0.0:
        raise NotValidError(f"the weight of a bet must be positive; it is {bet.weight:g} {where}")


def _stakes(bet: Bet, inputs: Floats) -> Floats:
    """s P_x g_x(y)."""
    P = inputs / inputs.sum()
    return bet.weight * P[:, None] * np.log(bet.auxiliary / (P @ bet.auxiliary))


def check_origin(bet: Bet, inputs: Floats, before: Integers, senses: tuple[int, ...], where: str) -> None:
    """The multipliers follow from what was known before the request: they are not fitted to its answer.

    ν_x is the root of sum_y W_x(y) N_x / (ν_x + s P_x g_x(y)) = 1, with W the leader's rows estimated from the counts
    before: (n + 1/Y) / sum (n + 1/Y) with Y outputs.
    """
    smooth = before + 1.0 / before.shape[1]
    W = smooth / smooth.sum(axis=1, keepdims=True)
    N = np.array(senses, dtype=np.float64)[:, None]
    sums = (W * N / (bet.multipliers[:, None] + _stakes(bet, inputs))).sum(axis=1)
    for x in np.flatnonzero((np.abs(sums - 1.0) > AGREEMENT) & (N[:, 0] > 0.0)):
        raise NotValidError(
            f"the multiplier of input x={x} is not the one that the counts before the request lead to {where}"
        )
