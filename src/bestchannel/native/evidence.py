"""Bets on a leader's senses and on a rival's: the kernels of `evidence`, with the arrays that they read and fill."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import FLOAT, INTEGER, POINTER, floats, function, integers, require_positive

_leader_bets_room = function("leader_bets_room", *[INTEGER] * 2, returns=INTEGER)
_leader_bets = function("leader_bets", *[INTEGER] * 4, *[POINTER] * 9)
_tilts_room = function("rival_tilts_room", *[INTEGER] * 2, returns=INTEGER)
_tilts = function("rival_tilts", *[INTEGER] * 4, *[POINTER] * 4, FLOAT, *[POINTER] * 3)
_choices_room = function("rival_choices_room", *[INTEGER] * 2, returns=INTEGER)
_choices = function("rival_choices", *[INTEGER] * 4, *[POINTER] * 8, FLOAT, FLOAT, *[POINTER] * 4)
_climbs_room = function("rival_climbs_room", *[INTEGER] * 4, returns=INTEGER)
_climbs = function("rival_climbs", *[INTEGER] * 4, *[POINTER] * 6, FLOAT, *[POINTER] * 2)
_bound_room = function("rival_room", *[INTEGER] * 5, returns=INTEGER)
_bounded = function(
    "rival_bounded",
    *[INTEGER] * 4,
    *[POINTER] * 3,
    FLOAT,
    *[POINTER] * 3,
    FLOAT,
    FLOAT,
    INTEGER,
    POINTER,
    returns=FLOAT,
)
_row_room = function("rival_row_room", *[INTEGER] * 2, returns=INTEGER)
_row = function("rival_row", *[INTEGER] * 2, *[POINTER] * 4, FLOAT, *[POINTER] * 2, FLOAT, POINTER, returns=FLOAT)
_epochs = function("rival_epochs", *[INTEGER] * 4, *[POINTER] * 4)


@functools.cache
def _room_for_leader_bets(n: int, m: int) -> int:
    return int(_leader_bets_room(n, m))


def leader_bets(
    W: Floats, P: Floats, senses: Floats, weights: Floats, pays: Floats, price: Floats, V: Floats, nu: Floats
) -> None:
    """Fill pays [c, r, x, y], price [c, r], V [c, r, x, y] and ν [c, r, x] of every case c for its weights [c, r].

    The rows W are [c, x, y], P and the senses [c, x].
    """
    (cases, n, m), (_, r) = W.shape, weights.shape
    require_positive(n, m)
    room = np.empty(_room_for_leader_bets(n, m))
    _leader_bets(
        cases, r, n, m, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n),
        floats(weights, cases, r), floats(pays, cases, r, n, m), floats(price, cases, r), floats(V, cases, r, n, m),
        floats(nu, cases, r, n), floats(room, len(room)),
    )  # fmt: skip


def tilts(
    W: Floats, P: Floats, senses: Floats, weights: Floats, most: float, fixed_input: bool
) -> tuple[Floats, Floats]:
    """ω [c, x] and Q [c, y] of a bet on every rival c: W [c, x, y], P and the senses [c, x], weights [c]."""
    cases, n, m = W.shape
    require_positive(n, m)
    tilts, Q, room = np.empty((cases, n)), np.empty((cases, m)), np.empty(int(_tilts_room(n, m)))
    _tilts(
        cases, n, m, fixed_input, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n),
        floats(weights, cases), most, floats(tilts, cases, n), floats(Q, cases, m), floats(room, len(room)),
    )  # fmt: skip
    return tilts, Q


def choices(
    W: Floats, P: Floats, senses: Floats, gaps: Floats, weights: Floats, growths: Floats, worst: Floats,
    known: Integers, largest: float, most: float,
) -> tuple[Integers, Floats, Floats]:  # fmt: skip
    """Which of its weights [c, i] is best for every rival c, with ω [c, x] and Q [c, y]; `growths` [c, i] are reduced.

    W is [c, x, y]; P, the senses and `worst` are [c, x]; gaps and `known`, which says whether `worst` is, are [c].
    """
    (cases, n, m), (_, count) = W.shape, weights.shape
    require_positive(n, m, count)
    sizes, tilts, Q = np.empty(cases, np.int64), np.empty((cases, n)), np.empty((cases, m))
    room = np.empty(_room_for_choices(n, m))
    _choices(
        cases, count, n, m, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n), floats(gaps, cases),
        floats(weights, cases, count), floats(growths, cases, count), floats(worst, cases, n), integers(known, cases),
        largest, most, integers(sizes, cases), floats(tilts, cases, n), floats(Q, cases, m), floats(room, len(room)),
    )  # fmt: skip
    return sizes, tilts, Q


@functools.cache
def _room_for_choices(n: int, m: int) -> int:
    return int(_choices_room(n, m))


def addresses(counts: Floats, charged: Floats, history: Floats, P: Floats, logW: Floats, logR: Floats) -> list[int]:
    """Where the arrays of one rival are that `climbs` reads, and the last three of which it moves."""
    n, m = counts.shape
    return [
        floats(counts, n, m), floats(charged, n), floats(history, len(history), 2 * n + m), floats(P, n),
        floats(logW, n, m), floats(logR, m),
    ]  # fmt: skip


def climbs(
    rivals: Sequence[Sequence[int]], requests: Sequence[int], groups: int, weights: Sequence[float], W: Floats,
    known: Sequence[bool], targets: Sequence[float], largest: float,
) -> Floats:  # fmt: skip
    """The most that every rival c of one size seems to lose; its P, logW and logR move to where that is.

    Its arrays are at the `addresses` rivals[c], and stay there; requests [c] rows of its history are used. `known` says
    whether a climb begins at P, logW and logR, or at P and the rows W [c, x, y].
    """
    cases, n, m = W.shape
    require_positive(cases, n, m, groups, min(requests) + 1)
    at, often, begun = (np.array(each, dtype=np.int64) for each in (rivals, requests, known))
    S, enough, lost = np.array(weights, dtype=float), np.array(targets, dtype=float), np.empty(cases)
    room = np.empty(_room_for_climbs(min(max(requests), 2 * groups), groups, n, m))
    _climbs(
        cases, groups, n, m, integers(at, cases, 6), integers(often, cases), floats(S, cases), floats(W, cases, n, m),
        integers(begun, cases), floats(enough, cases), largest, floats(lost, cases), floats(room, len(room)),
    )  # fmt: skip
    return lost


@functools.cache
def _room_for_climbs(requests: int, groups: int, n: int, m: int) -> int:
    return int(_climbs_room(requests, groups, n, m))


def climbed(
    counts: Floats, charged: Floats, history: Floats, weight: float, groups: int, P: Floats, logW: Floats,
    logR: Floats, largest: float,
) -> float:  # fmt: skip
    """The most that one rival seems to lose; P [x], logW [x, y] and logR [y] move to where that is.

    The bets are counts [x, y], charged [x], the history [i, senses of x | tilts of x | Q of y] of every request, and S.
    """
    at = addresses(counts, charged, history, P, logW, logR)
    return float(climbs([at], [len(history)], groups, [weight], logW[None], [True], [-math.inf], largest)[0])


def bounded(
    counts: Floats, charged: Floats, history: Floats, weight: float, groups: int, P: Floats, logW: Floats,
    logR: Floats, largest: float, target: float, boxes: int,
) -> float:  # fmt: skip
    """An upper bound of what one rival loses, at most the target where that can be shown by so many boxes.

    The bets are those of `climbed`; where nothing can be shown, P, logW and logR move to the worst box.
    """
    (n, m), requests = counts.shape, len(history)
    require_positive(n, m, groups, boxes)
    room = np.empty(int(_bound_room(requests, groups, n, m, boxes)))
    return float(
        _bounded(
            requests, groups, n, m, floats(counts, n, m), floats(charged, n), floats(history, requests, 2 * n + m),
            weight, floats(P, n), floats(logW, n, m), floats(logR, m), largest, target, boxes, floats(room, len(room)),
        )
    )  # fmt: skip


def row_bound(
    a: Floats, N: Floats, tau: Floats, logQ: Floats, s: float, logR: Floats, logw: Floats, tolerance: float
) -> float:
    """An upper bound of what a row loses, within the tolerance where that can be shown; `logw` moves to that row."""
    epochs, m = logQ.shape
    require_positive(m)
    room = np.empty(int(_row_room(epochs, m)))
    return float(
        _row(
            epochs, m, floats(a, m), floats(N, epochs), floats(tau, epochs), floats(logQ, epochs, m), s,
            floats(logR, m), floats(logw, m), tolerance, floats(room, len(room)),
        )
    )  # fmt: skip


def merged(groups: int, n: int, m: int, history: Floats) -> tuple[Floats, Floats, Floats]:
    """Senses [x, e], tilts [x, e] and log Q [x, e, y] of the few epochs to which the requests are merged."""
    require_positive(n, m, groups)
    epochs = min(len(history), 2 * groups)
    senses, tilts, logQ = np.empty((n, epochs)), np.empty((n, epochs)), np.empty((n, epochs, m))
    _epochs(
        len(history), epochs, n, m, floats(history, len(history), 2 * n + m), floats(senses, n, epochs),
        floats(tilts, n, epochs), floats(logQ, n, epochs, m),
    )  # fmt: skip
    return senses, tilts, logQ
