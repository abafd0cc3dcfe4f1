"""The contract of a sensor: `make()` makes one at its beginning; few senses are asked of it, for it may be slow.

A sensor that says what its channels are called (`parties`) says how many inputs and outputs they have; of another one
`alphabets` says it: (n_inputs, n_outputs) of every channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bestchannel.errors import InputError
from bestchannel.policies import Observation, Request, Sensor
from bestchannel.policies.request import checked_counts
from bestchannel.testing.policy_checks import claim

Make = Callable[[], Sensor]
Sizes = Sequence[tuple[int, int]]


def check_sensor(make: Make, alphabets: Sizes | None = None) -> None:
    """Run every check of a sensor.

    Parameters
    ----------
    make
        Makes the sensor at its beginning.
    alphabets
        (n_inputs, n_outputs) of every channel, required of a sensor that has no `parties`.

    Raises
    ------
    AssertionError
        Where a promise is broken: what must hold, and what was found.

    Examples
    --------
    >>> from bestchannel import Simulator
    >>> check_sensor(lambda: Simulator([[[0.9, 0.1], [0.2, 0.8]]], rng=1))
    """
    for check in SENSOR_CHECKS:
        check(make, alphabets)


def check_channels_are_described(make: Make, alphabets: Sizes | None = None) -> None:
    """`parties`, where there are any, have names that differ and letters that differ, as many as `alphabets` says."""
    parties = getattr(make(), "parties", ())
    claim(parties or alphabets, "a sensor without parties needs alphabets: (n_inputs, n_outputs) of every channel")
    names = [str(labels.key) for labels in parties]
    claim(len(set(names)) == len(names), f"the names of channels must differ; they are {names}")
    for labels in parties:
        for letters in (labels.inputs, labels.outputs):
            whole = letters and len(set(letters)) == len(letters) and all(isinstance(letter, str) for letter in letters)
            claim(whole, f"the letters of channel {labels.key!r} must be texts that differ; they are {letters!r}")
    sizes = _sizes(make, None) if parties else alphabets
    claim(alphabets is None or sizes == list(alphabets), f"the sizes must be {alphabets}; parties have {sizes}")


def check_answers_are_what_was_asked(make: Make, alphabets: Sizes | None = None) -> None:
    """Counts are whole numbers that add up to the senses of every input, of the channels asked for and no others."""
    sizes, sensor = _sizes(make, alphabets), make()
    for request in _requests(sizes):
        before = dict(request.senses)
        observation = Observation(request.number, sensor(request))
        try:
            checked_counts(request, observation, sizes)
        except InputError as error:
            raise AssertionError(f"the sensor must answer {request}; it does not: {error}") from error
        claim(request.senses == before, f"a sensor must not change the request; {before} became {request.senses}")


def check_random_state_is_its_own(make: Make, alphabets: Sizes | None = None) -> None:
    """A sensor with a generator `rng` draws from nothing else, so that a run goes on as if it had not been cut off."""
    sensor = make()
    generator = getattr(getattr(sensor, "rng", None), "bit_generator", None)
    if generator is None:
        return
    for request in _requests(_sizes(make, alphabets)):
        state = generator.state
        first = sensor(request)
        generator.state = state
        second = sensor(request)
        same = all((first[channel] == second[channel]).all() for channel in first)
        claim(same, f"with rng in the same state the answer must be the same; {first} became {second}")


SENSOR_CHECKS: tuple[Callable[..., None], ...] = tuple(
    check for name, check in vars().items() if name.startswith("check_") and check is not check_sensor
)
"""What every sensor promises, one function each; it takes what `check_sensor` takes."""


def _sizes(make: Make, alphabets: Sizes | None) -> list[tuple[int, int]]:
    if alphabets is not None:
        return list(alphabets)
    return [labels.alphabet for labels in make().parties]  # type: ignore[attr-defined]


def _requests(sizes: Sequence[tuple[int, int]]) -> list[Request]:
    """Some senses of everything; then one channel alone, the last, with an input that is left out."""
    everything = {channel: (2,) * n_inputs for channel, (n_inputs, _) in enumerate(sizes)}
    last = len(sizes) - 1
    alone = {last: (0, *(1,) * (sizes[last][0] - 1)) if sizes[last][0] > 1 else (1,)}
    backwards = {channel: (1,) * sizes[channel][0] for channel in range(last, -1, -1)}
    return [Request(1, everything), Request(2, alone), Request(3, backwards)]
