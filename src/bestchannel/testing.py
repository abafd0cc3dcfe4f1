"""What every policy and every sensor promises, as checks that the tests of any package can run.

A check takes a function that makes the policy or the sensor afresh, and raises `AssertionError` with what must hold and
what was found. No test framework is needed, and any can be used:

    from bestchannel.testing import POLICY_CHECKS

    @pytest.mark.parametrize("check", POLICY_CHECKS)
    def test_policy_keeps_the_contract(check):
        check(partial(Elimination, delta=0.1))

A policy: `make(alphabets, **settings)` makes one, with its own settings where none are given. The settings that a check
gives are `delta`, and whatever the policy itself says that it was made with. A policy for one fixed input distribution
must have it over two inputs, with more weight on neither than 0.6.

A sensor: `make()` makes one at its beginning; few senses are asked of it, for it may be slow. One that says what its
channels are called (`parties`) says how many inputs and outputs they have; of another one `alphabets` says it:
(n_inputs, n_outputs) of every channel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, z_channel
from bestchannel.errors import InputError
from bestchannel.policies import Observation, OutOfSensesError, Policy, Request, Sensor, Status, identify
from bestchannel.policies.request import checked_counts
from bestchannel.sensing import Simulator

__all__ = ["POLICY_CHECKS", "SENSOR_CHECKS", "check_policy", "check_sensor"]

Make = Callable[..., Policy]
MakeSensor = Callable[[], Sensor]
Sizes = Sequence[tuple[int, int]]
Exchange = list[tuple[Request, Observation]]

# Capacities, bits: 0.12, 0.86, 0.28, 0.32; the best stays the best at a fixed input distribution near the uniform one.
BINARY = (bsc(0.3), bsc(0.02), bsc(0.2), z_channel(0.5))
BEST = 1
SENSELESS = tuple(map(Channel.from_rows, ([[1.0]], [[0.2, 0.3, 0.5]], [[1.0], [1.0]])))
MIXED_OUTPUTS = (SENSELESS[0], bsc(0.2), bec(0.1), SENSELESS[1], SENSELESS[2], bsc(0.5))
MIXED_INPUTS = (bsc(0.2), q_ary_symmetric(3, 0.02), Channel.from_rows(np.full((4, 2), 0.5)), SENSELESS[0])

ENOUGH = 10**15  # more senses than a policy uses on the channels above, and a limit for exact ties


def claim(holds: object, sentence: str) -> None:
    """Raise `AssertionError` with the sentence, unless it holds; `assert` would say nothing under `python -O`."""
    if not holds:
        raise AssertionError(sentence)


def claim_refused(call: Callable[[], object], what: str) -> None:
    """Claim that the call raises `InputError`."""
    try:
        answer = call()
    except InputError:
        return
    raise AssertionError(f"{what} must be refused with an InputError; it is taken, and gives {answer!r}")


def check_policy(make: Make) -> None:
    """Run every check of a policy.

    Parameters
    ----------
    make
        Makes the policy afresh: `make(alphabets)`, or `make(alphabets, delta=…)` with its other options.

    Raises
    ------
    AssertionError
        Where a promise is broken: what must hold, and what was found.

    Examples
    --------
    >>> from functools import partial
    >>> from bestchannel import NaiveChanSel
    >>> check_policy(partial(NaiveChanSel, delta=0.1, epsilon=0.05))
    """
    for check in POLICY_CHECKS:
        check(make)


def check_ask_repeats_until_told(make: Make) -> None:
    """`ask` returns the open request, numbered 1, 2, 3, …, until it is told, and None at the end; looking is free."""
    policy = _for(make, BINARY)
    for number, (request, observation) in enumerate(_answered(make), start=1):
        before = _state(policy)
        claim(policy.ask() == policy.ask() == request, f"ask() must repeat {request} until told; it gives {before[0]}")
        claim(_state(policy) == before, f"asking and looking must change nothing; {before} became {_state(policy)}")
        claim(request.number == number, f"requests must be numbered from 1; number {number} is {request.number}")
        policy.tell(observation)
    claim(policy.ask() is None, f"a policy that recommends must ask nothing; it asks {policy.ask()}")


def check_requests_are_for_candidates(make: Make) -> None:
    """A request has at least one sense, of candidates only, and a number for each of their inputs."""
    policy = _for(make, BINARY)
    for request, observation in _answered(make):
        claim(request.total > 0, f"request {request.number} must ask for senses; it asks for none")
        others = set(request.senses) - set(policy.candidates)
        claim(not others, f"request {request.number} must ask for candidates only; it asks for {sorted(others)}")
        sizes = {channel: len(senses) for channel, senses in request.senses.items()}
        claim(set(sizes.values()) == {2}, f"a channel of 2 inputs must have 2 numbers of senses; there are {sizes}")
        policy.tell(observation)
    claim(policy.recommendation in policy.candidates, f"{policy.recommendation} must be one of {policy.candidates}")


def check_wrong_answers_change_nothing(make: Make) -> None:
    """An observation that does not answer the open request is refused, and the policy is as it was."""
    policy = _for(make, BINARY)
    for request, observation in _answered(make):
        before = _state(policy)
        for what, wrong in _spoiled(observation):
            claim_refused(lambda wrong=wrong: policy.tell(wrong), f"{what} for request {request.number}")  # type: ignore[misc]
            claim(_state(policy) == before, f"{what} must change nothing; {before} became {_state(policy)}")
        policy.tell(observation)
    claim_refused(lambda: policy.tell(observation), "an answer after the end")


def check_told_arrays_are_left_alone(make: Make) -> None:
    """A policy neither writes to the arrays that it is told nor looks at them again."""
    policy = _for(make, BINARY)
    for request, observation in _answered(make):
        claim(policy.ask() == request, f"a policy told the same must ask {request}; it asks {policy.ask()}")
        originals = [table.copy() for table in observation.counts.values()]
        policy.tell(observation)
        for table, original in zip(observation.counts.values(), originals, strict=True):
            claim((table == original).all(), f"told counts must not be written to; {original} became {table}")
            table[...] = -1
    claim(policy.recommendation == BEST, f"the policy must name {BEST}; it names {policy.recommendation}")


def check_requests_cannot_be_changed(make: Make) -> None:
    """Whoever holds a request cannot change what the policy asks."""
    policy = _for(make, BINARY)
    request: Any = policy.ask()
    with suppress(AttributeError, TypeError):  # a read-only mapping is one way to keep the promise
        request.senses.clear()
    again = policy.ask()
    claim(again is not None and again.total > 0, f"a request must be safe from its holder; now it is {again}")


def check_replay_reaches_the_same_request(make: Make) -> None:
    """The state is a function of what was told: any beginning of a run, told to a fresh policy, restores it."""
    exchange = _answered(make)
    claim([r for r, _ in exchange] == [r for r, _ in _answered(make)], "a policy told the same must ask the same")
    requests = [*(request for request, _ in exchange), None]
    # at most 12 beginnings; for a policy of few requests these are all there are
    for length in sorted(set(np.linspace(0, len(exchange), 12).astype(int).tolist())):
        policy = _for(make, BINARY)
        for _, observation in exchange[:length]:
            policy.tell(observation)
        claim(policy.ask() == requests[length], f"after {length} answers it must ask {requests[length]} again")


def check_best_channel_is_named(make: Make) -> None:
    """Of easy channels the best is named, whatever their alphabets, with a guarantee in words."""
    _claim_named(make, BINARY, BEST)
    _claim_named(make, MIXED_OUTPUTS, 2)  # bec(0.1) carries 0.9 bit, or 0.87 at (0.4, 0.6)
    _claim_named(make, (bsc(0.5), bsc(0.1)), 1)
    if _for(make, BINARY).input_distribution is None:
        _claim_named(make, MIXED_INPUTS, 1)  # log2(3) - h(0.02) - 0.02 = 1.42 bits
    guarantee = _for(make, BINARY).guarantee
    claim(isinstance(guarantee, str) and guarantee, f"guarantee must say what is promised; it is {guarantee!r}")


def check_relabelling_relabels_the_answer(make: Make) -> None:
    """The order of the channels is of no account."""
    for order in ((3, 2, 1, 0), (1, 2, 3, 0), (2, 0, 3, 1)):
        best = identify(_ByIdentity(order), _for(make, BINARY), max_senses=ENOUGH).best
        claim(best is not None and order[best] == BEST, f"with the channels as {order} it must name {BEST} of them")


def check_nothing_is_sensed_in_vain(make: Make) -> None:
    """A channel of one input or one output has capacity 0 and is never sensed, nor is one without alternatives."""
    for channels in (BINARY[:1], SENSELESS):
        result = identify(Simulator(channels, rng=1), _for(make, channels))
        claim(result.decided and result.senses == 0, f"{len(channels)} such channels must need no sense; got {result}")
    asked = {channel for request, _ in _answered(make, MIXED_OUTPUTS) for channel in request.senses}
    claim(asked <= {1, 2, 5}, f"a channel of one input or output must not be sensed; of {sorted(asked)} only 1, 2, 5")


def check_equal_channels_are_not_told_apart(make: Make) -> None:
    """Between equal channels a policy ends at the limit, undecided, unless it may err by epsilon."""
    policy = make([(2, 2)] * 3, delta=1e-6)  # a chance of 1e-6 to be decided, and then wrongly
    result = identify(Simulator([bsc(0.1)] * 3, rng=6), policy, max_senses=ENOUGH)
    if policy.epsilon == 0.0:
        claim(result.candidates == (0, 1, 2), f"equal channels must all stay candidates; {result.candidates} are left")
    claim(result.decided == (policy.epsilon > 0.0), f"of equal channels one is named only within epsilon; got {result}")


def check_limit_is_never_passed(make: Make) -> None:
    """`identify` cuts the request that would pass `max_senses`, or stops before it, and says what was spent.

    A policy that asks for other senses because of the limit may be decided sooner by them, or later.
    """
    requests = [request for request, _ in _answered(make)]
    totals = np.cumsum([request.total for request in requests]).tolist()
    some = {totals[i] for i in np.linspace(0, len(totals) - 1, 4).astype(int)}
    for limit in sorted({0, *some, *(total - 1 for total in some)}):
        result = identify(Simulator(BINARY, rng=1), _for(make, BINARY), max_senses=limit)
        spent = max((total for total in totals if total <= limit), default=0)
        planned_by_it = any(s.request != r for s, r in zip(result.audit.steps, requests, strict=False))
        claim(
            result.senses in (spent, limit) or (planned_by_it and result.decided and result.senses < limit),
            f"with a limit of {limit} it must spend {spent} or {limit} senses; it spends {result.senses}",
        )
        if not planned_by_it:
            whole = limit == totals[-1]
            enough = whole or result.senses != spent  # of a request that was cut, the rest may suffice
            claim(result.decided <= enough, f"with {limit} of {totals[-1]} senses it must be undecided")
            claim(result.decided >= whole, f"with {limit} senses, all that it needs, it must be decided")
        claim(BEST in result.candidates, f"the best must stay a candidate; left are {result.candidates}")


def check_run_goes_on_where_it_stopped(make: Make) -> None:
    """`identify` called again goes on with the whole record, and progress tells where it stands."""
    whole, statuses = identify(Simulator(BINARY, rng=1), _for(make, BINARY)), list[Status]()
    sensor, policy = Simulator(BINARY, rng=1), _for(make, BINARY)
    identify(_Pausing(sensor, len(whole.audit.steps) // 2), policy, progress=statuses.append)
    claim(identify(sensor, policy, progress=statuses.append) == whole, f"in two calls it must come to {whole}")
    totals = [step.request.total for step in whole.audit.steps]
    claim([s.senses for s in statuses] == np.cumsum(totals).tolist(), "progress must count the senses told so far")
    claim([s.next_senses for s in statuses] == [*totals[1:], 0], "progress must know the senses of the next request")


def check_impossible_settings_are_refused(make: Make) -> None:
    """No channels, alphabets that are none, and a delta that is no error probability are refused."""
    for delta in (0.0, 1.0, -0.1, float("nan"), None, "0.1", True):
        claim_refused(lambda delta=delta: make([(2, 2)] * 2, delta=delta), f"delta={delta!r}")  # type: ignore[misc]
    for alphabets in ([], [(2, 2), (2,)], [(2, 2), (0, 2)], [(2, 2), (2.0, 2)], [2, 2], None):
        claim_refused(lambda alphabets=alphabets: make(alphabets), f"alphabets={alphabets!r}")  # type: ignore[misc]


def check_policy_is_made_again_from_its_options(make: Make) -> None:
    """What a policy says of itself is enough to make it again, as a run on disk has to."""
    policy = _for(make, BINARY)
    options = policy.options | ({"epsilon": policy.epsilon} if "epsilon" in policy.option_names() else {})
    again = type(policy)(policy.alphabets, delta=policy.delta, **options)
    for name in ("options", "delta", "epsilon", "guarantee"):
        mine, theirs = getattr(policy, name), getattr(again, name)
        claim(mine == theirs, f"made again with {options} its {name} must be {mine!r}; it is {theirs!r}")
    for request, observation in _answered(make):
        claim(again.ask() == request, f"made again with {options} it must ask {request}; it asks {again.ask()}")
        again.tell(observation)


POLICY_CHECKS: tuple[Callable[[Make], None], ...] = tuple(
    check for name, check in vars().items() if name.startswith("check_") and check is not check_policy
)
"""What every policy promises, one function each; it takes what makes the policy, as `check_policy` does."""


def _for(make: Make, channels: Sequence[Channel]) -> Policy:
    return make([(channel.n_inputs, channel.n_outputs) for channel in channels])


def _answered(make: Make, channels: Sequence[Channel] = BINARY) -> Exchange:
    """A run to its end, or to the limit: what was asked and told."""
    sensor, policy, exchange = Simulator(channels, rng=1), _for(make, channels), Exchange()
    while (request := policy.ask()) is not None and policy.senses + request.total <= ENOUGH:
        counts = sensor(request)
        policy.tell(Observation(request.number, {channel: table.copy() for channel, table in counts.items()}))
        exchange.append((request, Observation(request.number, counts)))
    return exchange


def _state(policy: Policy) -> tuple[object, ...]:
    shown = policy.nearly_best, policy.supposed, str(policy.findings)
    return policy.ask(), policy.candidates, policy.recommendation, policy.rounds, len(policy.steps), *shown


def _claim_named(make: Make, channels: Sequence[Channel], best: int) -> None:
    result = identify(Simulator(channels, rng=2), _for(make, channels), max_senses=ENOUGH)
    claim(
        result.best == best and result.candidates == (best,), f"of {list(channels)} {best} must be named; got {result}"
    )


def _spoiled(observation: Observation) -> Iterator[tuple[str, Any]]:
    """Answers that are none, with what is wrong about them."""
    number, counts = observation.request, observation.counts
    channel, table = next(iter(counts.items()))
    yield "an answer to the next request", Observation(number + 1, counts)
    yield "an answer to the request before", Observation(number - 1, counts)
    yield "an answer without its counts", Observation(number, None)  # type: ignore[arg-type]
    yield "counts without an Observation", counts
    yield "nothing", None
    yield "an answer without a channel", Observation(number, {c: t for c, t in counts.items() if c != channel})
    yield "an answer with a channel too many", Observation(number, {**counts, 99: np.ones((2, 2), dtype=int)})
    tables: dict[str, Any] = {
        "a sense too many": table + np.array([[0, 0], [1, 0]]),
        "a sense of another input": table + np.outer([-1, 1], table[0] == table[0].max()),
        "a negative count": table + np.outer([0, 1], [-1 - table[1, 0], 1 + table[1, 0]]),
        "counts that are floats": table.astype(float),
        "counts that are truth values": table > 0,
        "counts that are words": [["a", "b"]] * 2,
        "counts of an output too many": np.pad(table, ((0, 0), (0, 1))),
        "counts in a row": table.ravel(),
        "no counts": table[:0],
    }
    for what, wrong in tables.items():
        yield what, Observation(number, {**counts, channel: wrong})


class _Pausing:
    """A sensor that has nothing to say from some request on."""

    def __init__(self, sensor: Simulator, last: int) -> None:
        self.sensor, self.last, self.parties = sensor, max(last, 1), sensor.parties

    def __call__(self, request: Request) -> dict[int, Integers]:
        if request.number > self.last:
            raise OutOfSensesError("the sensor makes a pause")
        return self.sensor(request)


class _ByIdentity:
    """A sensor of `BINARY` in another order; its draws are a function of the channel and of how often it was sensed."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order, self.calls = order, Counter[int]()

    def __call__(self, request: Request) -> dict[int, Integers]:
        counts = dict[int, Integers]()
        for position, senses in request.senses.items():
            channel = self.order[position]
            rng = np.random.default_rng([3, channel, self.calls[channel]])
            self.calls[channel] += 1
            counts[position] = rng.multinomial(senses, BINARY[channel].W)
        return counts


def check_sensor(make: MakeSensor, alphabets: Sizes | None = None) -> None:
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


def check_channels_are_described(make: MakeSensor, alphabets: Sizes | None = None) -> None:
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


def check_answers_are_what_was_asked(make: MakeSensor, alphabets: Sizes | None = None) -> None:
    """Counts are whole numbers that add up to the senses of every input, of the channels asked for and no others."""
    sizes, sensor = _sizes(make, alphabets), make()
    for request in _few_requests(sizes):
        before = dict(request.senses)
        observation = Observation(request.number, sensor(request))
        try:
            checked_counts(request, observation, sizes)
        except InputError as error:
            raise AssertionError(f"the sensor must answer {request}; it does not: {error}") from error
        claim(request.senses == before, f"a sensor must not change the request; {before} became {request.senses}")


def check_random_state_is_its_own(make: MakeSensor, alphabets: Sizes | None = None) -> None:
    """A sensor with a generator `rng` draws from nothing else, so that a run goes on as if it had not been cut off."""
    sensor = make()
    generator = getattr(getattr(sensor, "rng", None), "bit_generator", None)
    if generator is None:
        return
    for request in _few_requests(_sizes(make, alphabets)):
        state = generator.state
        first = sensor(request)
        generator.state = state
        second = sensor(request)
        same = all((first[channel] == second[channel]).all() for channel in first)
        claim(same, f"with rng in the same state the answer must be the same; {first} became {second}")


SENSOR_CHECKS: tuple[Callable[..., None], ...] = tuple(
    check
    for name, check in vars().items()
    if name.startswith("check_") and check not in (check_policy, *POLICY_CHECKS, check_sensor)
)
"""What every sensor promises, one function each; it takes what `check_sensor` takes."""


def _sizes(make: MakeSensor, alphabets: Sizes | None) -> list[tuple[int, int]]:
    if alphabets is not None:
        return list(alphabets)
    return [labels.alphabet for labels in make().parties]  # type: ignore[attr-defined]


def _few_requests(sizes: Sequence[tuple[int, int]]) -> list[Request]:
    """Some senses of everything; then one channel alone, the last, with an input that is left out."""
    everything = {channel: (2,) * n_inputs for channel, (n_inputs, _) in enumerate(sizes)}
    last = len(sizes) - 1
    alone = {last: (0, *(1,) * (sizes[last][0] - 1)) if sizes[last][0] > 1 else (1,)}
    backwards = {channel: (1,) * sizes[channel][0] for channel in range(last, -1, -1)}
    return [Request(1, everything), Request(2, alone), Request(3, backwards)]
