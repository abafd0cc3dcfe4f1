"""Trial logs: the outputs of every input of every channel, in the order in which they were recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.counts.labelled_counts import ChannelLabels, Combinations, RowBlock
from bestchannel.errors import InputError


@dataclass(frozen=True, eq=False)
class Trials:
    """outputs[j][x] are the outputs of input x of channel j in their order, numbered as in its alphabets.

    A trial takes one byte where a channel has at most 256 outputs, two up to 65536.
    """

    alphabets: tuple[ChannelLabels, ...]
    outputs: tuple[tuple[NDArray[Any], ...], ...]
    inferred_outputs: bool


NO_ORDER = (
    "these are counts, which do not say in which order the senses were taken, and a recording requires one row per"
    " sense with the columns x, y and perhaps channel; `bestchannel estimate` takes counts"
)


def in_order(seen: Combinations, log: Iterable[RowBlock]) -> Trials:
    """The trials of a log whose rows are numbered by `seen`."""
    blocks = [_compact(block) for block in log]
    if not sum(map(len, blocks)):
        raise InputError("there must be trials; there is none")
    alphabets = tuple(seen.labels())
    channel, x, y = seen.positions()
    first_input = np.cumsum([0, *(len(labels.inputs) for labels in alphabets)])
    group = first_input[channel] + x
    group = group.astype(np.min_scalar_type(int(group.max())))  # NumPy sorts two bytes by radix, in linear time
    symbols, ends = _sorted_by_group(blocks, group, y, int(first_input[-1]))
    sequences = np.split(symbols, ends[:-1])
    per_channel = (tuple(sequences[a:b]) for a, b in pairwise(first_input.tolist()))
    return Trials(alphabets, tuple(per_channel), seen.inferred_outputs)


def _compact(block: RowBlock) -> NDArray[Any]:
    """The combinations of the rows, in two bytes per row where that is enough."""
    if block.counts is not None:
        raise InputError(NO_ORDER)
    few = not len(block.combinations) or int(block.combinations.max()) < 2**16
    return block.combinations.astype(np.uint16 if few else np.uint32)


def _sorted_by_group(
    blocks: list[NDArray[Any]], group: NDArray[Any], symbol: NDArray[Any], n_groups: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The symbols of all rows, those of a group together and in their order, and where each group ends.

    Block by block, so that nothing of the size of the whole log is made but the answer.
    """
    sizes = sum(np.bincount(group[block], minlength=n_groups) for block in blocks)
    ends = np.cumsum(sizes)
    free = ends - sizes
    symbols = np.empty(int(ends[-1]), np.min_scalar_type(int(symbol.max())))
    for i, block in enumerate(blocks):
        blocks[i] = block[:0]  # no longer needed, and as large as the answer
        groups = group[block]
        order = np.argsort(groups, kind="stable")
        own = np.bincount(groups, minlength=n_groups)
        symbols[np.repeat(free - (np.cumsum(own) - own), own) + np.arange(len(block))] = symbol[block[order]]
        free += own
    return symbols, ends
