"""Sets of channels that a study senses: random ones, and those that are hardest on a policy.

Each family is a function of a generator and its own numbers. Gaps are between the best channel and
the second best, in **bits**. In the hostile families the best channel comes last: where estimates are
equal, policies favour the first.

[EBWGW24] Egger, Bitar, Wachter-Zeh, Gündüz, Weinberger, "Maximal-Capacity Discrete
Memoryless Channel Identification".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np

from bestchannel.arrays import Floats, number_in
from bestchannel.capacity import capacities, capacity
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, z_channel
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.paper.z_vs_bsc import bsc_of_capacity, z_capacity
from bestchannel.sensing.simulator import CAPACITY_TOLERANCE, GAP_TOLERANCE, Instance, random_binary_channels

POOL, DRAWS = 4096, 20_000  # random channels, and sets of k drawn from them in search of the requested gap
NOISES = (0.4, 0.3, 0.2, 0.12, 0.05)  # how often the letters of the channels with low noise go astray


def random_binary(rng: np.random.Generator, *, k: int, gap: float) -> Instance:
    """k random binary channels, the best one `gap` ahead of the second within 2 % [EBWGW24, Sec. IV]."""
    return random_binary_channels(rng, k, gap * NATS_PER_BIT)


def random_set(
    rng: np.random.Generator,
    *,
    k: int,
    n_inputs: int = 2,
    n_outputs: int = 2,
    gap: float | None = None,
    concentration: float = 1.0,
) -> Instance:
    """k independent channels whose rows have a symmetric Dirichlet law (1: uniform), given their gap within 2 %.

    Without `gap` as they come. Channels with many letters are nearly equally good; a
    `concentration` below 1 spreads them.
    """
    W = rng.dirichlet(np.full(n_outputs, concentration), size=(POOL, n_inputs))
    sets = rng.integers(POOL, size=(DRAWS, k))
    if gap is None:
        return Instance.of([Channel.from_rows(rows, normalize=True) for rows in W[sets[0]]])
    answer = capacities(W, normalize=True, workers=1)
    second, first = np.moveaxis(np.partition(answer.lower[sets], k - 2, axis=1)[:, -2:], 1, 0)
    fitting = np.flatnonzero(np.abs(first - second - gap) <= GAP_TOLERANCE * gap)
    if not len(fitting):
        raise InputError(
            f"none of {DRAWS} random sets of {k} channels {n_inputs} x {n_outputs} has a gap of {gap:.4g} bits;"
            " ask for another gap, or a concentration below 1"
        )
    return Instance.of([Channel.from_rows(rows, normalize=True) for rows in W[sets[fitting[0]]]])


def low_noise(rng: np.random.Generator, *, n_letters: int = 3) -> Instance:
    """Five channels (1 - e) I + e D with e = 0.4, 0.3, 0.2, 0.12, 0.05, the rows of each D uniform on the simplex."""
    return Instance.of([_mostly_right(rng, n_letters, noise) for noise in NOISES])


def tie(rng: np.random.Generator, *, k: int = 2, n_letters: int = 2, noise: float = 1.0) -> Instance:
    """k channels that are equally good: one with low noise (1: random rows), with rows and columns permuted."""
    W = _mostly_right(rng, n_letters, number_in(noise, "the noise of a tie", low=0.0, high=1.0)).W
    return Instance.of([_permuted(W, *(rng.permutation(n_letters).tolist() for _ in range(2))) for _ in range(k)])


def mixed(rng: np.random.Generator, *, capacity: float = 0.5, gap: float = 0.02) -> Instance:
    """A binary symmetric channel and an erasure channel of one capacity, and a ternary one that is `gap` better."""
    capacity = number_in(capacity, "the capacity of mixed channels (bits)", low=0.0, high=1.0)
    best = _noisier(lambda p: q_ary_symmetric(3, p), capacity + gap, most=2 / 3)
    return Instance.of([bsc(bsc_of_capacity(capacity)), bec(1.0 - capacity), best])


def near_tie(rng: np.random.Generator, *, k: int = 2, gap: float = 1e-4, capacity: float = 0.3) -> Instance:
    """k - 1 binary symmetric channels of one capacity, and one that is `gap` better."""
    rival, best = bsc(bsc_of_capacity(capacity)), bsc(bsc_of_capacity(capacity + gap))
    return Instance.of([rival] * (k - 1) + [best])


def noiseless_rival(rng: np.random.Generator, *, gap: float = 0.05) -> Instance:
    """A rival that never errs, with 1 bit; a ternary symmetric channel that errs, with 1 + gap; and a poor one."""
    best = _noisier(lambda p: q_ary_symmetric(3, p), 1.0 + gap, most=2 / 3)
    return Instance.of([bsc(0.0), bsc(0.01), best])


def useless_rivals(rng: np.random.Generator, *, k: int = 5, gap: float = 0.03) -> Instance:
    """k - 1 channels of capacity 0, and one of capacity `gap`."""
    return Instance.of([bsc(0.5)] * (k - 1) + [bsc(bsc_of_capacity(gap))])


def z_against_bsc(rng: np.random.Generator, *, q: float = 0.5, gap: float = 1e-3) -> Instance:
    """A Z-channel between two binary symmetric channels, one `gap` worse and one `gap` better."""
    worse, better = (bsc(bsc_of_capacity(z_capacity(q) + sign * gap)) for sign in (-1, 1))
    return Instance.of([z_channel(q), worse, better])


def relabelled(rng: np.random.Generator, *, k: int = 4, n_letters: int = 3, gap: float = 0.02) -> Instance:
    """A random channel, and k - 1 rivals: that channel blurred until it is `gap` worse, rows and columns permuted."""
    W = rng.dirichlet(np.ones(n_letters), size=n_letters)
    target = max(capacity(W, tol=CAPACITY_TOLERANCE).lower - gap, 0.0)
    blurred = _noisier(lambda t: Channel.from_rows((1 - t) * W + t / n_letters, normalize=True), target, most=1.0).W
    orders = list(permutations(range(n_letters)))
    shuffled = [_permuted(blurred, *(orders[i] for i in rng.integers(len(orders), size=2))) for _ in range(k - 1)]
    return Instance.of([*shuffled, Channel.from_rows(W)])


def _mostly_right(rng: np.random.Generator, n_letters: int, noise: float) -> Channel:
    """(1 - noise) I + noise D, the rows of D uniform on the simplex."""
    wrong = rng.dirichlet(np.ones(n_letters), size=n_letters)
    return Channel.from_rows((1.0 - noise) * np.eye(n_letters) + noise * wrong, normalize=True)


def _permuted(W: Floats, rows: Sequence[int], columns: Sequence[int]) -> Channel:
    return Channel.from_rows(W[np.ix_(rows, columns)])


def _noisier(family: Callable[[float], Channel], bits: float, *, most: float) -> Channel:
    """The member of a family whose capacity falls with its parameter that has this capacity, by bisection."""
    low, high = 0.0, most
    while high - low > 1e-14:
        middle = (low + high) / 2
        above = capacity(family(middle), tol=CAPACITY_TOLERANCE).lower > bits
        low, high = (middle, high) if above else (low, middle)
    return family(low)


FAMILIES: Mapping[str, Callable[..., Instance]] = {
    "random-binary": random_binary,
    "random": random_set,
    "low-noise": low_noise,
    "tie": tie,
    "mixed": mixed,
    "near-tie": near_tie,
    "noiseless-rival": noiseless_rival,
    "useless-rivals": useless_rivals,
    "z-against-bsc": z_against_bsc,
    "relabelled": relabelled,
}
"""The families by the names that a study's file uses; their keywords are the file's keys."""
