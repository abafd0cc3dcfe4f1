"""Trial logs: the outputs of every input of every channel, in the order in which they were recorded."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Integers
from bestchannel.counts.labelled_counts import ChannelLabels, Combinations, LabelledCounts, RowBlock
from bestchannel.errors import InputError

if TYPE_CHECKING:
    from bestchannel.counts.quantisation import Binning

NO_ORDER = (
    "these are counts, which do not say in which order the senses were taken, and a recording requires one row per"
    " sense with the columns x, y and perhaps channel; `bestchannel estimate` takes counts"
)

NOT_TRIALS = (
    "these look like probabilities, and a recording requires one row per sense with the columns x, y and perhaps"
    " channel; `bestchannel identify --simulate` senses known channels"
)


@dataclass(frozen=True, eq=False)
class Trials:
    """outputs[j][x] are the outputs of input x of channel j in their order, numbered as in its alphabets.

    sent[j] are the inputs of channel j in their order. Input and output of a trial take one byte each where there
    are at most 256 letters, two up to 65536. Where outputs were measured values, binnings[j] are the bins of channel j.
    `by_time` says that the rows had times, and were not in their order.
    """

    alphabets: tuple[ChannelLabels, ...]
    outputs: tuple[tuple[NDArray[Any], ...], ...]
    inferred_outputs: bool
    sent: tuple[NDArray[Any], ...]
    binnings: tuple[Binning | None, ...]
    by_time: bool = False

    def counts(self) -> dict[Hashable, Integers]:
        """counts[x, y] of every channel by its key, of shape (n_inputs, n_outputs)."""
        return {
            labels.key: np.array([np.bincount(outputs, minlength=len(labels.outputs)) for outputs in rows])
            for labels, rows in zip(self.alphabets, self.outputs, strict=True)
        }

    def labelled_counts(self) -> Iterator[LabelledCounts]:
        """The counts of every channel with their labels."""
        every = zip(self.alphabets, self.counts().values(), self.binnings, self.sent, self.outputs, strict=True)
        for labels, table, binning, sent, rows in every:
            outputs = np.concatenate(rows)
            received = np.empty_like(outputs)
            received[np.argsort(sent, kind="stable")] = outputs
            names, order = (labels.inputs, labels.outputs), (sent, received)
            yield LabelledCounts(str(labels.key), table, *names, self.inferred_outputs, binning, order, self.by_time)


def in_order(seen: Combinations, log: Iterable[RowBlock]) -> Trials:
    """The trials of a log whose rows are numbered by `seen`."""
    blocks, by_time = in_time(list(map(_compact, log)))
    if not sum(map(len, blocks)):
        raise InputError("there must be trials; there is none")
    seen.refuse_measured(np.sum([np.bincount(block, minlength=len(seen)) for block in blocks], axis=0))
    alphabets = tuple(seen.labels())
    channel, x, y = seen.positions()
    first_input = np.cumsum([0, *(len(labels.inputs) for labels in alphabets)])
    group = first_input[channel] + x
    group = group.astype(np.min_scalar_type(int(group.max())))  # NumPy sorts two bytes by radix, in linear time
    sent = _split_by_group(list(blocks), channel, x, len(alphabets))
    sequences = _split_by_group(blocks, group, y, int(first_input[-1]))
    per_channel = tuple(tuple(sequences[a:b]) for a, b in pairwise(first_input.tolist()))
    return Trials(alphabets, per_channel, seen.inferred_outputs, tuple(sent), (None,) * len(alphabets), by_time)


def counted_in_order(seen: Combinations, log: Iterator[RowBlock]) -> list[LabelledCounts]:
    """The counts of a log, with the order of its senses if every row is one."""
    blocks: list[RowBlock] = []
    for block in log:
        if block.counts is not None:
            return seen.counted(chain(blocks, [block], log))
        blocks.append(_compact(block))
    return list(in_order(seen, blocks).labelled_counts()) if len(seen) else []


def _compact(block: RowBlock) -> RowBlock:
    """The rows in two bytes each where that is enough."""
    if block.counts is not None:
        raise InputError(NO_ORDER)
    few = not len(block.combinations) or int(block.combinations.max()) < 2**16
    return RowBlock(block.combinations.astype(np.uint16 if few else np.uint32), None, block.times)


def in_time(blocks: list[RowBlock]) -> tuple[list[NDArray[Any]], bool]:
    """The combinations of the rows in the order of their times, if all have one; whether that is another order."""
    rows = [block.combinations for block in blocks]
    times = [block.times for block in blocks if block.times is not None]
    if len(times) < len(blocks) or not times:
        return rows, False
    together = np.concatenate(times)
    if np.all(together[:-1] <= together[1:]):
        return rows, False
    return [np.concatenate(rows)[np.argsort(together, kind="stable")]], True


def _split_by_group(
    blocks: list[NDArray[Any]], group: NDArray[Any], symbol: NDArray[Any], n_groups: int
) -> list[NDArray[Any]]:
    """The symbols of the rows of each group, in their order.

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
    return np.split(symbols, ends[:-1])
