"""What a sense costs: a positive number for every input of every channel, in whatever one pays with."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bestchannel.errors import InputError

Cost = float | Sequence[float]  # of a sense of a channel: one number, or one for each of its inputs
Costs = tuple[tuple[float, ...], ...]  # costs[j][x] of input x of channel j
MOST = (
    1e9  # times the least cost, at most, is the largest: beyond, nothing would be sensed there, and nothing be proved
)


def sense_costs(cost: Mapping[Any, Cost] | Sequence[Cost], names: Sequence[Hashable], n_inputs: Sequence[int]) -> Costs:
    """The cost of every input of every channel, from a mapping by name (1 where nothing is said) or from a sequence.

    >>> sense_costs({"b": [1, 5]}, ["a", "b"], [2, 2])
    ((1.0, 1.0), (1.0, 5.0))
    """
    costs = tuple(
        _of_channel(given, name, inputs)
        for name, given, inputs in zip(names, _in_order(cost, names), n_inputs, strict=True)
    )
    most, least = max(map(max, costs)), min(map(min, costs))
    if most > MOST * least:
        raise InputError(f"the largest cost must be at most {MOST:g} times the least; they are {most:g} and {least:g}")
    return costs


def total_cost(costs: Sequence[Sequence[float]], senses: Sequence[Sequence[int]]) -> float:
    """Σ costs[j][x]·senses[j][x]: what the senses of all inputs of all channels cost together."""
    pairs = zip(costs, senses, strict=True)
    return math.fsum(c * n for rows in pairs for c, n in zip(*rows, strict=True))


def _in_order(cost: object, names: Sequence[Hashable]) -> list[object]:
    """What is given for each channel, in their order."""
    if isinstance(cost, Mapping):
        for name in cost:
            if name not in names:
                known = ", ".join(map(str, names[:12]))
                raise InputError(f"a cost must be of a channel that takes part ({known}); there is no channel {name!r}")
        return [cost.get(name, 1.0) for name in names]
    several = cost.tolist() if isinstance(cost, np.ndarray) else cost
    if isinstance(several, str | bytes) or not isinstance(several, Sequence) or len(several) != len(names):
        raise InputError(f"costs must be one for each of {len(names)} channels; they are {reprlib.repr(cost)}")
    return list(several)


def _of_channel(given: Any, name: Hashable, n_inputs: int) -> tuple[float, ...]:
    alone = not hasattr(given, "__len__") or isinstance(given, str)
    several: list[Any] = [given] * n_inputs if alone else list(given)
    if len(several) != n_inputs:
        raise InputError(
            f"channel {name!r} must have one cost, or one for each of its {n_inputs} inputs; it has {len(several)}"
        )
    for x, price in enumerate(several):
        if isinstance(price, bool) or not isinstance(price, Real) or not math.isfinite(price) or not float(price) > 0.0:
            where, got = "" if alone else f"input x={x} of ", reprlib.repr(price)
            raise InputError(f"the cost of a sense of {where}channel {name!r} must be a finite number > 0; it is {got}")
    return tuple(map(float, several))
