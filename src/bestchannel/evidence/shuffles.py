"""Counts that were fixed beforehand, in random orders: what may be looked at, and what is then bet on.

Where the number of senses of each input was not chosen by looking at outputs, the senses of an input are exchangeable:
in an order drawn without regard to the outputs they are as good as sensed one after the other. A `pilot` of an eighth
of them is set aside once. Of the others, every shuffle makes eight parts by tossing three coins for each sense; the
first parts are looked at, and each later one is bet on and then looked at too. docs/theory/recorded-counts.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.random import BitGenerator, Philox

from bestchannel.arrays import Integers

MOST_SHUFFLES, FEWEST_SHUFFLES = 64, 8
CELLS_TIMES_SHUFFLES, CHANNELS_TIMES_SHUFFLES, SENSES_TIMES_SHUFFLES = 2**14, 2**13, 2**33
"""Large channels, each of many, and counts of many senses get fewer shuffles, for the time they take."""

COINS = 3
FIRST_BET = 3
"""The part of 2^COINS from which on senses are bet on."""

WORD = 64
AT_ONCE = 2**18
"""Random words that are drawn at a time."""


@dataclass(frozen=True)
class Shuffles:
    """The counts of one channel in several random orders."""

    pilot: Integers  # [x, y] looked at before all shuffles
    known: Integers  # [j, part, x, y] looked at before this part is bet on, the pilot included
    tested: Integers  # [j, part, x, y] bet on

    def __len__(self) -> int:
        return len(self.tested)


def number_of_shuffles(cells: int, senses: int = 0, n_channels: int = 1) -> int:
    """How many shuffles channels get: so many of them, with up to so many cells (x, y) and senses.

    >>> number_of_shuffles(4), number_of_shuffles(64 * 64), number_of_shuffles(4, senses=10**9)
    (64, 8, 8)
    """
    affordable = min(
        CELLS_TIMES_SHUFFLES // cells, SENSES_TIMES_SHUFFLES // max(senses, 1), CHANNELS_TIMES_SHUFFLES // n_channels
    )
    return min(max(affordable, FEWEST_SHUFFLES), MOST_SHUFFLES)


def shuffled(counts: Integers, name: str, shuffles: int) -> Shuffles:
    """The counts of the channel with this name, shuffled by the same coins on every machine.

    Name and counts are hashed to the key of the coins. With one key for all counts, part of the coins' luck would be
    the same in every recording of a channel, and would not average out.
    """
    content = f"{name} {counts.tolist()}".encode()
    coins = Philox(key=int.from_bytes(sha256(content).digest()[:16], "big"))
    pilot = parts(counts[None], coins)[0, 0]
    tosses = parts(np.broadcast_to(counts - pilot, (shuffles, *counts.shape)), coins)
    so_far = pilot + np.cumsum(tosses, axis=0)
    known, tested = so_far[FIRST_BET - 1 : -1], tosses[FIRST_BET:]
    return Shuffles(pilot, known.swapaxes(0, 1), tested.swapaxes(0, 1))


def parts(counts: Integers, coins: BitGenerator) -> Integers:
    """Each count as the sum of 2^COINS random parts, which are the first axis: every sense goes to any, all alike."""
    split = counts[None]
    for _ in range(COINS):
        some = heads(split, coins)
        split = np.concatenate([some, split - some])
    return split


def heads(tosses: Integers, coins: BitGenerator) -> Integers:
    """How many of so many fair coins show heads, for each number of tosses: bits of the generator, 64 at a time.

    The bits of a generator are the same everywhere and for ever, which is not promised of numpy's distributions.
    """
    left, shown = tosses.reshape(-1).copy(), np.zeros(tosses.size, dtype=np.int64)
    while (at := np.flatnonzero(left)).size:
        words = max(1, min(int(left[at].min()) // WORD, AT_ONCE // at.size))
        bits = coins.random_raw(at.size * words).reshape(at.size, words)
        tossed = np.minimum(left[at], WORD * words)
        bits[:, -1] >>= (WORD * words - tossed).astype(np.uint64)  # 0 unless fewer than a word are left
        shown[at] += np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        left[at] -= tossed
    return shown.reshape(tosses.shape)
