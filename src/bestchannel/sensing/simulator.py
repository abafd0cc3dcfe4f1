"""Simulated senses of known channels, and random sets of such channels on which policies are tried."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bestchannel.arrays import Floats, Integers, number_in
from bestchannel.capacity import capacities, capacities_by_name
from bestchannel.channels import Channel, as_channel
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies import ChannelLabels, Request
from bestchannel.policies.identify import channels_in_brief
from bestchannel.policies.request import told

GAP_TOLERANCE = 0.02  # how far, relatively, the smallest gap of an instance may be from the requested one
SHOTS_AT_ONCE = 2**16  # whose answers are drawn before they are counted
CAPACITY_TOLERANCE = 1e-12  # bits: far below the gap of any near-tie that a run could resolve


class Simulator:
    """Simulated senses of known channels: multinomial counts, one draw per (channel, input), however many senses.

    Called with a `Request` it returns a mapping from channel numbers to counts of shape (n_inputs, n_outputs); where
    that asks for shots, to counts of pairs of answers.

    Parameters
    ----------
    channels
        A mapping from names to channels or rows of probabilities, or a sequence of them, then named 0, 1, …
    rng
        The generator that draws, or its seed.
    correlation
        Of the answers of a shot, from -1 to 1: each is the quantile, in its row, of a normal variable, and those of any
        two channels have this correlation. Where it is negative, that of two even or two odd channels is positive.

    Attributes
    ----------
    keys
        What every channel is called.

    Raises
    ------
    InputError
        Where there is no channel, or one or the correlation is refused.

    Examples
    --------
    >>> sensor = Simulator([[[0.9, 0.1], [0.1, 0.9]]], rng=1)
    >>> int(sensor(Request(1, {0: (10**18, 5)}))[0].sum())
    1000000000000000005
    >>> sensor = Simulator([[[0.9, 0.1], [0.1, 0.9]]] * 2, rng=1, correlation=1)
    >>> sensor(Request(1, {0: (8, 0), 1: (8, 0)}, paired=0))[1][0].tolist()
    [[8, 0], [0, 0]]
    """

    def __init__(
        self,
        channels: Mapping[str, object] | Sequence[object],
        *,
        rng: np.random.Generator | int,
        correlation: float = 0.0,
    ) -> None:
        named = dict(channels) if isinstance(channels, Mapping) else dict(enumerate(channels))
        if not named:
            raise InputError("a simulator requires at least one channel; none was given")
        self.keys: Sequence[Hashable] = list(named)
        self.channels = [as_channel(channel) for channel in named.values()]
        try:
            self.rng = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise InputError(f"rng must be a generator of NumPy or its seed, a number >= 0; it is {rng!r}") from None
        self.correlation = number_in(correlation, "the correlation", low=-1.0, high=1.0, low_open=False)
        # multinomial gives what rounding leaves over to its last letter: one of probability 0 must not be it
        self._letters = [np.argsort(channel.W > 0.0, axis=1, kind="stable") for channel in self.channels]
        self._laws = [
            np.take_along_axis(channel.W / channel.W.sum(axis=1, keepdims=True), letters, axis=1)
            for channel, letters in zip(self.channels, self._letters, strict=True)
        ]
        self._sizes = self.alphabets
        self._last = dict[tuple[int, ...], tuple[Floats, Integers]]()

    def __repr__(self) -> str:
        return f"<Simulator of {channels_in_brief(self.parties)}>"

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel, as policies take it."""
        return [(channel.n_inputs, channel.n_outputs) for channel in self.channels]

    @property
    def parties(self) -> list[ChannelLabels]:
        """What every channel and its letters are called."""
        return [ChannelLabels(key, c.inputs, c.outputs) for key, c in zip(self.keys, self.channels, strict=True)]

    def __call__(self, request: Request) -> dict[int, Integers]:
        """Draw the counts of every (channel, input) in the order of the request.

        Channels of one size are drawn in one call: the generator draws row by row, as in one call for each.
        """
        if request.paired is not None:
            return self._shots(request, request.paired)
        counts = dict[int, Integers]()
        for _, group in groupby(request.senses, self._sizes.__getitem__):
            channels = tuple(group)
            last = self._last.get(channels)  # the next request is mostly about the same ones
            if last is None:
                laws, letters = (np.concatenate([rows[j] for j in channels]) for rows in (self._laws, self._letters))
                drawn_at = np.argsort(letters, axis=1) + letters.shape[1] * np.arange(len(letters))[:, None]
                last = laws, drawn_at.reshape(len(channels), -1, letters.shape[1])
                self._last = {channels: last}  # at once, so that threads may share a simulator
            laws, places = last
            drawn = self.rng.multinomial([n for channel in channels for n in request.senses[channel]], laws)
            counts |= zip(channels, drawn.take(places), strict=True)
        return counts

    def _shots(self, request: Request, b: int) -> dict[int, Integers]:
        """The answers of channel b, and for every other the pairs with them.

        Independent answers are drawn as counts: those of b, and given them those of another in each of its cells.
        """
        if self.correlation:
            return self._correlated_shots(request, b)
        alone = self(Request(request.number, {b: request.senses[b]}))
        places = {j: np.argsort(self._letters[j], axis=1)[:, None, :] for j in request.senses if j != b}
        return alone | {
            j: np.take_along_axis(self.rng.multinomial(alone[b], self._laws[j][:, None, :]), place, axis=2)
            for j, place in places.items()
        }

    def _correlated_shots(self, request: Request, b: int) -> dict[int, Integers]:
        from scipy.special import ndtr  # deferred: slow to import

        channels, k = list(request.senses), len(self.channels)
        common = np.sqrt(abs(self.correlation)) * np.where(np.arange(k) % 2, np.sign(self.correlation), 1.0)[channels]

        def answers(x: int, size: int) -> dict[int, Integers]:
            shared, own = self.rng.standard_normal((size, 1)), self.rng.standard_normal((size, len(channels)))
            uniform = ndtr(common * shared + np.sqrt(1.0 - abs(self.correlation)) * own)
            return {j: self._quantiles(j, x, uniform[:, place]) for place, j in enumerate(channels)}

        parts = (
            (x, answers(x, min(SHOTS_AT_ONCE, wanted - first)))
            for x, wanted in enumerate(request.senses[b])
            for first in range(0, wanted, SHOTS_AT_ONCE)
        )
        return told(request, self._sizes, parts)

    def _quantiles(self, channel: int, x: int, uniform: Floats) -> Integers:
        W = self.channels[channel].W[x]
        last = int(np.flatnonzero(W)[-1])  # what rounding leaves over must not go to a letter of probability 0
        return np.minimum(np.searchsorted(np.cumsum(W), uniform, side="right"), last)


def child(seed: int, *path: int) -> np.random.Generator:
    """The generator of this descendant of a seed, as `SeedSequence.spawn` would hand it out."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


@dataclass(frozen=True)
class Instance:
    """Channels, their capacities in bits, and which of them is the best."""

    channels: tuple[Channel, ...]
    capacities: Floats
    best: int

    @classmethod
    def of(cls, channels: Iterable[Channel]) -> Instance:
        """The channels with their capacities; their alphabets may differ."""
        known = tuple(channels)
        answers = capacities_by_name({str(j): channel for j, channel in enumerate(known)}, tol=CAPACITY_TOLERANCE)
        values = np.array([(answer.lower + answer.upper) / 2 for answer in answers.values()])
        return cls(known, values, int(np.argmax(values)))

    @property
    def gaps(self) -> Floats:
        """Δ_j = max C - C_j, in bits."""
        return self.capacities[self.best] - self.capacities

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel, as policies take it."""
        return [(channel.n_inputs, channel.n_outputs) for channel in self.channels]


def random_binary_channels(rng: np.random.Generator, k: int, gap_nats: float, *, pool: int = 1024) -> Instance:
    """k of `pool` random binary channels, the best one about `gap_nats` ahead of the second [EBWGW24, Sec. IV].

    The rows of the pool are uniform on the simplex. All choices of k channels from it whose
    smallest gap is the requested one within 2 % are equally likely, and so are their orders.

    >>> instance = random_binary_channels(np.random.default_rng(1), 10, 0.13)
    >>> bool(abs(np.sort(instance.gaps)[1] * np.log(2) / 0.13 - 1) < 0.02)
    True
    """
    if not 2 <= k <= pool:
        raise InputError(f"k must be between 2 and the {pool} channels of the pool; it is {k}")
    gap = number_in(gap_nats, "the smallest gap (nats)", low=0.0, high=NATS_PER_BIT) / NATS_PER_BIT
    W = rng.dirichlet([1.0, 1.0], size=(pool, 2))
    values = capacities(W, workers=1).value
    ranked = np.argsort(-values, kind="stable")
    first, second = _leaders(values[ranked], k, gap, rng)
    others = rng.choice(np.arange(second + 1, pool), size=k - 2, replace=False)
    chosen = rng.permutation(ranked[np.array([first, second, *others])])
    return Instance.of(map(Channel.from_rows, W[chosen]))


def _leaders(falling: Floats, k: int, gap: float, rng: np.random.Generator) -> Integers:
    """The ranks of the best two channels: `gap` bits apart, drawn by the number of ways to add k - 2 lesser ones."""
    pool = len(falling)
    apart = falling[:, None] - falling[None, : pool - k + 2]
    fitting = np.argwhere(np.abs(apart - gap) <= GAP_TOLERANCE * gap)
    if not len(fitting):
        raise InputError(
            f"no two of the {pool} random channels are {gap * NATS_PER_BIT:.3g} nats apart with {k - 2} below them;"
            " draw a larger pool, or ask for a smaller gap"
        )

    def log_ways(lesser: int) -> float:
        """log of the binomial coefficient of `lesser` over k - 2."""
        return math.lgamma(lesser + 1) - math.lgamma(k - 1) - math.lgamma(lesser - k + 3)

    ways = np.array([log_ways(pool - 1 - second) for second in fitting[:, 1].tolist()])
    weights = np.exp(ways - ways.max())
    pair: Integers = fitting[rng.choice(len(fitting), p=weights / weights.sum())]
    return pair
