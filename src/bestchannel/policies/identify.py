"""The loop between a policy and whatever senses for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from bestchannel.arrays import Integers
from bestchannel.counts.labelled_counts import ChannelLabels
from bestchannel.errors import InputError
from bestchannel.policies.policy import Policy
from bestchannel.policies.request import Request
from bestchannel.policies.transcript import Identification, Status, Transcript


class OutOfSensesError(InputError):
    """A sensor that cannot answer a request: a recording that is too short."""


class Sensor(Protocol):
    """Anything that answers a request: the counts of each channel asked for, (n_inputs, n_outputs) integers."""

    def __call__(self, request: Request, /) -> Mapping[int, Integers]:
        """Sense what the request wants."""


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

    `progress(status)` is called after every answer. A sensor with an attribute `parties`
    (as `Simulator` has) says what its channels and their letters are called.
    """
    if max_senses is not None and (isinstance(max_senses, bool) or not isinstance(max_senses, int) or max_senses < 0):
        raise InputError(f"max_senses must be a whole number >= 0; it is {max_senses!r}")
    transcript = Transcript(policy, _channels(sensor, policy))
    while (request := policy.ask()) is not None:
        if max_senses is not None and transcript.senses + request.total > max_senses:
            break
        try:
            counts = sensor(request)
        except OutOfSensesError:
            if not transcript.steps:
                raise
            break
        step = transcript.tell(request, counts)
        if progress:
            progress(step.status)
    return transcript.outcome()


def _channels(sensor: Sensor, policy: Policy) -> Sequence[ChannelLabels]:
    """What takes part: as the sensor says, which must be what the policy was made for."""
    unnamed = [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    parties: Sequence[ChannelLabels] = getattr(sensor, "parties", unnamed)
    if len(parties) != len(policy.alphabets):
        raise InputError(f"the policy wants {len(policy.alphabets)} channels; the sensor has {len(parties)}")
    for party, wanted in zip(parties, policy.alphabets, strict=True):
        found = (len(party.inputs), len(party.outputs))
        if wanted != found:
            raise InputError(
                f"the policy wants channel {party.key!r} to be (n_inputs, n_outputs) = {wanted};"
                f" the sensor's is {found}"
            )
    return parties
