"""Bets on a leader's senses and on a rival's: the kernels of `evidence`, with the arrays that they read and fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import FLOAT, INTEGER, POINTER, address, floats, function, integers, require_positive

_leader_bets_room = cache(function("leader_bets_room", *[INTEGER] * 2, returns=INTEGER))
_leader_bets = function("leader_bets", *[INTEGER] * 4, *[POINTER] * 9)
_tilts_room = cache(function("rival_tilts_room", *[INTEGER] * 2, returns=INTEGER))
_tilts = function("rival_tilts", *[INTEGER] * 4, *[POINTER] * 4, FLOAT, *[POINTER] * 3)
_choices_room = cache(function("rival_choices_room", *[INTEGER] * 2, returns=INTEGER))
_choices = function("rival_choices", *[INTEGER] * 4, *[POINTER] * 8, FLOAT, FLOAT, *[POINTER] * 4)
_wagers_room = cache(function("wagers_room", *[INTEGER] * 4, returns=INTEGER))
_wagers = function(
    "wagers", *[INTEGER] * 3, *[POINTER] * 4, *[INTEGER] * 2, *[POINTER] * 7, *[FLOAT] * 4, *[POINTER] * 8
)  # fmt: skip
_climbs_room = cache(function("rival_climbs_room", *[INTEGER] * 4, returns=INTEGER))
_climbs = function("rival_climbs", *[INTEGER] * 4, *[POINTER] * 6, FLOAT, *[POINTER] * 2)
_settle = function("rival_settle", *[INTEGER] * 3, *[POINTER] * 7)
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
    *[POINTER] * 5,
    returns=FLOAT,
)
_row_room = function("rival_row_room", *[INTEGER] * 2, returns=INTEGER)
_row = function("rival_row", *[INTEGER] * 2, *[POINTER] * 4, FLOAT, *[POINTER] * 2, FLOAT, POINTER, returns=FLOAT)
_epochs = function("rival_epochs", *[INTEGER] * 4, *[POINTER] * 4)


class Cover(NamedTuple):
    """Boxes that hold all input distributions, each cut off from one before, and what shows their bounds."""

    cuts: Floats  # [box, 3] after the first: of which box it is the upper part, at which input, from where on
    log_R: Floats  # [box, y]
    log_w: Floats  # [box, side, x, y] the rows at both ends of every input


def leader_bets(
    W: Floats, P: Floats, senses: Floats, weights: Floats, pays: Floats, price: Floats, V: Floats, nu: Floats
) -> None:
    """Fill pays [r, x, y], price [r], V [r, x, y] and ν [r, x] of the weights [r].

    The rows W are [x, y], P and the senses [x], for all weights; or [c, x, y] and [c, x] of as many cases, which have
    as many weights each.
    """
    *cases, n, m = W.shape
    count, r = (cases[0] if cases else 1), len(weights)
    require_positive(n, m)
    room = np.empty(_leader_bets_room(n, m))
    _leader_bets(
        count, r // max(count, 1), n, m, floats(W, *cases, n, m), floats(P, *cases, n), floats(senses, *cases, n),
        floats(weights, r), floats(pays, r, n, m), floats(price, r), floats(V, r, n, m), floats(nu, r, n),
        address(room),
    )  # fmt: skip


def tilts(
    W: Floats, P: Floats, senses: Floats, weights: Floats, most: float, fixed_input: bool
) -> tuple[Floats, Floats]:
    """ω [c, x] and Q [c, y] of a bet on every rival c: W [c, x, y], P and the senses [c, x], weights [c]."""
    cases, n, m = W.shape
    require_positive(n, m)
    tilts, Q, room = np.empty((cases, n)), np.empty((cases, m)), np.empty(_tilts_room(n, m))
    _tilts(
        cases, n, m, fixed_input, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n),
        floats(weights, cases), most, address(tilts), address(Q), address(room),
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
    room = np.empty(_choices_room(n, m))
    _choices(
        cases, count, n, m, floats(W, cases, n, m), floats(P, cases, n), floats(senses, cases, n), floats(gaps, cases),
        floats(weights, cases, count), floats(growths, cases, count), floats(worst, cases, n), integers(known, cases),
        largest, most, address(sizes), address(tilts), address(Q), address(room),
    )  # fmt: skip
    return sizes, tilts, Q


class Wagers(NamedTuple):
    """Bets against rivals [c] of one size, and on the leader with each."""

    numbers: Floats  # [c, 3] weight, what should be won, and the variance of the leader's value that the bets show
    tilts: Floats  # [c, x]
    outputs: Floats  # [c, y]
    pays: Floats  # [c, x, y] of the leader, as all that follow
    auxiliary: Floats  # [c, x, y]
    price: Floats  # [c]
    multipliers: Floats  # [c, x]


def wagers(
    leader: tuple[Floats, Floats, Floats, Floats], alike: tuple[Floats, Floats, Floats], places: Sequence[int],
    N: Floats, gaps: Sequence[float], worst: Sequence[int], epsilon: float, largest: float, largest_input: float,
    largest_tilt: float,
) -> Wagers:  # fmt: skip
    """The bets against every rival c that should win most, of the weights tried; see `wagers` in rival_bets.c.

    The leader has rows [x, y], inputs, deviations and senses [x]. Rival c is number places[c] of those `alike`, with
    rows [., x, y], inputs and deviations [., x]; it has senses N [c, x]. `worst` [c] is the address of inputs, or 0.
    """
    W_b, P_b, D_b, N_b = leader
    W, P, D = alike
    (n_b, m_b), (all_of_size, n, m), c = W_b.shape, W.shape, len(places)
    require_positive(n_b, m_b, c, *((n, m) if n or m else ()))
    if n and not 0 <= min(places) <= max(places) < all_of_size:
        raise ValueError(f"places must be among {all_of_size} channels; they are {places}")
    bets = Wagers(
        np.empty((c, 3)), np.empty((c, n)), np.empty((c, m)), np.empty((c, n_b, m_b)), np.empty((c, n_b, m_b)),
        np.empty(c), np.empty((c, n_b)),
    )  # fmt: skip
    at, behind, lost = np.array(places, dtype=np.int64), np.array(gaps, dtype=float), np.array(worst, dtype=np.int64)
    room = np.empty(_wagers_room(n_b, m_b, n, m))
    _wagers(
        c, n_b, m_b, floats(W_b, n_b, m_b), floats(P_b, n_b), floats(D_b, n_b), floats(N_b, n_b), n, m,
        floats(W, all_of_size, n, m), floats(P, all_of_size, n), floats(D, all_of_size, n), address(at),
        floats(N, c, n), floats(behind, c), integers(lost, c), epsilon, largest, largest_input, largest_tilt,
        *map(address, bets), address(room),
    )  # fmt: skip
    return bets


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
    at, often, begun = [np.array(given, dtype=np.int64) for given in (rivals, requests, known)]
    S, enough, lost = np.array(weights, dtype=float), np.array(targets, dtype=float), np.empty(cases)
    room = np.empty(_climbs_room(min(max(requests), 2 * groups), groups, n, m))
    _climbs(
        cases, groups, n, m, integers(at, cases, 6), integers(often, cases), floats(S, cases), floats(W, cases, n, m),
        integers(begun, cases), floats(enough, cases), largest, address(lost), address(room),
    )  # fmt: skip
    return lost


def settle(
    rivals: Sequence[Sequence[int]], rows: Sequence[int], tilts: Floats, Q: Floats, counts: Floats
) -> list[float]:
    """Book counts [c, x, y] under tilts [c, x] and Q [c, y] at the `addresses` rivals[c]: how many senses they are [c].

    rows [c] of the histories are filled, for which there must be room.
    """
    cases, n, m = counts.shape
    at, filled = np.array(rivals, dtype=np.int64), np.array(rows, dtype=np.int64)
    senses, room = np.empty(cases), np.empty(2 * m)
    _settle(
        cases, n, m, integers(at, cases, 6), integers(filled, cases), floats(tilts, cases, n), floats(Q, cases, m),
        floats(counts, cases, n, m), address(senses), address(room),
    )  # fmt: skip
    return senses.tolist()


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
) -> tuple[float, Cover]:  # fmt: skip
    """An upper bound of what one rival loses, at most the target where that can be shown by so many boxes; and those.

    The bets are those of `climbed`; where nothing can be shown, P, logW and logR move to the worst box.
    """
    (n, m), requests = counts.shape, len(history)
    require_positive(n, m, groups, boxes)
    room, used = np.empty(int(_bound_room(requests, groups, n, m, boxes))), np.empty(1, np.int64)
    cuts, log_R, log_w = np.empty((boxes, 3)), np.empty((boxes, m)), np.empty((boxes, 2, n, m))
    bound = _bounded(
        requests, groups, n, m, floats(counts, n, m), floats(charged, n), floats(history, requests, 2 * n + m),
        weight, floats(P, n), floats(logW, n, m), floats(logR, m), largest, target, boxes, address(used),
        address(cuts), address(log_R), address(log_w), address(room),
    )  # fmt: skip
    number = int(used[0])
    return float(bound), Cover(cuts[1:number], log_R[:number], log_w[:number])


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
            floats(logR, m), floats(logw, m), tolerance, address(room),
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
