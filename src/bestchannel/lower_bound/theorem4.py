"""Theorem 4 of [EBWGW24]: how many senses the relabelled divergences of the rows demand.

A rival W_a is compared with the best channel W_b row by row, after its inputs and outputs are relabelled so that the
bound becomes largest. The quantities here are reciprocals of divergences in nats, **senses per nat**: 1/D is 0 where a
row excludes an output that the other one has, and infinite where two rows are equal. One choice of relabellings has to
serve every term; the search keeps, for each rival, all undominated pairs of its two terms, and then trades them off
against each other.

[EBWGW24] Egger, Bitar, Wachter-Zeh, Gündüz, Weinberger, "Maximal-Capacity Discrete Memoryless Channel Identification".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers, number_in
from bestchannel.channels.channel import Channel
from bestchannel.errors import InputError
from bestchannel.information import divergence_nats

MAX_TERMS = 2**22  # divergence terms (output orders x inputs² x outputs) that take well under a second for one rival
SEARCH_TERMS = 2**20  # divergence terms worth computing in one round of the local search
SEARCH_ROUNDS = 20  # rounds after which the local search stops improving
FORBIDDEN = -1.0  # the gain of a pair of rows that must not be matched; every true gain is at least 0


@dataclass(frozen=True)
class Relabelling:
    """The rival's row for input x is row inputs[x] of its matrix, read in the order `outputs`."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Theorem4:
    """A bracket of Theorem 4's bound on the expected number of senses.

    `sum_lower` and `sum_upper` enclose the sum of reciprocal divergences, in senses per nat; `lower` and `upper` are
    these times max(0, log(1/(2.4 δ))), in senses. `exact` says that all relabellings were compared, so that both ends
    agree. `relabellings` holds the choice that reaches `sum_lower`, one per channel, None for the best one.
    """

    lower: float
    upper: float
    sum_lower: float
    sum_upper: float
    exact: bool
    relabellings: tuple[Relabelling | None, ...]


class _Trade(NamedTuple):
    """One relabelling of a rival, with min_x 1/D(W_a‖W_b) and min_x 1/D(W_b‖W_a) under it."""

    forward: float
    backward: float
    relabelling: Relabelling


class _Assignment(NamedTuple):
    """Rows matched one to one: the smallest gain, the plane it lies in, a partner for every row."""

    gain: float
    plane: int
    partners: tuple[int, ...]


def theorem4(channels: Sequence[Channel], best: int, delta: float, *, max_terms: int = MAX_TERMS) -> Theorem4:
    """Senses that every policy which is δ-correct on all channels needs on average [EBWGW24, Thm. 4].

    E[σ] ≥ log(1/(2.4 δ)) · max_π { Σ_{a≠b} 1/max_x D(π_a W_a(x)‖W_b(x)) + 1/max_{a,x} D(W_b(x)‖π_a W_a(x)) }

    where W(x) is row x, b = `best` is the index of the channel with the largest capacity, for which the caller vouches,
    and π_a relabels inputs and outputs of rival a. All output relabellings are compared where their divergence terms
    number at most `max_terms`; beyond, the lower end comes from a local search and the upper end from relabelling the
    outputs of each pair of rows on its own. Both are correct up to the rounding of doubles.

    >>> pair = [Channel.from_rows([[1 - p, p], [p, 1 - p]]) for p in (0.1, 0.2)]
    >>> round(theorem4(pair, 0, 0.01).sum_lower, 1)
    49.8
    """
    delta = number_in(delta, "delta", low=0.0, high=1.0)
    _refuse_unsuitable(channels, best)
    rivals = [a for a in range(len(channels)) if a != best]
    pairs = [(channels[a].W, channels[best].W) for a in rivals]
    n, m = channels[best].W.shape
    exact = math.factorial(m) * n**2 * m <= max_terms
    if exact:
        orders = np.array(list(permutations(range(m))))
        fronts = [_front(*_gains(*pair, orders), orders) for pair in pairs]
    else:
        fronts = [_searched_front(*pair, max_terms) for pair in pairs]
    sum_lower, chosen = _largest_sum(fronts)
    choice = dict(zip(rivals, chosen, strict=True))
    for a, trade in choice.items():
        if math.isinf(trade.forward + trade.backward):
            raise InputError(
                f"{_title(channels, a)} is {_title(channels, best)} with relabelled inputs and outputs, so their"
                " capacities are equal and no policy can tell which is the best; keep only one of them"
            )
    sum_upper = sum_lower
    if not exact:  # a front that no true trade exceeds: every pair of rows gets the output order that suits it best
        relaxed = [_front(*_relaxed_gains(*pair), np.arange(m)[None, :]) for pair in pairs]
        sum_upper = max(sum_lower, _largest_sum(relaxed)[0])  # rounding may leave it an ulp below the search
    factor = max(0.0, -math.log(2.4 * delta))
    upper = factor * sum_upper if factor else 0.0
    relabellings = tuple(choice[a].relabelling if a in choice else None for a in range(len(channels)))
    return Theorem4(factor * sum_lower, upper, sum_lower, sum_upper, exact, relabellings)


def _refuse_unsuitable(channels: Sequence[Channel], best: int) -> None:
    if len(channels) < 2:
        raise InputError(f"Theorem 4 requires the best channel and at least one rival; got {len(channels)} channels")
    if not 0 <= best < len(channels):
        raise InputError(f"best must be the index of one of {len(channels)} channels, from 0; it is {best}")
    wanted = channels[best].W.shape
    for a, channel in enumerate(channels):
        if channel.W.shape != wanted:
            raise InputError(
                f"{_title(channels, a)} has {channel.n_inputs} inputs and {channel.n_outputs} outputs, but Theorem 4"
                f" compares rows and requires {wanted[0]} and {wanted[1]} like those of the best channel;"
                " the characteristic time has no such condition"
            )


def _title(channels: Sequence[Channel], index: int) -> str:
    return f'channel "{channels[index].name}"' if channels[index].name else f"channel {index}"


def _largest_sum(fronts: Sequence[list[_Trade]]) -> tuple[float, tuple[_Trade, ...]]:
    """The largest Σ_a forward_a + min_a backward_a with one trade from each front, and these trades.

    Once the smallest backward term is decided, every rival takes its largest forward term among the trades that respect
    it; only backward terms that occur need to be tried.
    """
    # A front is sorted by falling forward term, so its last trade has the largest backward term.
    reachable = min(front[-1].backward for front in fronts)
    levels = {trade.backward for front in fronts for trade in front if trade.backward <= reachable}
    choices = [tuple(next(trade for trade in front if trade.backward >= level) for front in fronts) for level in levels]
    sums = [math.fsum(trade.forward for trade in each) + min(trade.backward for trade in each) for each in choices]
    largest = max(range(len(sums)), key=sums.__getitem__)
    return sums[largest], choices[largest]


def _searched_front(W_a: Floats, W_b: Floats, max_terms: int) -> list[_Trade]:
    """The undominated trades among the output orders that a local search meets.

    It starts from the orders that make a row of W_a rise and fall with a row of W_b, the closest pair of rows first.
    From the orders of the current front it goes on to those that fit the matched rows best on average and to all swaps
    of two outputs, until the front stays as it is.
    """
    limit = max(1, min(max_terms, SEARCH_TERMS) // (W_a.shape[0] ** 2 * W_a.shape[1]))
    ranks = np.argsort(np.argsort(W_b, axis=1), axis=1)
    aligned: Integers = np.argsort(W_a, axis=1)[:, ranks].swapaxes(0, 1).reshape(-1, W_a.shape[1])
    orders = aligned[np.argsort(-_relaxed_gains(W_a, W_b)[0], axis=None)][:limit]
    front: list[_Trade] = []
    for _ in range(SEARCH_ROUNDS):
        previous, front = front, _front(*_gains(W_a, W_b, orders), orders)
        if [trade[:2] for trade in front] == [trade[:2] for trade in previous]:
            break
        kept = np.array([trade.relabelling.outputs for trade in front])
        refitted = np.array([_fitting_order(W_a[list(trade.relabelling.inputs)], W_b) for trade in front])
        orders = np.concatenate([kept, refitted, _swaps(kept, limit)])
    return front


def _fitting_order(W_a: Floats, W_b: Floats) -> Integers:
    """The output order of W_a with the least Σ_x D(w_x‖v_x) + D(v_x‖w_x), rows matched as they stand."""
    from scipy.optimize import linear_sum_assignment  # deferred, as below

    # An excluded output costs much instead of infinitely much, so that some order is always the cheapest.
    w, v = (np.maximum(W.T, np.finfo(np.float64).tiny) for W in (W_a, W_b))
    cross_entropies = np.log(v) @ w.T + v @ np.log(w).T
    costs = (w * np.log(w)).sum(axis=1)[None, :] + (v * np.log(v)).sum(axis=1)[:, None] - cross_entropies
    return linear_sum_assignment(costs)[1]


def _swaps(orders: Integers, limit: int) -> Integers:
    """The first `limit` orders that arise when two outputs of a given order are exchanged."""
    pairs = combinations(range(orders.shape[1]), 2)
    chosen = list(islice(((order, pair) for pair in pairs for order in orders), limit))
    swapped = np.array([order for order, _ in chosen]).reshape(-1, orders.shape[1])
    for row, (_, (first, second)) in zip(swapped, chosen, strict=True):
        row[[first, second]] = row[[second, first]]
    return swapped


def _relaxed_gains(W_a: Floats, W_b: Floats) -> tuple[Floats, Floats]:
    """`_gains` at the best order of each pair of rows, as arrays of one plane.

    Σ_y v_y log w_π(y) is largest when w_π and v are sorted alike (rearrangement inequality), so sorting both rows
    minimises D(w_π‖v) and D(v‖w_π) over π at once.
    """
    return _gains(np.sort(W_a, axis=1), np.sort(W_b, axis=1), np.arange(W_a.shape[1])[None, :])


def _gains(W_a: Floats, W_b: Floats, orders: Integers) -> tuple[Floats, Floats]:
    """1/D(w‖v) and 1/D(v‖w) for v = row x of W_b, w = row x' of W_a in each order: arrays [order, x, x']."""
    w = np.moveaxis(W_a[:, orders], 0, 1)
    with np.errstate(divide="ignore"):
        forward = [1 / divergence_nats(w, v) for v in W_b]
        backward = [1 / divergence_nats(v, w) for v in W_b]
    return np.stack(forward, axis=1), np.stack(backward, axis=1)


def _front(forward: Floats, backward: Floats, orders: Integers) -> list[_Trade]:
    """The undominated (min_x forward, min_x backward) over orders and row matchings, by falling first entry."""
    front: list[_Trade] = []
    floor = FORBIDDEN
    # `first` has the best forward term among those with a better backward term than the last trade;
    # `second` has, at this forward term, the best backward term.
    while first := _best_assignment(np.where(backward > floor, forward, FORBIDDEN)):
        second = _best_assignment(np.where(forward >= first.gain, backward, FORBIDDEN))
        assert second is not None, "the matching that gave `first` is allowed here too"
        outputs = tuple(map(int, orders[second.plane]))
        front.append(_Trade(first.gain, second.gain, Relabelling(second.partners, outputs)))
        floor = second.gain
    return front


def _best_assignment(gains: Floats) -> _Assignment | None:
    """The row matching with the largest smallest gain in any plane of `gains`, None where all are forbidden."""
    # Every row and every column takes part, so no matching beats the poorest of their best gains.
    ceilings = np.minimum(gains.max(axis=1).min(axis=1), gains.max(axis=2).min(axis=1))
    best: _Assignment | None = None
    for plane in np.argsort(-ceilings, kind="stable"):
        floor = best.gain if best else FORBIDDEN
        if ceilings[plane] <= floor:
            break
        best = _bottleneck(gains[plane], int(plane), floor, ceilings[plane]) or best
    return best


def _bottleneck(gains: Floats, plane: int, floor: float, ceiling: float) -> _Assignment | None:
    """The matching of one plane with the largest smallest gain, if that is above `floor`."""
    levels = np.unique(gains[(gains > floor) & (gains <= ceiling)])
    found: _Assignment | None = None
    low, high = 0, len(levels)
    # The ceiling itself is reached more often than not, so it is tried first.
    middle = high - 1
    while low < high:
        partners = _perfect_matching(gains >= levels[middle])
        if partners:
            found, low = _Assignment(float(levels[middle]), plane, partners), middle + 1
        else:
            high = middle
        middle = (low + high) // 2
    return found


def _perfect_matching(allowed: NDArray[np.bool_]) -> tuple[int, ...] | None:
    """A column for every row, all different and all allowed, or None."""
    from scipy.sparse import csr_array  # deferred: importing scipy would slow down every import of the package
    from scipy.sparse.csgraph import maximum_bipartite_matching

    columns = maximum_bipartite_matching(csr_array(allowed), perm_type="column")
    return None if (columns < 0).any() else tuple(map(int, columns))
