"""Counts that were fixed beforehand, in random orders: what may be looked at, and what is then bet on.

Where the number of senses of each input was not chosen by looking at outputs, the senses of an input are exchangeable:
in an order drawn without regard to the outputs they are as good as sensed one after the other. A *split* sets an eighth
of them aside as a `pilot`. Of the others, every shuffle of the split makes eight parts by tossing three coins for each
sense; the first parts are looked at, and each later one is bet on and then looked at too.
docs/theory/recorded-counts.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.random import BitGenerator, Philox

from bestchannel.arrays import Floats, Integers

MOST_SPLITS, FEWEST_SPLITS, FEW_CELLS = 8, 4, 2**11
"""Splits of channels that have so few cells together, and of others."""

MOST_SHUFFLES, FEWEST_SHUFFLES = 16, 4
CELLS_TIMES_SHUFFLES, SENSES_TIMES_SHUFFLES = 2**14, 2**33
"""Large channels, and counts of many senses, get fewer shuffles of a split, for the time they take."""

COINS = 3
FIRST_BET = 3
"""The part of 2^COINS from which on senses are bet on."""

WORD = 64
AT_ONCE = 2**18
"""Random words that are drawn at a time."""


class Effort(NamedTuple):
    """How many splits are averaged, and how many shuffles each of them has."""

    splits: int
    shuffles: int

    @classmethod
    def for_channels(cls, cells: int, senses: int = 0, n_channels: int = 1) -> Effort:
        """What so many channels get, with up to so many cells (x, y) and senses.

        >>> Effort.for_channels(4), Effort.for_channels(64 * 64), Effort.for_channels(4, senses=10**9)
        (Effort(splits=8, shuffles=16), Effort(splits=4, shuffles=4), Effort(splits=8, shuffles=8))
        """
        affordable = min(CELLS_TIMES_SHUFFLES // cells, SENSES_TIMES_SHUFFLES // max(senses, 1))
        splits = MOST_SPLITS if cells * n_channels <= FEW_CELLS else FEWEST_SPLITS
        return cls(splits, min(max(affordable, FEWEST_SHUFFLES), MOST_SHUFFLES))


@dataclass(frozen=True)
class Shuffles:
    """The counts of one split in several random orders."""

    pilot: Integers  # [x, y] looked at before all shuffles
    known: Integers  # [j, part, x, y] looked at before this part is bet on, the pilot included
    tested: Integers  # [j, part, x, y] bet on


def unlabelled(counts: Integers, P: Floats | None = None) -> Integers:
    """The counts with rows and columns in an order of their own, so that the numbering of letters does not matter.

    Where inputs have probabilities, rows are in the order of these first.

    >>> unlabelled(np.array([[7, 1], [2, 9]])).tolist() == unlabelled(np.array([[9, 2], [1, 7]])).tolist()
    True
    """
    columns = _order(np.sort(counts, axis=0).T)
    rows = _order(counts[:, columns] if P is None else np.column_stack([P, counts[:, columns]]))
    columns = columns[_order(counts[np.ix_(rows, columns)].T)]
    return np.ascontiguousarray(counts[np.ix_(rows, columns)])


def _order(vectors: Integers | Floats) -> Integers:
    """The lexicographic order of vectors [i, ...]."""
    order: Integers = np.lexsort(vectors.T[::-1])
    return order


def coins_for(counts: Integers, copy: int, seed: int) -> BitGenerator:
    """Coins of their own for these counts: bits of Philox, keyed by a hash of them, the same on every machine.

    With one key for all counts, part of the coins' luck would be the same in every recording of a channel, and would
    not average out. Channels with equal counts are copies 0, 1, … of them, and have coins of their own too.
    """
    content = f"{seed} {copy} {counts.tolist()}".encode()
    return Philox(key=int.from_bytes(sha256(content).digest()[:16], "big"))


def shuffled(counts: Integers, coins: BitGenerator, shuffles: int) -> Shuffles:
    """A split of the counts with so many shuffles."""
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
