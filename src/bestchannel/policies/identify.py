"""The loop between a policy and whatever senses for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies.policy import Policy
from bestchannel.policies.request import Request
from bestchannel.policies.transcript import Identification, Party, Status, Transcript


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

    Parameters
    ----------
    sensor
        What answers a request with counts: a `Simulator`, a `Recording`, or any callable from a `Request` to a mapping
        from channel numbers to whole numbers of shape (n_inputs, n_outputs). Its attribute `parties`, where it has
        one, says what channels and letters are called; `inferred_outputs`, that the outputs are only those seen.
    policy
        What decides where to sense, made for the alphabets of the sensor.
    max_senses
        Stop undecided rather than take more senses than this; None sets no limit.
    progress
        Called with the `Status` after every answer.

    Returns
    -------
    Identification
        The named channel, or None and what is left; also where the sensor ran out after the first request.

    Raises
    ------
    InputError
        Where the sensor's channels or answers do not fit the policy, or `max_senses` is no whole number >= 0.
    OutOfSensesError
        Where a recording cannot answer even the first request; an `InputError` too.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}, rng=1)
    >>> result = identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05))
    >>> result.best, result.guarantee
    ('good', 'the named channel is the best with probability at least 0.95 [bestchannel explain adaptive]')
    """
    if max_senses is not None and (isinstance(max_senses, bool) or not isinstance(max_senses, int) or max_senses < 0):
        raise InputError(f"max_senses must be a whole number >= 0; it is {max_senses!r}")
    transcript = Transcript(
        policy, _channels(sensor, policy), inferred_outputs=getattr(sensor, "inferred_outputs", False)
    )
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


def _channels(sensor: Sensor, policy: Policy) -> Sequence[Party]:
    """What takes part: as the sensor says, which must be what the policy was made for."""
    unnamed = [Party.unlabelled(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    parties: Sequence[Party] = getattr(sensor, "parties", unnamed)
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
