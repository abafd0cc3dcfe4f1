"""Simulated senses of known channels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.channels import as_channel
from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Request
from bestchannel.policies.identify import channels_in_brief


class Simulator:
    """Simulated senses of known channels: multinomial counts, one draw per (channel, input), however many senses.

    Called with a `Request` it returns a mapping from channel numbers to counts of shape (n_inputs, n_outputs).

    Parameters
    ----------
    channels
        A mapping from names to channels or rows of probabilities, or a sequence of them, then named 0, 1, …
    rng
        The generator that draws, or its seed.

    Attributes
    ----------
    keys
        What every channel is called.

    Raises
    ------
    InputError
        Where there is no channel, or one is refused.

    Examples
    --------
    >>> sensor = Simulator([[[0.9, 0.1], [0.1, 0.9]]], rng=1)
    >>> int(sensor(Request(1, {0: (10**18, 5)}))[0].sum())
    1000000000000000005
    """

    def __init__(self, channels: Mapping[str, object] | Sequence[object], *, rng: np.random.Generator | int) -> None:
        named = dict(channels) if isinstance(channels, Mapping) else dict(enumerate(channels))
        if not named:
            raise InputError("a simulator requires at least one channel; none was given")
        self.keys: Sequence[Hashable] = list(named)
        self.channels = [as_channel(channel) for channel in named.values()]
        self.rng = np.random.default_rng(rng)
        # multinomial gives what rounding leaves over to its last letter: one of probability 0 must not be it
        self._letters = [np.argsort(channel.W > 0.0, axis=1, kind="stable") for channel in self.channels]
        self._laws = [
            (channel.W / channel.W.sum(axis=1, keepdims=True))[_rows(letters), letters]
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
        """Draw the counts of every (channel, input) in the order of the request."""
        counts, senses = dict[int, Integers](), request.senses
        for _, alike in groupby(senses, self._sizes.__getitem__):
            channels = tuple(alike)
            counts |= zip(channels, self._drawn(channels, [n for j in channels for n in senses[j]]), strict=True)
        return counts

    def _drawn(self, channels: tuple[int, ...], senses: list[int]) -> Integers:
        """The counts of channels of one size, in one call: the generator draws row by row, as in one call for each."""
        laws, places = self._together(channels)
        return self.rng.multinomial(senses, laws).take(places)

    def _together(self, channels: tuple[int, ...]) -> tuple[Floats, Integers]:
        """The laws of channels, row by row, and where each letter is drawn; requests mostly ask for the same."""
        known = self._last.get(channels)
        if known is None:
            laws, letters = (np.concatenate([part[j] for j in channels]) for part in (self._laws, self._letters))
            places = np.argsort(letters, axis=1) + letters.shape[1] * _rows(letters)
            known = laws, places.reshape(len(channels), -1, letters.shape[1])
            self._last = {channels: known}  # at once, so that threads may share a simulator
        return known


def _rows(table: Integers) -> Integers:
    """The number of every row, as a column."""
    return np.arange(len(table))[:, None]
