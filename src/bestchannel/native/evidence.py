"""The kernels of `evidence` and of `policies`: bets on a leader's senses and on a rival's, and what counts suggest."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import Kernel, floats

_leader_bets = Kernel(
    "leader_bets", "* k n m W[*nm] P[*n] senses[*n] weights[r] pays[rnm] price[r] V[rnm] nu[rn] room(nm)", positive="nm"
)
_tilts = Kernel(
    "rival_tilts", "c n m fixed W[cnm] P[cn] N[cn] weights[c] most. >tilts[cn] >Q[cm] room(nm)", positive="nm"
)
_wagers = Kernel(
    "wagers",
    "c a b W_b[ab] P_b[a] D_b[a] N_b[a] n m W[knm] P[kn] D[kn] places[c]i8 N[cn] gaps[c] worst[c]i8 epsilon. largest."
    " input. tilt. >numbers[c3] >tilts[cn] >Q[cm] >pays[cab] >V[cab] >price[c] >nu[ca] room(abnm)",
    positive="c",
)
_climbs = Kernel(
    "rival_climbs",
    "c g n m addresses[c6]i8 requests[c]i8 weights[c] W[cnm] known[c]i8 targets[c] largest. >lost[c] room(rgnm)",
    positive="cgnm",
)
_settle = Kernel("rival_settle", "c n m addresses[c6]i8 rows[c]i8 tilts[cn] Q[cm] counts[cnm] >senses[c] >space[2m]")
_bounded = Kernel(
    "rival_bounded",
    "r g n m counts[nm] charged[n] history[rh] weight. P[n] logW[nm] logR[m] largest. target. b >used[1]i8 >cuts[b3]"
    " >logRs[bm] >logws[b2nm] room(rgnmb)",
    ctypes.c_double,
    positive="gnmb",
)
_smoothed_rows = Kernel(
    "smoothed_rows", "k n m counts[knm]i8 c places[c]i8 g grid[g] >W[cnm] >senses[cn]", positive="g"
)
_view = Kernel(
    "view",
    "c n m W[cnm] P[cn] senses[cn] costs[cn] on_leader. on_rival. >numbers[4c] >deviations[cn] >shares[2cn] >space[s]",
)
_fewest = Kernel(
    "fewest_senses",
    "k gaps[k] needed[k] v[k] v_a[k] g grid[g] left. least. >senses[k] >space[2k]",
    ctypes.c_double,
    positive="k",
)


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
    each = len(weights) // max(math.prod(W.shape[:-2]), 1)
    _leader_bets(W, P, senses, weights, pays, price, V, nu, k=each)


def tilts(
    W: Floats, P: Floats, senses: Floats, weights: Floats, most: float, fixed_input: bool
) -> tuple[Floats, Floats]:
    """ω [c, x] and Q [c, y] of a bet on every rival c: W [c, x, y], P and the senses [c, x], weights [c]."""
    omega, Q = _tilts(fixed_input, W, P, senses, weights, most)
    return omega, Q


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
    """The bets against every rival c that should win most, of the weights tried; see `wagers` in evidence.c.

    The leader has rows [x, y], inputs, deviations and senses [x], or none where its value is known. Rival c is number
    places[c] of those `alike`, with rows [., x, y], inputs and deviations [., x]; it has senses N [c, x]. `worst` [c]
    is the address of inputs, or 0.
    """
    all_of_size, n, m = alike[0].shape
    for size in (leader[0].shape, (n, m)):
        if min(size) < 1 and max(size) > 0:
            raise ValueError(f"the kernel requires sizes of at least 1, or none at all; it was given {size}")
    if n and not 0 <= min(places, default=0) <= max(places, default=0) < all_of_size:
        raise ValueError(f"places must be among {all_of_size} channels; they are {places}")
    at, behind, lost = np.array(places, dtype=np.int64), np.array(gaps, dtype=float), np.array(worst, dtype=np.int64)
    limits = epsilon, largest, largest_input, largest_tilt
    return Wagers(*_wagers(*leader, *alike, at, N, behind, lost, *limits))


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
    if min(requests, default=0) < 0:
        raise ValueError(f"numbers of requests must be at least 0; they are {requests}")
    at, often, begun = (np.array(each, dtype=np.int64) for each in (rivals, requests, known))
    S, enough = np.array(weights, dtype=float), np.array(targets, dtype=float)
    most = min(max(requests, default=0), 2 * groups)  # more are merged
    lost: Floats = _climbs(at, often, S, W, begun, enough, largest, g=groups, r=most)
    return lost


def settle(
    rivals: Sequence[Sequence[int]], rows: Sequence[int], tilts: Floats, Q: Floats, counts: Floats
) -> list[float]:
    """Book counts [c, x, y] under tilts [c, x] and Q [c, y] at the `addresses` rivals[c]: how many senses they are [c].

    rows [c] of the histories are filled, for which there must be room.
    """
    at, filled = np.array(rivals, dtype=np.int64), np.array(rows, dtype=np.int64)
    senses: Floats = _settle(at, filled, tilts, Q, counts)[0]
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
    sizes = {"g": groups, "b": boxes, "h": 2 * counts.shape[0] + counts.shape[1]}
    given = counts, charged, history, weight, P, logW, logR, largest, target
    bound, used, cuts, log_R, log_w = _bounded(*given, **sizes)
    number = int(used[0])
    return float(bound), Cover(cuts[1:number], log_R[:number], log_w[:number])


def smoothed_rows(counts: Integers, places: Sequence[int], grid: Floats) -> tuple[Floats, Floats]:
    """The rows [c, x, y] that counts [., x, y] suggest of the channels places [c], and their senses [c, x].

    Added to each count is that number of the grid which suits all channels best: by leaving out one sense at a time.
    """
    if places and not 0 <= min(places) <= max(places) < len(counts):
        raise ValueError(f"places must be among {len(counts)} channels; they are {places}")
    W, senses = _smoothed_rows(counts, np.array(places, dtype=np.int64), grid)
    return W, senses


class Estimates(NamedTuple):
    """Of every channel c: its value, the variance of that, the deviations of its inputs, and how to spread senses."""

    numbers: Floats  # [4, c] the value, its variance, and that times the number of senses, as leader and as rival
    deviations: Floats  # [c, x]
    shares: Floats  # [as leader or as rival, c, x]


def estimates(W: Floats, P: Floats, senses: Floats, costs: Floats, evenly: tuple[float, float]) -> Estimates:
    """For the rows W [c, x, y], and P, senses and costs of a sense [c, x]; a part of them is spread evenly."""
    return Estimates(*_view(W, P, senses, costs, *evenly, s=W.shape[1] + W.shape[2])[:3])


def fewest_senses(
    gaps: Floats, needed: Floats, v: Floats, v_a: Floats, grid: Floats, left: float, least: float
) -> tuple[float, Floats]:
    """The fewest senses of the leader, and [a] of every rival; gaps, needed evidence and variances are [a]."""
    leader, senses, _ = _fewest(gaps, needed, v, v_a, grid, left, least)
    return leader, senses
