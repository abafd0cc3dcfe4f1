"""The channel: a validated, frozen, labelled transition matrix; how two combine, and what senses cost."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np

from bestchannel.arrays import Floats, frozen, probability_rows
from bestchannel.display import Shown, text_table
from bestchannel.errors import InputError
from bestchannel.promises import several

MOST_PRINTED = 1024  # probabilities of a channel that `str` writes out
Labels = Iterable[object] | None


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Channel(Shown):
    """A discrete memoryless channel: input x gives output y with probability W[x, y].

    Validated and read-only. Two channels are equal if their matrices, labels and names are, to the bit.

    Parameters
    ----------
    W
        Rows of probabilities, shape (n_inputs, n_outputs); each row sums to 1 within 1e-9.
    name
        What the channel is called in messages, tables and files.
    inputs, outputs
        Distinct labels of the input and of the output symbols; "0", "1", … where none are given.
    normalize
        Divide each row by its sum instead of refusing a sum other than 1.

    Attributes
    ----------
    rescaled
        The largest |row sum - 1| that `normalize` removed; 0 means that the rows are the caller's to the bit.

    Raises
    ------
    InputError
        Where the rows are no probabilities or the labels do not fit; the message names the cell at fault.

    Examples
    --------
    >>> bsc = Channel([[0.9, 0.1], [0.1, 0.9]], name="link")
    >>> bsc.n_inputs, bsc.n_outputs, bsc.outputs
    (2, 2, ('0', '1'))
    >>> print(bsc)
    link    0    1
    0     0.9  0.1
    1     0.1  0.9
    """

    W: Floats
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str
    rescaled: float = field(init=False)

    def __init__(
        self, W: object, *, name: str = "", inputs: Labels = None, outputs: Labels = None, normalize: bool = False
    ) -> None:
        where = f'channel "{name}"' if name else "the channel"
        rows, rescaled = probability_rows(W, where, normalize=normalize)
        labels = (
            _labels(inputs, rows.shape[0], f"inputs of {where}"),
            _labels(outputs, rows.shape[1], f"outputs of {where}"),
        )
        self.__setstate__({"W": rows, "inputs": labels[0], "outputs": labels[1], "name": name, "rescaled": rescaled})

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        frozen(self.W)  # a copy of a read-only array is not read-only by itself

    @classmethod
    def from_rows(
        cls, rows: object, *, name: str = "", inputs: Labels = None, outputs: Labels = None, normalize: bool = False
    ) -> Self:
        """The channel with these rows of probabilities: `Channel(rows, …)` by another name.

        Parameters
        ----------
        rows, name, inputs, outputs, normalize
            As in `Channel`; the rows are its `W`.

        Raises
        ------
        InputError
            As `Channel`.

        Examples
        --------
        >>> Channel.from_rows([[0.9, 0.3], [0.5, 0.5]], normalize=True).W.tolist()
        [[0.75, 0.25], [0.5, 0.5]]
        """
        return cls(rows, name=name, inputs=inputs, outputs=outputs, normalize=normalize)

    @property
    def n_inputs(self) -> int:
        """The size of the input alphabet."""
        return int(self.W.shape[0])

    @property
    def n_outputs(self) -> int:
        """The size of the output alphabet."""
        return int(self.W.shape[1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return (self.W.shape, self.W.tobytes(), self.inputs, self.outputs, self.name)

    def __repr__(self) -> str:
        title = f"{self.name!r}, " if self.name else ""
        return f"Channel({title}{several(self.n_inputs, 'input')}, {several(self.n_outputs, 'output')})"

    def __str__(self) -> str:
        if self.W.size > MOST_PRINTED:
            return repr(self)
        rows = zip(self.inputs, self.W.tolist(), strict=True)
        return text_table([self.name, *self.outputs], [[label, *(f"{w:.6g}" for w in row)] for label, row in rows])


def as_channel(channel_or_rows: object, *, normalize: bool = False) -> Channel:
    """The argument itself if it is a `Channel`, otherwise a channel made of its rows."""
    if isinstance(channel_or_rows, Channel):
        return channel_or_rows
    return Channel.from_rows(channel_or_rows, normalize=normalize)


def _labels(labels: Labels, size: int, where: str) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if not isinstance(labels, Iterable):
        raise InputError(f"{where} must be a sequence of labels; it is {labels!r}")
    names = tuple(map(str, labels))
    if len(names) != size:
        raise InputError(f"{where} must have {several(size, 'label')}; {len(names)} were given")
    if len(set(names)) != size:
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"{where} must have distinct labels; {repeated!r} occurs twice")
    return names


def product(first: Channel, second: Channel) -> Channel:
    """Both channels used side by side: W((y, y') | (x, x')) = W1(y|x) W2(y'|x').

    Its capacity is the sum of the two capacities.
    """
    return Channel.from_rows(
        np.kron(first.W, second.W),
        name=_joined(first, "×", second),
        inputs=[f"{a},{b}" for a in first.inputs for b in second.inputs],
        outputs=[f"{a},{b}" for a in first.outputs for b in second.outputs],
    )


def cascade(first: Channel, second: Channel) -> Channel:
    """The second channel fed with the first one's output: W(z|x) = sum_y W1(y|x) W2(z|y).

    Its capacity is at most the smaller of the two (data processing).
    """
    if first.n_outputs != second.n_inputs:
        raise InputError(
            f"a cascade requires as many inputs of the second channel as outputs of the first;"
            f" got {second.n_inputs} and {first.n_outputs}"
        )
    return Channel.from_rows(
        first.W @ second.W, name=_joined(first, "→", second), inputs=first.inputs, outputs=second.outputs
    )


def _joined(first: Channel, sign: str, second: Channel) -> str:
    return f"{first.name}{sign}{second.name}" if first.name and second.name else ""


Cost = float | Sequence[float]  # of a sense of a channel: one number, or one for each of its inputs
Costs = tuple[tuple[float, ...], ...]  # costs[j][x] of input x of channel j
MOST_TIMES = 1e9  # the least cost is at most the largest: beyond, nothing would be sensed there, and nothing be proved


def sense_costs(cost: Mapping[Any, Cost] | Sequence[Cost], names: Sequence[Hashable], n_inputs: Sequence[int]) -> Costs:
    """The cost of every input of every channel, from a mapping by name (1 where nothing is said) or from a sequence.

    >>> sense_costs({"b": [1, 5]}, ["a", "b"], [2, 2])
    ((1.0, 1.0), (1.0, 5.0))
    """
    costs = tuple(map(_of_inputs, _by_channel(cost, names), names, n_inputs))
    most, least = max(map(max, costs)), min(map(min, costs))
    if most > MOST_TIMES * least:
        raise InputError(
            f"the largest cost must be at most {MOST_TIMES:g} times the least; they are {most:g} and {least:g}"
        )
    return costs


def total_cost(costs: Sequence[Sequence[float]], senses: Sequence[Sequence[int]]) -> float:
    """Σ costs[j][x]·senses[j][x]: what the senses of all inputs of all channels cost together."""
    pairs = zip(costs, senses, strict=True)
    return math.fsum(c * n for rows in pairs for c, n in zip(*rows, strict=True))


def _by_channel(cost: object, names: Sequence[Hashable]) -> list[object]:
    """What is given for each channel, in their order."""
    if isinstance(cost, Mapping):
        for name in cost:
            if name not in names:
                known = ", ".join(map(str, names[:12]))
                raise InputError(f"a cost must be of a channel that takes part ({known}); there is no channel {name!r}")
        return [cost.get(name, 1.0) for name in names]
    each = cost.tolist() if isinstance(cost, np.ndarray) else cost
    if isinstance(each, str | bytes) or not isinstance(each, Sequence) or len(each) != len(names):
        raise InputError(f"costs must be one for each of {len(names)} channels; they are {reprlib.repr(cost)}")
    return list(each)


def _of_inputs(given: Any, name: Hashable, n_inputs: int) -> tuple[float, ...]:
    alone = not hasattr(given, "__len__") or isinstance(given, str)
    prices: list[Any] = [given] * n_inputs if alone else list(given)
    if len(prices) != n_inputs:
        raise InputError(
            f"channel {name!r} must have one cost, or one for each of its {n_inputs} inputs; it has {len(prices)}"
        )
    for x, price in enumerate(prices):
        if isinstance(price, bool) or not isinstance(price, Real) or not math.isfinite(price) or not float(price) > 0.0:
            where, got = "" if alone else f"input x={x} of ", reprlib.repr(price)
            raise InputError(f"the cost of a sense of {where}channel {name!r} must be a finite number > 0; it is {got}")
    return tuple(map(float, prices))
