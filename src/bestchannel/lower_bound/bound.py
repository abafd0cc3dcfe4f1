"""lower_bound: what every policy must spend on these channels, and what the best one would sense."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from bestchannel.arrays import Floats, number_in
from bestchannel.channels import Channel
from bestchannel.errors import InputError
from bestchannel.lower_bound.characteristic_time import CharacteristicTime, characteristic_time
from bestchannel.lower_bound.gaussian import GaussianTime, small_gap_time
from bestchannel.lower_bound.known_channels import KnownChannels
from bestchannel.lower_bound.theorem4 import Theorem4, theorem4
from bestchannel.progress import Progress


@dataclass(frozen=True, eq=False)
class LowerBound:
    """How hard it is to name the best of these channels with an error probability of at most `delta`.

    `best` is None, and the bound infinite, where the largest capacities cannot be told apart.
    `gaps` are C_best - C_j in bits, `senses_lower_bound` is T*.lower · kl(δ, 1-δ), and
    `allocation` is the share of the senses that each input of each channel gets from an oracle.
    `theorem4` is None where it does not apply: one channel, a tie, or different alphabets.
    Times are in senses per nat.
    """

    delta: float
    best: Hashable | None
    gaps: Mapping[Hashable, float]
    characteristic_time: CharacteristicTime
    allocation: Mapping[Hashable, Floats]
    gaussian: GaussianTime
    theorem4: Theorem4 | None
    senses_lower_bound: float


def lower_bound(
    channels: Mapping[str, object] | Sequence[object],
    delta: float,
    *,
    rtol: float = 0.01,
    progress: Progress | None = None,
) -> LowerBound:
    """E[τ] ≥ T* kl(δ, 1-δ) for every policy that errs with probability at most δ, whatever the channels [GK16].

    `channels` is a mapping from names to channels or rows, or a sequence, then named 0, 1, ….
    T* comes as a bracket, about `rtol` wide where that is within reach.

    >>> bound = lower_bound({"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}, 0.01)
    >>> bound.best, round(bound.senses_lower_bound / 450, 1)
    ('a', 1.0)
    """
    delta = number_in(delta, "delta", low=0.0, high=1.0, high_open=True)
    named = _named(channels)
    names, known = list(named), KnownChannels.of(list(named.values()))
    time = characteristic_time(known, rtol=rtol, progress=progress)
    nats = kl_nats(delta)
    return LowerBound(
        delta=delta,
        best=None if known.best is None else names[known.best],
        gaps=dict(zip(names, known.gaps.tolist(), strict=True)),
        characteristic_time=time,
        allocation=dict(zip(names, time.allocation, strict=True)),
        gaussian=small_gap_time(known),
        theorem4=_theorem4(list(named.values()), known.best, delta),
        senses_lower_bound=time.lower * nats if nats > 0.0 else 0.0,
    )


def kl_nats(delta: float) -> float:
    """kl(δ, 1-δ) = (1-2δ) log((1-δ)/δ), and 0 from δ = 1/2 on, where guessing one of two is good enough.

    >>> round(kl_nats(0.01), 4)
    4.5032
    """
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta) if delta < 0.5 else 0.0


def _named(channels: Mapping[str, object] | Sequence[object]) -> dict[Hashable, Channel]:
    pairs = channels.items() if isinstance(channels, Mapping) else enumerate(channels)
    given: dict[Hashable, object] = dict(pairs)
    if not given:
        raise InputError("a lower bound requires at least one channel; none was given")
    return {
        name: channel if isinstance(channel, Channel) else Channel.from_rows(channel, name=str(name))
        for name, channel in given.items()
    }


def _theorem4(channels: Sequence[Channel], best: int | None, delta: float) -> Theorem4 | None:
    if best is None or len(channels) < 2 or len({channel.W.shape for channel in channels}) > 1:
        return None
    return theorem4(channels, best, delta)
