"""The loop between a policy and whatever senses for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from bestchannel.arrays import ChannelLabels, Integers, whole_number
from bestchannel.display import on_one_line
from bestchannel.errors import InputError
from bestchannel.policies.policy import Policy, outcome
from bestchannel.policies.request import Observation, Request, Supply, told
from bestchannel.policies.transcript import Identification, Status
from bestchannel.promises import several

Watch = Callable[[Status], None]
"""What is called after every answer."""


OneSense = Callable[[Any, Any], Any]
"""Senses once: from the name of a channel and an input to the output."""

Declared = Mapping[Any, tuple[int | Sequence[Any], int | Sequence[Any]]]
"""The inputs and outputs of every channel by name: how many, or what they are called."""

BRIEF, MOST_NAMED = 4, 12
SENSES_AT_ONCE = 2**16  # by a function that senses once, before their outputs are counted
"""Channels that a sensor shows of itself, and channels or letters that a refusal names."""


class OutOfSensesError(InputError):
    """A sensor that cannot answer a request: a recording that is too short."""


class Sensor(Protocol):
    """Anything that answers a request: a callable from a `Request` to the counts of each channel asked for.

    Counts are whole numbers of shape (n_inputs, n_outputs), and the row of an input adds up to the senses of it.

    Attributes
    ----------
    parties
        Where there is one, what the channels and their letters are called, a `ChannelLabels` for each channel.
    inferred_outputs
        Where it is there and true, the outputs are only those that were seen, and the guarantee says so.
    rng
        Where there is one, the generator that draws: a run that is resumed goes on in its state.
    left
        Where it is there, how many senses of each input of each channel it can still give: a sequence of numbers for
        each channel.
    go_on_after
        Where it is there, called with the counts of each channel that the policy was told before, so that a sensor with
        a memory does not give the same senses again.

    Examples
    --------
    >>> import numpy as np, bestchannel as bc
    >>> def noiseless(request):
    ...     return {channel: np.diag(senses) for channel, senses in request.senses.items()}
    >>> sensor: bc.Sensor = noiseless
    >>> sensor(bc.Request(1, {0: (3, 2)}))[0].tolist()
    [[3, 0], [0, 2]]
    """

    def __call__(self, request: Request, /) -> Mapping[int, Integers]:
        """Sense what the request asks for."""


def identify(
    sensor: Sensor | OneSense,
    policy: Policy | None = None,
    *,
    channels: Declared | None = None,
    delta: float | None = None,
    max_senses: int | None = None,
    progress: Watch | None = None,
) -> Identification:
    """Ask, sense, tell until the policy recommends, or until nothing is left that it could ask for.

    What is left of `max_senses`, and of a recording, the policy is told: Adaptive asks for no more, and uses it up. A
    policy that cannot make do with less, as those of the paper, ends undecided before the request that is too large.

    A policy that was told something before goes on from there: the outcome has its whole record, and `max_senses`
    limits the senses of all of it. The sensor must be of the same channels; a recording goes on after the trials that
    the policy was told.

    Parameters
    ----------
    sensor
        What answers a request with counts: a `Simulator`, a `Recording`, or any other `Sensor`. Where `channels` are
        given, a function that senses once: called with the name of a channel and an input, it returns the output; of a
        policy that asks for shots, called with an input, it returns the outputs of all channels by name.
    policy
        What decides where to sense, made for the alphabets of the sensor; None is `Adaptive` with `delta`.
    channels
        Of a function that senses once, the letters of every channel by name: {"link": (2, 3)} for inputs 0, 1 and
        outputs 0, 1, 2, or {"link": (["low", "high"], ["0", "1", "lost"])}. An output beyond them is refused.
    delta
        Of the default policy, the largest probability of a wrong name; 0.05 unless it is given.
    max_senses
        Take no more senses than this; None sets no limit.
    progress
        Called with the `Status` after every answer.

    Returns
    -------
    Identification
        The named channel, or None and the candidates that are left; also where the sensor ran out.

    Raises
    ------
    InputError
        Where the sensor's channels or answers do not fit the policy or what is declared, `delta` is given beside a
        policy, or `max_senses` is no whole number >= 0.
    OutOfSensesError
        Where a recording cannot answer even the first request of a policy that takes no less; an `InputError` too.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": [[0.95, 0.05], [0.05, 0.95]], "bad": [[0.7, 0.3], [0.3, 0.7]]}, rng=1)
    >>> result = identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05))
    >>> result.best, result.guarantee
    ('good', 'the named channel is the best with probability at least 0.95 [bestchannel explain adaptive]')

    A function that senses once, and the default policy:

    >>> import random
    >>> draw = random.Random(1)
    >>> noise = {"good": 0.05, "bad": 0.3}
    >>> identify(lambda channel, x: x ^ (draw.random() < noise[channel]), channels={"good": (2, 2), "bad": (2, 2)}).best
    'good'
    """
    answering: Any = sensor if channels is None else SingleSenses(sensor, channels)
    if policy is None:
        policy = _default_policy(answering, 0.05 if delta is None else delta)
    elif delta is not None:
        raise InputError("delta belongs to the policy, which has its own; give one of the two")
    max_senses = None if max_senses is None else whole_number(max_senses, "max_senses", at_least=0)
    parties, inferred_outputs = _told_about(answering, policy)
    policy.limit(_supply(answering, policy, max_senses))
    while (request := policy.ask()) is not None:
        if max_senses is not None and policy.senses + request.total > max_senses:
            break
        try:
            counts = answering(request)
        except OutOfSensesError:
            if not policy.steps:
                raise
            break
        policy.tell(Observation(request.number, counts))
        if progress:
            progress(policy.steps[-1].status)
    return outcome(policy, parties, inferred_outputs=inferred_outputs)


def _default_policy(sensor: Any, delta: float) -> Policy:
    from bestchannel.policies.adaptive.adaptive_policy import Adaptive  # deferred: it builds on this room

    parties: Sequence[ChannelLabels] | None = getattr(sensor, "parties", None)
    if parties is None:
        raise InputError(
            "the letters of the channels must be known: give a policy made for them, or declare them for a function"
            ' that senses once, as channels={"link": (2, 2)}'
        )
    return Adaptive([labels.alphabet for labels in parties], delta=delta)


def channels_in_brief(parties: Sequence[ChannelLabels]) -> str:
    """The first few channels with their sizes, and how many others there are."""
    few = [f"{labels.key} ({labels.alphabet[0]}×{labels.alphabet[1]})" for labels in parties[:BRIEF]]
    rest = len(parties) - BRIEF
    return on_one_line(", ".join(few)) + (f" and {several(rest, 'other')}" if rest > 0 else "")


class SingleSenses:
    """A sensor made of a function that senses once: `sense(channel, input)` returns the output.

    `channels` has the letters of each by name: how many inputs and outputs, which are then the numbers 0, 1, 2, …, or
    what they are called; the function is given inputs, and gives outputs, as they are declared.
    """

    def __init__(self, sense: Any, channels: Declared) -> None:
        if not callable(sense) or not isinstance(channels, Mapping) or not channels:
            raise InputError(
                "a function that senses once is called with a channel and an input, and its channels are a mapping as"
                f' {{"link": (2, 2)}}; got {sense!r} and {channels!r}'
            )
        self._sense, self._letters = sense, [_letters(name, pair) for name, pair in channels.items()]
        self.parties = [
            ChannelLabels(name, tuple(map(str, inputs)), tuple(map(str, outputs)))
            for name, (inputs, outputs) in zip(channels, self._letters, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<SingleSenses of {channels_in_brief(self.parties)}>"

    def __call__(self, request: Request) -> dict[int, Integers]:
        """One call of the function for each sense, or for each shot."""
        sense = self._each if request.paired is None else self._all
        asked = request.senses if request.paired is None else {request.paired: request.senses[request.paired]}

        def outputs(j: int, x: int, wanted: int) -> dict[int, list[int]]:
            rows = [sense(j, self._letters[j][0][x], request.senses) for _ in range(wanted)]
            return {channel: [row[channel] for row in rows] for channel in rows[0]}

        parts = (
            (x, outputs(j, x, min(SENSES_AT_ONCE, wanted - first)))
            for j, senses in asked.items()
            for x, wanted in enumerate(senses)
            for first in range(0, wanted, SENSES_AT_ONCE)
        )
        return told(request, [labels.alphabet for labels in self.parties], parts)

    def _each(self, channel: int, letter: Any, _: object) -> dict[int, int]:
        """The output of a sense."""
        return {channel: self._output(channel, letter, self._sense(self.parties[channel].key, letter))}

    def _all(self, _: int, letter: Any, channels: Iterable[int]) -> dict[int, int]:
        """The outputs of a shot."""
        answers, keys = self._sense(letter), {channel: self.parties[channel].key for channel in channels}
        if missing := [key for key in keys.values() if key not in answers]:
            raise InputError(f"a shot must answer for every channel; to input {letter!r} {missing[0]!r} is missing")
        return {channel: self._output(channel, letter, answers[key]) for channel, key in keys.items()}

    def _output(self, channel: int, letter: Any, answer: Any) -> int:
        name, outputs = self.parties[channel].key, self._letters[channel][1]
        try:
            return outputs.index(answer)
        except ValueError:
            known = ", ".join(map(repr, outputs[:MOST_NAMED]))
            raise InputError(
                f"channel {name!r} must answer with one of its outputs, {known}; to input {letter!r} it answered"
                f" {answer!r}; declare all outputs in channels="
            ) from None


def _letters(name: Hashable, pair: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """The inputs and the outputs of a channel, as they were declared."""
    inputs: Sequence[Any] = ()
    outputs: Sequence[Any] = ()
    with suppress(TypeError, ValueError):
        inputs, outputs = (range(side) if isinstance(side, int) else list(side) for side in pair)
    if not inputs or not outputs or any(len(set(map(str, side))) < len(side) for side in (inputs, outputs)):
        raise InputError(
            f"channel {name!r} must have numbers of inputs and outputs, as (2, 3), or lists of what they are called, no"
            f" two the same; it has {pair!r}"
        )
    return inputs, outputs


def _told_about(sensor: Sensor, policy: Policy) -> tuple[tuple[ChannelLabels, ...], bool]:
    """The channels of all answers, those before and those to come, and whether any outputs are only those seen."""
    parties, inferred = tuple(_channels(sensor, policy)), bool(getattr(sensor, "inferred_outputs", False))
    before = policy.told_about if policy.steps else None
    known, condition = before or (parties, inferred)
    if known != parties:
        theirs, ours = (", ".join(str(party.key) for party in each[:MOST_NAMED]) for each in (known, parties))
        raise InputError(
            f"the sensor must be of the channels that the policy was told about, {theirs}, with the same letters; it is"
            f" of {ours}; make another policy for it"
        )
    policy.told_about = parties, inferred or condition
    return policy.told_about


def _supply(sensor: Sensor, policy: Policy, max_senses: int | None) -> Supply:
    """What the policy may be given in all; of a run on disk the limit is a pause, and no request is cut to it."""
    of_run: Supply | None = getattr(sensor, "supply", None)
    if of_run is not None:
        return of_run
    told = _told(policy)
    if policy.steps and hasattr(sensor, "go_on_after"):
        sensor.go_on_after(told)
    left: Sequence[Sequence[int]] | None = getattr(sensor, "left", None)
    if left is None:
        return Supply(max_senses)
    pairs = zip(left, (table.sum(axis=1).tolist() for table in told), strict=True)
    return Supply(max_senses, tuple(tuple(int(n) + m for n, m in zip(*rows, strict=True)) for rows in pairs))


def _told(policy: Policy) -> list[Integers]:
    """All counts that the policy was told, of every channel."""
    told = [np.zeros(alphabet, dtype=np.int64) for alphabet in policy.alphabets]
    for step in policy.steps:
        for channel, table in step.counts.items():
            told[channel] = told[channel] + table
    return told


def _channels(sensor: Sensor, policy: Policy) -> Sequence[ChannelLabels]:
    """What takes part: as the sensor says, which must be what the policy was made for."""
    unnamed = [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
    parties: Sequence[ChannelLabels] = getattr(sensor, "parties", unnamed)
    if len(parties) != len(policy.alphabets):
        raise InputError(
            f"the policy requires {several(len(policy.alphabets), 'channel')}; the sensor has {len(parties)}"
        )
    for labels, required in zip(parties, policy.alphabets, strict=True):
        if labels.alphabet != required:
            raise InputError(
                f"the policy requires channel {labels.key!r} to be (n_inputs, n_outputs) = {required};"
                f" the sensor's is {labels.alphabet}"
            )
    return parties
