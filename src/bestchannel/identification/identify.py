"""The loop between a policy and whatever senses for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.identification.policy import Policy
from bestchannel.identification.request import Observation, Request


class OutOfSensesError(InputError):
    """A sensor that cannot answer a request: a recording that is too short."""


class Sensor(Protocol):
    """Anything that answers a request: the counts of each channel asked for, (n_inputs, n_outputs) integers."""

    def __call__(self, request: Request, /) -> Mapping[int, Integers]:
        """Sense what the request wants."""


@dataclass(frozen=True)
class Status:
    """Where an identification stands, for whoever watches it."""

    senses: int
    requests: int
    rounds: int
    candidates: tuple[int, ...]
    next_senses: int


@dataclass(frozen=True)
class Identification:
    """The outcome: the best channel or "undecided", what it cost, and what it promises.

    `best` is the key of the channel in the collection that the sensor was given (its name or
    its position), None while undecided. `candidates` are the keys of the channels not ruled out.
    """

    best: Any
    decided: bool
    senses: int
    rounds: int
    policy: str
    delta: float
    epsilon: float
    guarantee: str
    candidates: tuple[Any, ...]


def identify(
    sensor: Sensor,
    policy: Policy,
    *,
    max_senses: int | None = None,
    progress: Callable[[Status], None] | None = None,
) -> Identification:
    """Ask, sense, tell until the policy recommends, or until its next request would pass `max_senses`.

    A sensor that runs out (`OutOfSensesError`) ends it undecided, unless it could not even answer
    the first request.

    `progress(status)` is called after every answer. A sensor with an attribute `keys` (as
    `Simulator` has) says what its channels are called, and one with `alphabets` what sizes they have.
    """
    if max_senses is not None and (isinstance(max_senses, bool) or not isinstance(max_senses, int) or max_senses < 0):
        raise InputError(f"max_senses must be a whole number >= 0; it is {max_senses!r}")
    keys = _keys(sensor, policy)
    senses = requests = 0
    while (request := policy.ask()) is not None:
        if max_senses is not None and senses + request.total > max_senses:
            break
        try:
            counts = sensor(request)
        except OutOfSensesError:
            if requests == 0:
                raise
            break
        policy.tell(Observation(request.number, counts))
        senses, requests = senses + request.total, requests + 1
        if progress:
            upcoming = policy.ask()
            progress(Status(senses, requests, policy.rounds, policy.candidates, upcoming.total if upcoming else 0))
    best = policy.recommendation
    return Identification(
        best=None if best is None else keys[best],
        decided=best is not None,
        senses=senses,
        rounds=policy.rounds,
        policy=policy.name,
        delta=policy.delta,
        epsilon=policy.epsilon,
        guarantee=policy.guarantee,
        candidates=tuple(keys[channel] for channel in policy.candidates),
    )


def _keys(sensor: Sensor, policy: Policy) -> Sequence[Hashable]:
    alphabets: Sequence[tuple[int, int]] = getattr(sensor, "alphabets", policy.alphabets)
    keys: Sequence[Hashable] = getattr(sensor, "keys", range(len(alphabets)))
    if len(keys) != len(policy.alphabets):
        raise InputError(f"the policy wants {len(policy.alphabets)} channels; the sensor has {len(keys)}")
    for key, wanted, found in zip(keys, policy.alphabets, alphabets, strict=True):
        if wanted != found:
            raise InputError(
                f"the policy wants channel {key!r} to be (n_inputs, n_outputs) = {wanted}; the sensor's is {found}"
            )
    return keys
