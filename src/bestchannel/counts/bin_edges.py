"""Edges learned from senses that are set aside: those that keep most of what the output says about the input.

Along one axis, of all ways to cut at CELLS quantiles, the one with the largest I(X; bin) + λ H(bin) is found by dynamic
programming, inputs being equally likely. λ = SHRINKAGE · bins / senses draws the bins towards equal masses while
senses are few and what they say of the rows is mostly noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bestchannel.arrays import Floats, Integers

CELLS = 64
"""Quantiles at which an axis may be cut, at least four for each bin."""

SHRINKAGE = 10.0
ANGLES = 16
"""Directions of the axes that are tried in the plane, spread over a quarter turn."""

DIGITS = 4
"""Significant digits, relative to the spread of the outputs, to which edges are rounded."""

Edges = tuple[float, ...]
Axes = tuple[tuple[float, float], ...]


def edges_of_line(values: Floats, inputs: Integers, n_bins: int) -> Edges:
    """Edges of at most n_bins intervals for real outputs; values[i] came from inputs[i]."""
    return _cuts(values, inputs, n_bins)[-1]


def edges_of_plane(points: Floats, inputs: Integers, n_bins: int) -> tuple[tuple[Edges, ...], Axes]:
    """Edges along two axes, of at most n_bins cells in all, and the axes as rows; points has the shape (n, 2).

    The axes are at right angles once the noise is as strong in all directions.
    """
    whitening = _whitening(points, inputs)
    found = [grid for axes in _rotations() for grid in _grids(points, inputs, n_bins, axes @ whitening)]
    _, edges, axes = max(found, key=lambda grid: grid[0])
    return edges, ((float(axes[0, 0]), float(axes[0, 1])), (float(axes[1, 0]), float(axes[1, 1])))


def _whitening(points: Floats, inputs: Integers) -> Floats:
    """The matrix after which the deviations from the mean of the own input have unit covariance."""
    letters, inverse = np.unique(inputs, return_inverse=True)
    means = np.stack([points[inverse == i].mean(axis=0) for i in range(len(letters))])
    values, vectors = np.linalg.eigh(np.cov((points - means[inverse]).T))
    spread = np.sqrt(np.maximum(values, max(values.max(), np.finfo(float).tiny) * 1e-12))
    return np.asarray((vectors / spread) @ vectors.T)


def _rotations() -> Iterator[Floats]:
    for angle in np.pi / 2 * np.arange(ANGLES) / ANGLES:
        yield np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _grids(
    points: Floats, inputs: Integers, n_bins: int, axes: Floats
) -> Iterator[tuple[float, tuple[Edges, Edges], Floats]]:
    """Every share of n_bins between two axes: what it keeps of the input, the edges, and the axes."""
    sides = points @ axes.T
    cuts = [_cuts(side, inputs, n_bins) for side in sides.T]
    for first in range(1, n_bins + 1):
        edges = cuts[0][first - 1], cuts[1][n_bins // first - 1]
        cells = [np.searchsorted(np.array(cut), side, side="right") for cut, side in zip(edges, sides.T, strict=True)]
        joint = _joint(cells[0] * (len(edges[1]) + 1) + cells[1], inputs)
        # the plug-in value less its bias, so that a finer grid is not preferred for its noise
        bias = (np.count_nonzero(joint.sum(axis=0)) - 1) * (len(joint) - 1) / (2 * len(points))
        yield float(_kept(joint).sum()) - bias, edges, axes


def _cuts(values: Floats, inputs: Integers, n_bins: int) -> list[Edges]:
    """The best edges of at most 1, 2, …, n_bins intervals."""
    quantiles = _quantiles(values, max(CELLS, 4 * n_bins))
    joint = _joint(np.searchsorted(quantiles, values, side="right"), inputs, len(quantiles) + 1)
    mass = np.concatenate([np.zeros((len(joint), 1)), np.cumsum(joint, axis=1)], axis=1)
    merged = np.maximum(mass[:, None, :] - mass[:, :, None], 0.0)  # of cells a to b, at [:, a, b]
    gain = _kept(merged) - SHRINKAGE * n_bins / len(values) * _x_log_x(merged.sum(axis=0))
    gain[np.tril_indices(len(gain), -1)] = -np.inf  # an interval may be empty, so that fewer suffice
    return [_edges(quantiles, ends) for ends in _best_partitions(gain, n_bins)]


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


def _edges(quantiles: Floats, ends: Sequence[int]) -> Edges:
    """The quantiles at which intervals of cells end."""
    return tuple(float(quantiles[b - 1]) for b in sorted(set(ends)) if 0 < b <= len(quantiles))


def _quantiles(values: Floats, cells: int) -> Floats:
    """Different finite numbers, rounded, that cut the values into about as many equal parts, and off infinite ones."""
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return np.zeros(1)
    found = _rounded(finite[np.arange(1, cells) * len(finite) // cells], finite[0], finite[-1])
    infinite = [finite[0], np.nextafter(finite[-1], np.inf)] if len(finite) < len(values) else []
    return np.unique(np.concatenate([found, infinite]))


def _rounded(edges: Floats, low: float, high: float) -> Floats:
    """The edges to DIGITS digits of the distance from low to high, unless that is no number to round by."""
    with np.errstate(over="ignore"):
        spread = float(high - low)
    return np.round(edges, DIGITS - int(np.floor(np.log10(spread)))) if 1e-280 < spread < 1e280 else edges


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
