"""`quantise`: measured outputs (RSSI, LLRs, IQ points) become bins, and a log of them a log of symbols.

Edges are given, or learned from the first senses of every input, which are then set aside: of all other senses the
bins are fixed beforehand, so that what is proved of channels holds of the channel from input to bin.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import Floats, Integers, number_in, numeric_array, refuse_masked
from bestchannel.counts.bin_edges import edges_of_line, edges_of_plane
from bestchannel.counts.binning import Binning
from bestchannel.counts.frames import is_frame, log_of_frame
from bestchannel.counts.labelled_counts import ChannelLabels, Combinations, RowBlock, alphabet
from bestchannel.counts.soft_outputs import measured, refuse_measured_inputs
from bestchannel.counts.trials import Trials, in_time
from bestchannel.errors import InputError

Bins = int | Sequence[float] | Literal["none"] | None
"""How many bins, or their edges; "none" where numbers are labels, None where it is not said."""

MOST_BINS = 1024

NOT_SENSES = (
    "these are counts, and bins are made from measured outputs with one row per sense; leave bins (--bins) out, or give"
    " the trials"
)

SET_ASIDE = 100
"""How many senses of every input choose the edges, unless another number, or a share, is given."""


def quantise(log: object, bins: int | Sequence[float], *, set_aside: float = SET_ASIDE) -> Trials:
    """Measured outputs as bins: a log with few symbols, for `estimate` and `Recording`.

    The capacity of the binned channel is at most that of the channel itself, I(X; bin(Y)) <= I(X; Y), by data
    processing. With edges from the first senses of every input, which are set aside, all guarantees hold for the binned
    channel, as its bins were fixed before the other senses.

    Parameters
    ----------
    log
        A mapping from names to pairs (x, y), x being the inputs sent and y what was measured, in their order: real
        numbers, or points of the plane as complex numbers or of shape (n, 2). Or a data frame (pandas, polars, pyarrow)
        with the columns x, y and perhaps channel.
    bins
        How many bins every channel gets, with edges of its own that keep as much as they can of what the output says
        about the input. Or the edges, for all channels: bin i is edges[i-1] <= y < edges[i], one is below the first,
        one from the last on; points of the plane are cut so along both coordinates.
    set_aside
        Where `bins` is a number: how many senses of every input, the first ones, choose the edges and are used for
        nothing else. Or which share of them, in (0, 1); a guarantee then supposes that no output decided how many
        senses to take.

    Returns
    -------
    Trials
        The other senses in their order, with the bins as outputs; `binnings` has the edges and how many were set aside.

    Raises
    ------
    InputError
        Where outputs are no numbers, edges do not increase, or there are too few senses to learn edges from.

    Examples
    --------
    >>> import numpy as np, bestchannel as bc
    >>> rng = np.random.default_rng(1)
    >>> x = rng.integers(0, 2, 20_000)
    >>> trials = bc.quantise({"link": (x, 2 * x - 1 + rng.normal(0, 0.8, 20_000))}, bins=8)
    >>> result = bc.estimate(trials)["link"]
    >>> round(result.capacity, 2), result.n_outputs, result.senses  # the soft capacity is 0.637 bit
    (0.63, 8, 19800)
    """
    seen = MeasuredOutputs()
    if is_frame(log):
        return seen.quantised([log_of_frame(log, seen)], bins, set_aside)
    if not isinstance(log, Mapping) or not log:
        raise InputError(
            "a log of measured outputs must map names to pairs (x, y), or be a data frame with the columns x and y; it"
            f" is a {type(log).__name__}"
        )
    return _quantised([_of_pair(name, pair) for name, pair in log.items()], bins, set_aside)


@dataclass(frozen=True, eq=False)
class _MeasuredChannel:
    """The senses of a channel in their order: input inputs[x[i]] gave values[i], of shape (n, 1) or (n, 2)."""

    name: Any
    inputs: tuple[str, ...]
    x: Integers
    values: Floats


class MeasuredOutputs(Combinations):
    """A numbering of the rows of a log that keeps their outputs as numbers, not as labels."""

    most_spelled = 2**28  # every row may have a number of its own
    rows_differ = True

    def __init__(self, *, transpose: bool = False) -> None:
        super().__init__(transpose=transpose)
        self._pairs: dict[tuple[str, str], int] = {}
        self._pair_of = array("q")
        self._values = array("d")
        self._dimension = 0

    def number(self, channel: str, x: str, y: str, place: str) -> int:
        """See `Combinations`; rows of one combination may get several numbers."""
        x, y = (y, x) if self.transpose else (x, y)
        value = measured(y)
        if value is None:
            raise InputError(f"{place}, y must be a number to be put into a bin; it is {y.strip()!r}")
        self._dimension = self._dimension or len(value)
        if len(value) != self._dimension:
            raise InputError(
                f"{place}, y must be a {_KIND[self._dimension]} number like those before; it is {y.strip()!r}"
            )
        pair = channel.strip(), x.strip()
        if pair not in self._pairs:
            for role, label in zip(("channel", "x"), pair, strict=True):
                self._spellings[role].add(label, f"{place}, ")
        self._pair_of.append(self._pairs.setdefault(pair, len(self._pairs)))
        self._values.extend(value)
        return len(self._pair_of) - 1

    def channel_names(self) -> list[str]:
        """See `Combinations`."""
        return list(dict.fromkeys(channel for channel, _ in self._pairs))

    def quantised(self, log: Iterable[RowBlock], bins: Bins, set_aside: float) -> Trials:
        """The trials of a log whose rows are numbered by this."""
        rows, by_time = in_time([_without_counts(block) for block in log])
        order = np.concatenate([np.zeros(0, np.int64), *rows])
        if not len(order):
            raise InputError("there must be trials; there is none")
        pair = np.frombuffer(self._pair_of, np.int64)[order]
        values = np.frombuffer(self._values).reshape(-1, self._dimension)[order]
        return replace(_quantised(self._channels_of(pair, values), bins, set_aside), by_time=by_time)

    def _channels_of(self, pair: Integers, values: Floats) -> list[_MeasuredChannel]:
        found = []
        for name in self.channel_names():
            numbers = {x: i for (channel, x), i in self._pairs.items() if channel == name}
            inputs = alphabet(numbers)
            position = np.full(len(self._pairs), -1)
            position[[numbers[label] for label in inputs]] = np.arange(len(inputs))
            own = position[pair] >= 0
            found.append(_MeasuredChannel(name, tuple(inputs), position[pair[own]], values[own]))
        return found


_KIND = {1: "real", 2: "complex"}


def _without_counts(block: RowBlock) -> RowBlock:
    if block.counts is not None:
        raise InputError(NOT_SENSES)
    return replace(block, combinations=block.combinations.astype(np.int64))


def _of_pair(name: object, pair: object) -> _MeasuredChannel:
    """Inputs and outputs given as arrays."""
    where = f'the senses of channel "{name}"'
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise InputError(f"{where} must be a pair (x, y) of the inputs and the outputs; they are {type(pair).__name__}")
    refuse_masked(pair[0], where)
    labels, values = [str(label) for label in np.asarray(pair[0]).ravel().tolist()], _points(pair[1], where)
    if len(labels) != len(values) or not labels:
        raise InputError(
            f"{where} must have one output per input; they have {len(labels)} inputs, {len(values)} outputs"
        )
    inputs = alphabet(labels)
    index = {label: i for i, label in enumerate(inputs)}
    return _MeasuredChannel(name, tuple(inputs), np.array([index[label] for label in labels]), values)


def _points(outputs: object, where: str) -> Floats:
    """Outputs as an array of shape (n, 1) or (n, 2)."""
    refuse_masked(outputs, where)
    values = np.asarray(outputs)
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    numbers: NDArray[Any] = numeric_array(values, f"the outputs of {where.removeprefix('the senses of ')}")
    points = numbers.astype(np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or points.shape[1] not in _KIND:
        raise InputError(f"{where} must have outputs of shape (n,) or (n, 2); their shape is {numbers.shape}")
    return points


def _quantised(channels: Sequence[_MeasuredChannel], bins: Bins, set_aside: float) -> Trials:
    n_bins, edges = _checked(bins)
    binned = [_binned(channel, n_bins, edges, set_aside) for channel in channels]
    return Trials(
        tuple(labels for labels, _, _, _ in binned),
        tuple(outputs for _, outputs, _, _ in binned),
        False,
        tuple(sent for _, _, sent, _ in binned),
        tuple(binning for _, _, _, binning in binned),
    )


_Binned = tuple[ChannelLabels, tuple[NDArray[Any], ...], NDArray[Any], Binning]


def _binned(channel: _MeasuredChannel, n_bins: int, edges: tuple[float, ...], set_aside: float) -> _Binned:
    """The labels of the channel, the bins of each input in their order, the inputs in their order, and its bins."""
    _refuse_no_number(channel)
    refuse_measured_inputs(channel.name, channel.inputs, np.bincount(channel.x))
    used = np.ones(len(channel.x), np.bool_) if edges else ~_first(channel, n_bins, set_aside)
    binning = _given(channel, edges) if edges else _learned(channel, ~used, n_bins, by_share=set_aside < 1)
    x, y = channel.x[used], binning.numbers(channel.values[used])
    labels = ChannelLabels(channel.name, channel.inputs, binning.labels(), binning.condition)
    symbols = y.astype(np.min_scalar_type(len(labels.outputs) - 1))
    by_input = tuple(symbols[x == i] for i in range(len(channel.inputs)))
    return labels, by_input, x.astype(np.min_scalar_type(len(channel.inputs) - 1)), binning


def _refuse_no_number(channel: _MeasuredChannel) -> None:
    plane = channel.values.shape[1] == 2
    bad = np.flatnonzero((~np.isfinite(channel.values) if plane else np.isnan(channel.values)).any(axis=1))
    if len(bad):
        point = ", ".join(f"{value:g}" for value in channel.values[bad[0]])
        raise InputError(
            f'sense {bad[0] + 1} of channel "{channel.name}" must have an output that is a number; it has {point}'
        )


def _first(channel: _MeasuredChannel, n_bins: int, set_aside: float) -> NDArray[np.bool_]:
    """Which senses are set aside: the first of every input."""
    totals = np.bincount(channel.x, minlength=len(channel.inputs))
    if isinstance(set_aside, int | np.integer) and not isinstance(set_aside, bool):
        wanted = np.full(len(totals), set_aside)
    else:
        share = number_in(set_aside, "set_aside", low=0.0, high=1.0, low_open=True, high_open=True)
        wanted = np.floor(share * totals).astype(np.int64)
    short = np.flatnonzero((wanted >= totals) | (wanted < 0))
    if len(short) or wanted.sum() < 2 * n_bins:
        raise InputError(
            f'channel "{channel.name}" must have {2 * n_bins} senses or more to choose the edges of {n_bins} bins, and'
            f" others of every input; {int(wanted.sum()):,} of its {int(totals.sum()):,} senses would be set aside;"
            f" {_other_edges(channel, totals, n_bins)}"
        )
    order = np.argsort(channel.x, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(totals) - totals, totals)
    return np.asarray(rank < wanted[channel.x])


def _other_edges(channel: _MeasuredChannel, totals: Integers, n_bins: int) -> str:
    """How to get edges where too few senses would be set aside, or all."""
    middle = float(np.median(channel.values))
    share = "--set-aside 0.5 (set_aside=0.5) takes half of them, or " if (totals // 2).sum() >= 2 * n_bins else ""
    return f"{share}give the edges, as --bins={middle:.6g}, with the comma (bins=[{middle:.6g}])"


def _given(channel: _MeasuredChannel, edges: tuple[float, ...]) -> Binning:
    return Binning((edges,) * channel.values.shape[1], None, 0, by_share=False)


def _learned(channel: _MeasuredChannel, aside: NDArray[np.bool_], n_bins: int, *, by_share: bool) -> Binning:
    values, x, count = channel.values[aside], channel.x[aside], int(aside.sum())
    if (values == values[0]).all():
        raise InputError(
            f'the {count} senses of channel "{channel.name}" that are set aside must have different outputs, to choose'
            f" edges from; all are {', '.join(f'{value:g}' for value in values[0])}; give the edges, as"
            f" --bins={values[0][0]:.6g}, with the comma (bins=[{values[0][0]:.6g}])"
        )
    if values.shape[1] == 1:
        return Binning((edges_of_line(values[:, 0], x, n_bins),), None, count, by_share)
    edges, axes = edges_of_plane(values, x, n_bins)
    return Binning(edges, axes, count, by_share)


def _checked(bins: Bins) -> tuple[int, tuple[float, ...]]:
    """The number of bins, and the edges where they are given."""
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if not 2 <= bins <= MOST_BINS:
            raise InputError(
                f"bins must be a number from 2 to {MOST_BINS}, or edges; it is {bins} (one edge at {bins} is"
                f" --bins={bins}, with the comma, or bins=[{bins}])"
            )
        return int(bins), ()
    if bins is None or isinstance(bins, str) or not isinstance(bins, Sequence | np.ndarray):
        raise InputError(f"bins must be a number of bins or a list of edges; it is {bins!r}")
    edges = tuple(float(edge) for edge in numeric_array(bins, "the edges").ravel())
    rising = all(low < high for low, high in pairwise(edges))
    if not edges or len(edges) >= MOST_BINS or not rising or not all(map(math.isfinite, edges)):
        raise InputError(
            f"the edges must be 1 to {MOST_BINS - 1} finite numbers that increase; they are {[*edges][:20]}"
        )
    return len(edges) + 1, edges
