"""`quantise`: measured outputs (RSSI, LLRs, IQ points) become bins, and a log of them a log of symbols.

Edges are given, or learned from the first senses of every input, which are then set aside: of all other senses the
bins are fixed beforehand, so that what is proved of channels holds of the channel from input to bin.

The edges learned keep most of what the output says about the input. Along one axis, of all ways to cut at CELLS
quantiles, the one with the largest I(X; bin) + λ H(bin) is found by dynamic programming, inputs being equally likely.
λ = SHRINKAGE · bins / senses draws the bins towards equal masses while senses are few and what they say of the rows is
mostly noise.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bestchannel.arrays import ChannelLabels, Floats, Integers, number_in, numeric_array, refuse_masked
from bestchannel.counts.frames import is_frame, log_of_frame
from bestchannel.counts.labelled_counts import (
    Combinations,
    RowBlock,
    Trials,
    alphabet,
    in_time,
    measured,
    refuse_measured_inputs,
)
from bestchannel.counts.text_log import GROUPED
from bestchannel.errors import InputError

# how many bins, or their edges; "none" where numbers are labels, None where it is not said
Bins = int | Sequence[float] | Literal["none"] | None
MOST_BINS = 1024
NOT_SENSES = (
    "these are counts, and bins are made from measured outputs with one row per sense; leave bins (--bins) out, or give"
    " the trials"
)

SET_ASIDE = 100  # how many senses of every input choose the edges, unless another number, or a share, is given
LOWER_BOUND = "for binned outputs, whose capacity is a lower bound of that of the measured ones"
SHARED = "provided that no output decided how many senses to take"
"""What a guarantee about bins adds; the second where a share of the senses is set aside, not a number."""

CELLS = 64  # quantiles at which an axis may be cut, at least four for each bin
SHRINKAGE = 10.0
ANGLES = 16  # directions of the axes that are tried in the plane, spread over a quarter turn
DIGITS = 4  # significant digits, relative to the spread of the outputs, to which edges are rounded
_KIND = {1: "real", 2: "complex"}
Edges = tuple[float, ...]
Axes = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Binning:
    """Intervals along one axis or two: bin i of an axis is edges[i - 1] <= u < edges[i], the outer ones being open.

    A point y of the plane has the coordinates u = axes · y; `axes` is None where outputs are real numbers, or points
    that are cut along their own coordinates. `set_aside` senses of the channel chose the edges and were used for
    nothing else, a share of all if `by_share`; 0 where the edges were given.
    """

    edges: tuple[tuple[float, ...], ...]
    axes: tuple[tuple[float, float], ...] | None
    set_aside: int
    by_share: bool

    @property
    def condition(self) -> str:
        """Of what a guarantee is, and on which condition."""
        return f"{LOWER_BOUND}, {SHARED}" if self.by_share else LOWER_BOUND

    def numbers(self, values: Floats) -> Integers:
        """The bin of every output; values has the shape (n, 1) or (n, 2)."""
        coordinates = values if self.axes is None else values @ np.array(self.axes).T
        bins = np.zeros(len(values), np.int64)
        for cuts, u in zip(self.edges, coordinates.T, strict=True):
            bins = bins * (len(cuts) + 1) + np.searchsorted(np.array(cuts), u, side="right")
        return bins

    def labels(self) -> tuple[str, ...]:
        """What the bins are called, in the order of their numbers: <-1, -1..0, 0..1, >=1."""
        axes = []
        for cuts in self.edges:
            ends = [repr(float(cut)).removesuffix(".0") for cut in cuts]
            between = [f"{low}..{high}" for low, high in pairwise(ends)]
            axes.append([f"<{ends[0]}", *between, f">={ends[-1]}"] if ends else ["all"])
        return tuple(" ".join(parts) for parts in product(*axes))


def quantise(log: object, bins: int | Sequence[float], *, set_aside: float = SET_ASIDE) -> Trials:
    """Measured outputs as bins: a log with few symbols, for `estimate` and `Recording`.

    The capacity of the binned channel is at most that of the channel itself, I(X; bin(Y)) <= I(X; Y), by data
    processing. With edges from the first senses of every input, which are set aside, all guarantees hold for the binned
    channel, as its bins were fixed before the other senses.

    Parameters
    ----------
    log
        A mapping from names to pairs (x, y), x being the inputs sent and y what was measured, in their order: real
        numbers, or points of the plane as complex numbers or of shape (n, 2). Or a data frame with the columns x, y and
        perhaps channel.
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
        return seen.quantised(log_of_frame(log, seen), bins, set_aside)
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
        self._written: dict[bool | None, str] = {}  # whether numbers are as 1,000, or None where these are whole

    def number(self, channel: str, x: str, y: str, place: str) -> int:
        """See `Combinations`; rows of one combination may get several numbers."""
        x, y = (y, x) if self.transpose else (x, y)
        value = measured(y)
        if value is None:
            raise InputError(f"{place}, y must be a number to be put into a bin; it is {y.strip()!r}")
        self._dimension = self._dimension or len(value)
        kind = None if "," not in y else GROUPED.fullmatch(y) is not None
        if "." not in y and kind not in self._written:
            self._written[kind] = f"{place}, y is {y.strip()!r}"
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
        blocks = list(log)
        if any(block.counts is not None for block in blocks):
            raise InputError(NOT_SENSES)
        if self._written.keys() == {True, None}:
            raise InputError(
                f"{self._written[True]}, which may be a number of thousands, as others have no comma; write numbers"
                " without a sign between thousands, and with a point before fractions"
            )
        rows, by_time = in_time(blocks)
        order = np.concatenate([np.zeros(0, np.int64), *(row.astype(np.int64) for row in rows)])
        if not len(order):
            raise InputError("there must be trials; there is none")
        pair = np.frombuffer(self._pair_of, np.int64)[order]
        values = np.frombuffer(self._values).reshape(-1, self._dimension)[order]
        return replace(_quantised(self._channels_of(pair, values), bins, set_aside), by_time=by_time)

    def _channels_of(self, pair: Integers, values: Floats) -> Iterator[_MeasuredChannel]:
        for name in self.channel_names():
            numbers = {x: i for (channel, x), i in self._pairs.items() if channel == name}
            inputs = alphabet(numbers)
            position = np.full(len(self._pairs), -1)
            position[[numbers[label] for label in inputs]] = np.arange(len(inputs))
            own = position[pair] >= 0
            yield _MeasuredChannel(name, tuple(inputs), position[pair[own]], values[own])


def _of_pair(name: object, pair: object) -> _MeasuredChannel:
    """Inputs and outputs given as arrays."""
    where = f'the senses of channel "{name}"'
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise InputError(f"{where} must be a pair (x, y) of the inputs and the outputs; they are {type(pair).__name__}")
    refuse_masked(pair[0], where)
    refuse_masked(pair[1], where)
    labels, values = [str(label) for label in np.asarray(pair[0]).ravel().tolist()], np.asarray(pair[1])
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    numbers: NDArray[Any] = numeric_array(values, f'the outputs of channel "{name}"')
    points = numbers.astype(np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or points.shape[1] not in _KIND:
        raise InputError(f"{where} must have outputs of shape (n,) or (n, 2); their shape is {numbers.shape}")
    if len(labels) != len(points) or not labels:
        raise InputError(
            f"{where} must have one output per input; they have {len(labels)} inputs, {len(points)} outputs"
        )
    inputs = alphabet(labels)
    index = {label: i for i, label in enumerate(inputs)}
    return _MeasuredChannel(name, tuple(inputs), np.array([index[label] for label in labels]), points)


def _quantised(channels: Iterable[_MeasuredChannel], bins: Bins, set_aside: float) -> Trials:
    n_bins, edges = _checked(bins)
    labels, sent, received, binnings = zip(*(_binned(c, n_bins, edges, set_aside) for c in channels), strict=True)
    return Trials(labels, sent, received, False, binnings)


def _binned(
    channel: _MeasuredChannel, n_bins: int, edges: Edges, set_aside: float
) -> tuple[ChannelLabels, NDArray[Any], NDArray[Any], Binning]:
    """The labels of the channel, the inputs and the bins of its senses in their order, and how these were made."""
    plane = channel.values.shape[1] == 2
    bad = np.flatnonzero((~np.isfinite(channel.values) if plane else np.isnan(channel.values)).any(axis=1))
    if len(bad):
        point = ", ".join(f"{value:g}" for value in channel.values[bad[0]])
        raise InputError(
            f'sense {bad[0] + 1} of channel "{channel.name}" must have an output that is a number; it has {point}'
        )
    refuse_measured_inputs(channel.name, channel.inputs, np.bincount(channel.x))
    if edges:
        used = np.ones(len(channel.x), np.bool_)
        binning = Binning((edges,) * channel.values.shape[1], None, 0, by_share=False)
    else:
        used = ~_first(channel, n_bins, set_aside)
        binning = _learned(channel, ~used, n_bins, by_share=set_aside < 1)
    x, y = channel.x[used], binning.numbers(channel.values[used])
    labels = ChannelLabels(channel.name, channel.inputs, binning.labels(), binning.condition)
    sides = zip((x, y), labels.alphabet, strict=True)
    sent, received = (letters.astype(np.min_scalar_type(size - 1)) for letters, size in sides)
    return labels, sent, received, binning


def _first(channel: _MeasuredChannel, n_bins: int, set_aside: float) -> NDArray[np.bool_]:
    """Which senses are set aside: the first of every input."""
    totals = np.bincount(channel.x, minlength=len(channel.inputs))
    if isinstance(set_aside, int | np.integer) and not isinstance(set_aside, bool):
        wanted = np.full(len(totals), set_aside)
    else:
        share = number_in(set_aside, "set_aside", low=0.0, high=1.0, low_open=True, high_open=True)
        wanted = np.floor(share * totals).astype(np.int64)
    if np.any((wanted >= totals) | (wanted < 0)) or wanted.sum() < 2 * n_bins:
        middle = float(np.median(channel.values))
        half = "--set-aside 0.5 (set_aside=0.5) takes half of them, or " if (totals // 2).sum() >= 2 * n_bins else ""
        raise InputError(
            f'channel "{channel.name}" must have {2 * n_bins} senses or more to choose the edges of {n_bins} bins, and'
            f" others of every input; {int(wanted.sum()):,} of its {int(totals.sum()):,} senses would be set aside;"
            f" {half}give the edges, as --bins={middle:.6g}, with the comma (bins=[{middle:.6g}])"
        )
    order = np.argsort(channel.x, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(totals) - totals, totals)
    return np.asarray(rank < wanted[channel.x])


def _learned(channel: _MeasuredChannel, aside: NDArray[np.bool_], n_bins: int, *, by_share: bool) -> Binning:
    values, x, count = channel.values[aside], channel.x[aside], int(aside.sum())
    if (values == values[0]).all():
        raise InputError(
            f'the {count} senses of channel "{channel.name}" that are set aside must have different outputs, to choose'
            f" edges from; all are {', '.join(f'{value:g}' for value in values[0])}; give the edges, as"
            f" --bins={values[0][0]:.6g}, with the comma (bins=[{values[0][0]:.6g}])"
        )
    line = values.shape[1] == 1
    edges, axes = ((cuts_of_line(values[:, 0], x, n_bins)[-1],), None) if line else _edges_of_plane(values, x, n_bins)
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


def _edges_of_plane(points: Floats, inputs: Integers, n_bins: int) -> tuple[tuple[Edges, ...], Axes]:
    """Edges along two axes, of at most n_bins cells in all, and the axes as rows; points has the shape (n, 2).

    The axes are at right angles once the noise is as strong in all directions.
    """
    whitening = _whitening(points, inputs)
    turns = (np.pi / 2 * turn / ANGLES for turn in range(ANGLES))
    rotations = (np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) for t in turns)
    found = [grid for axes in rotations for grid in _grids(points, inputs, n_bins, axes @ whitening)]
    _, edges, axes = max(found, key=lambda grid: grid[0])
    return edges, ((float(axes[0, 0]), float(axes[0, 1])), (float(axes[1, 0]), float(axes[1, 1])))


def _whitening(points: Floats, inputs: Integers) -> Floats:
    """The matrix after which the deviations from the mean of the own input have unit covariance."""
    letters, inverse = np.unique(inputs, return_inverse=True)
    means = np.stack([points[inverse == i].mean(axis=0) for i in range(len(letters))])
    values, vectors = np.linalg.eigh(np.cov((points - means[inverse]).T))
    spread = np.sqrt(np.maximum(values, max(values.max(), np.finfo(float).tiny) * 1e-12))
    return np.asarray((vectors / spread) @ vectors.T)


def _grids(
    points: Floats, inputs: Integers, n_bins: int, axes: Floats
) -> Iterator[tuple[float, tuple[Edges, Edges], Floats]]:
    """Every share of n_bins between two axes: what it keeps of the input, the edges, and the axes."""
    sides = points @ axes.T
    cuts = [cuts_of_line(side, inputs, n_bins) for side in sides.T]
    for first in range(1, n_bins + 1):
        edges = cuts[0][first - 1], cuts[1][n_bins // first - 1]
        cells = [np.searchsorted(np.array(cut), side, side="right") for cut, side in zip(edges, sides.T, strict=True)]
        joint = _joint(cells[0] * (len(edges[1]) + 1) + cells[1], inputs)
        # the plug-in value less its bias, so that a finer grid is not preferred for its noise
        bias = (np.count_nonzero(joint.sum(axis=0)) - 1) * (len(joint) - 1) / (2 * len(points))
        yield float(_kept(joint).sum()) - bias, edges, axes


def cuts_of_line(values: Floats, inputs: Integers, n_bins: int) -> list[Edges]:
    """The best edges of at most 1, 2, …, n_bins intervals for real outputs; values[i] came from inputs[i]."""
    quantiles = _quantiles(values, max(CELLS, 4 * n_bins))
    joint = _joint(np.searchsorted(quantiles, values, side="right"), inputs, len(quantiles) + 1)
    mass = np.concatenate([np.zeros((len(joint), 1)), np.cumsum(joint, axis=1)], axis=1)
    merged = np.maximum(mass[:, None, :] - mass[:, :, None], 0.0)  # of cells a to b, at [:, a, b]
    gain = _kept(merged) - SHRINKAGE * n_bins / len(values) * _x_log_x(merged.sum(axis=0))
    gain[np.tril_indices(len(gain), -1)] = -np.inf  # an interval may be empty, so that fewer suffice
    inner = ([b for b in sorted(set(ends)) if 0 < b <= len(quantiles)] for ends in _best_partitions(gain, n_bins))
    return [tuple(float(quantiles[b - 1]) for b in ends) for ends in inner]


def _best_partitions(gain: Floats, n_bins: int) -> list[list[int]]:
    """For 1, 2, …, n_bins intervals of all cells: where each but the last ends, at the largest sum of gains."""
    value = gain[0].copy()
    ends: list[list[list[int]]] = [[[] for _ in gain]]
    for _ in range(1, n_bins):
        total = value[:, None] + gain
        before = total.argmax(axis=0).tolist()
        value = total.max(axis=0)
        ends.append([[*ends[-1][b], b] for b in before])
    return [cuts[-1] for cuts in ends]


def _quantiles(values: Floats, cells: int) -> Floats:
    """Different finite numbers, rounded, that cut the values into about as many equal parts, and off infinite ones."""
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return np.zeros(1)
    found = finite[np.arange(1, cells) * len(finite) // cells]
    with np.errstate(over="ignore"):
        spread = float(finite[-1] - finite[0])
    if 1e-280 < spread < 1e280:  # or it is no number to round by
        found = np.round(found, DIGITS - int(np.floor(np.log10(spread))))
    infinite = [finite[0], np.nextafter(finite[-1], np.inf)] if len(finite) < len(values) else []
    return np.unique(np.concatenate([found, infinite]))


def _joint(cells: Integers, inputs: Integers, n_cells: int | None = None) -> Floats:
    """P(x, cell) with inputs equally likely."""
    letters, x = np.unique(inputs, return_inverse=True)
    size = int(cells.max()) + 1 if n_cells is None else n_cells
    counts = np.bincount(x * size + cells, minlength=len(letters) * size).reshape(len(letters), size)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True) / len(letters))


def _kept(joint: Floats) -> Floats:
    """-H(X | cell) P(cell) in nats; its sum over cells is I(X; cell) less H(X)."""
    return np.asarray(_x_log_x(joint).sum(axis=0) - _x_log_x(joint.sum(axis=0)))


def _x_log_x(p: Floats) -> Floats:
    return np.asarray(p * np.log(np.where(p > 0.0, p, 1.0)))
