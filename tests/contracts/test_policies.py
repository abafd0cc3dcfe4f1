"""What every policy promises, whichever it is: one suite for all of them."""

import contextlib
import math
import re

import numpy as np
import pytest

from bestchannel import BestChanID, InputError, MedianChanEl, NaiveChanSel, Observation, Simulator, identify
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, z_channel
from bestchannel.policies.policy import TooManySensesError
from tests.contracts.policies import CAPACITY_POLICIES, FIXED_INPUT_POLICIES, PAPER_FIXED_INPUT_POLICIES, POLICIES

# Capacities, bits: 0.12, 0.86, 0.28, 0.32; the best stays the best at the fixed input distribution.
BINARY = [bsc(0.3), bsc(0.02), bsc(0.2), z_channel(0.5)]
SENSELESS = [Channel.from_rows([[1.0]]), Channel.from_rows([[0.2, 0.3, 0.5]]), Channel.from_rows([[1.0], [1.0]])]
MIXED_OUTPUTS = [SENSELESS[0], bsc(0.2), bec(0.1), SENSELESS[1], SENSELESS[2], bsc(0.5)]
MIXED_INPUTS = [bsc(0.2), q_ary_symmetric(3, 0.02), Channel.from_rows(np.full((4, 2), 0.5)), SENSELESS[0]]

ENOUGH = 10**15
"""More senses than any policy uses on the channels above, and a limit for exact ties."""


def parametrize(policies):
    return pytest.mark.parametrize("factory", [factory for _, factory in policies], ids=[name for name, _ in policies])


every_policy = parametrize(POLICIES)
every_capacity_policy = parametrize(CAPACITY_POLICIES)
every_fixed_input_policy = parametrize(FIXED_INPUT_POLICIES)


def alphabets_of(channels):
    return [(channel.n_inputs, channel.n_outputs) for channel in channels]


def state(policy):
    return policy.ask(), policy.candidates, policy.recommendation, policy.rounds


def answered(sensor, policy):
    """Run a policy to its end: [(request, observation)]."""
    exchange = []
    while (request := policy.ask()) is not None:
        observation = Observation(request.number, sensor(request))
        policy.tell(observation)
        exchange.append((request, observation))
    return exchange


def run_on(channels, factory, *, seed=1):
    return answered(Simulator(channels, rng=seed), factory(alphabets_of(channels)))


class Spy:
    """A sensor that remembers what it was asked."""

    def __init__(self, sensor):
        self.sensor, self.requests = sensor, []

    def __call__(self, request):
        self.requests.append(request)
        return self.sensor(request)


class ByIdentity:
    """Counts drawn from a generator of (channel, how often it was sensed before), whatever its position."""

    def __init__(self, channels, order, seed):
        self.channels, self.order, self.seed = channels, order, seed
        self.calls = dict.fromkeys(order, 0)

    def __call__(self, request):
        return {position: self.draw(self.order[position], senses) for position, senses in request.senses.items()}

    def draw(self, identity, senses):
        rng = np.random.default_rng([self.seed, identity, self.calls[identity]])
        self.calls[identity] += 1
        return rng.multinomial(senses, self.channels[identity].W)


@every_policy
def test_ask_repeats_until_told(factory):
    policy = factory(alphabets_of(BINARY))
    for request, observation in run_on(BINARY, factory):
        before = state(policy)
        assert policy.ask() == policy.ask() == request
        assert state(policy) == before
        policy.tell(observation)
    assert policy.ask() is None
    assert policy.ask() is None
    assert policy.recommendation == 1


@every_policy
def test_requests_are_numbered_from_one(factory):
    numbers = [request.number for request, _ in run_on(BINARY, factory)]
    assert numbers == list(range(1, len(numbers) + 1))


def replaced(observation, change):
    """The observation with the first table of its counts changed."""
    channel, table = next(iter(observation.counts.items()))
    return Observation(observation.request, {**observation.counts, channel: change(table.copy())})


def with_cell(x, y, value):
    """Put a value into a cell and the difference into the next, so that the total stays."""

    def change(table):
        table[x, y + 1] += table[x, y] - value
        table[x, y] = value
        return table

    return change


def one_more(table):
    table[1, 0] += 1
    return table


def one_elsewhere(table):
    """One count moved to another input: the grand total stays, those of two inputs do not."""
    table[0] += [-1, 0] if table[0, 0] else [0, -1]
    table[1, 0] += 1
    return table


SPOILED = {
    "later request": (
        lambda o: Observation(o.request + 1, o.counts),
        r"request \d+ is open; the observation answers request \d+",
    ),
    "earlier request": (
        lambda o: Observation(o.request - 1, o.counts),
        r"request \d+ is open; the observation answers request \d+",
    ),
    "one sense too many": (
        lambda o: replaced(o, one_more),
        r"counts of channel \d+ in the answer to request \d+ must add up to \d+ senses of input x=1;"
        r" they add up to \d+",
    ),
    "a sense of another input": (
        lambda o: replaced(o, one_elsewhere),
        r"must add up to \d+ senses of input x=0; they add up to \d+",
    ),
    "negative count": (
        lambda o: replaced(o, with_cell(1, 0, -1)),
        r"counts of channel \d+ in the answer to request \d+ must not be negative; input x=1 with output y=0 has -1",
    ),
    "foreign channel": (
        lambda o: Observation(o.request, {**o.counts, 99: np.ones((2, 2), dtype=int)}),
        r"the answer to request \d+ has channel 99, which was not asked for",
    ),
    "missing channel": (
        lambda o: Observation(o.request, dict(list(o.counts.items())[1:])),
        r"the answer to request \d+ misses channel \d+",
    ),
    "no counts": (
        lambda o: Observation(o.request, None),
        r"request \d+ requires an Observation with counts by channel; got Observation\(request=\d+, counts=None\)",
    ),
    "counts in a list": (
        lambda o: Observation(o.request, list(o.counts.values())),
        r"request \d+ requires an Observation with counts by channel; got Observation\(",
    ),
    "counts without an Observation": (
        lambda o: o.counts,
        r"request \d+ requires an Observation with counts by channel; got \{",
    ),
    "nothing": (lambda o: None, r"request \d+ requires an Observation with counts by channel; got None"),
    "no channel": (lambda o: Observation(o.request, {}), r"the answer to request \d+ misses channel \d+"),
    "floats": (
        lambda o: replaced(o, lambda table: table.astype(float)),
        r"counts of channel \d+ in the answer to request \d+ must be 2 x 2 whole numbers; they are float64",
    ),
    "truth values": (lambda o: replaced(o, lambda table: table > 0), r"must hold real numbers; it has dtype bool"),
    "words": (lambda o: replaced(o, lambda table: [["a", "b"]] * 2), r"row x=0, column y=0 .* must be a number"),
    "one output too many": (
        lambda o: replaced(o, lambda table: np.pad(table, ((0, 0), (0, 1)))),
        r"must be 2 x 2 whole numbers; they are int64 of shape \(2, 3\)",
    ),
    "flat": (
        lambda o: replaced(o, lambda table: table.ravel()),
        r"must be 2 x 2 whole numbers; they are int64 of shape \(4,\)",
    ),
    "empty": (lambda o: replaced(o, lambda table: table[:0]), r"must not be empty; its shape is \(0, 2\)"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILED.values(), ids=SPOILED)
@every_policy
def test_wrong_answer_is_refused_and_changes_nothing(factory, spoil, message):
    policy = factory(alphabets_of(BINARY))
    for request, observation in run_on(BINARY, factory):
        before = state(policy)
        assert before[0] == request
        with pytest.raises(InputError, match=message):
            policy.tell(spoil(observation))
        assert state(policy) == before
        policy.tell(observation)
    assert policy.recommendation == 1


@every_policy
def test_tell_after_the_end_is_refused(factory):
    policy = factory(alphabets_of(BINARY))
    exchange = answered(Simulator(BINARY, rng=1), policy)
    end = state(policy)
    with pytest.raises(InputError, match="no request is open: the policy has ended and recommends 1"):
        policy.tell(exchange[-1][1])
    assert state(policy) == end


@every_policy
def test_told_arrays_are_never_written_to(factory):
    policy, sensor = factory(alphabets_of(BINARY)), Simulator(BINARY, rng=1)
    while (request := policy.ask()) is not None:
        counts = sensor(request)
        originals = {channel: table.copy() for channel, table in counts.items()}
        for table in counts.values():
            table.setflags(write=False)
        policy.tell(Observation(request.number, counts))
        assert all(np.array_equal(counts[channel], original) for channel, original in originals.items())


@every_policy
def test_arrays_may_be_reused_once_told(factory):
    policy = factory(alphabets_of(BINARY))
    for request, observation in run_on(BINARY, factory):
        assert policy.ask() == request
        policy.tell(observation)
        for table in observation.counts.values():
            table[...] = -1
    assert policy.recommendation == 1


@every_policy
def test_request_cannot_be_changed_by_who_holds_it(factory):
    policy = factory(alphabets_of(BINARY))
    with contextlib.suppress(AttributeError, TypeError):  # a read-only mapping is one way to keep the promise
        policy.ask().senses.clear()
    assert policy.ask().total > 0


@every_policy
def test_replay_of_any_prefix_reaches_the_same_request(factory):
    exchange = run_on(BINARY, factory)
    requests = [request for request, _ in exchange] + [None]
    # at most 12 prefixes; for a policy of few requests these are all there are
    for length in sorted(set(np.linspace(0, len(exchange), 12).astype(int).tolist())):
        policy = factory(alphabets_of(BINARY))
        for _, observation in exchange[:length]:
            policy.tell(observation)
        assert policy.ask() == requests[length]
    assert policy.recommendation == 1


@every_policy
def test_same_seed_gives_the_same_run_bit_for_bit(factory):
    first, second = run_on(MIXED_OUTPUTS, factory, seed=5), run_on(MIXED_OUTPUTS, factory, seed=5)
    for (request, observation), (request_again, observation_again) in zip(first, second, strict=True):
        assert request == request_again
        assert observation.counts.keys() == observation_again.counts.keys()
        for channel, table in observation.counts.items():
            assert table.tobytes() == observation_again.counts[channel].tobytes()
    results = [
        identify(Simulator(MIXED_OUTPUTS, rng=5), factory(alphabets_of(MIXED_OUTPUTS)), max_senses=ENOUGH)
        for _ in range(2)
    ]
    assert results[0] == results[1]


@every_policy
def test_best_channel_is_named(factory):
    result = identify(Simulator(BINARY, rng=2), factory(alphabets_of(BINARY)), max_senses=ENOUGH)
    assert (result.best, result.decided, result.candidates) == (1, True, (1,))
    assert result.delta == 0.1
    assert "with probability at least 0.9" in result.guarantee


@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 2, 3, 0), (2, 0, 3, 1)])
@every_policy
def test_relabelling_channels_relabels_the_answer(factory, order):
    plain = identify(ByIdentity(BINARY, range(4), 3), factory([(2, 2)] * 4), max_senses=ENOUGH)
    relabelled = identify(ByIdentity(BINARY, order, 3), factory([(2, 2)] * 4), max_senses=ENOUGH)
    assert order[relabelled.best] == plain.best


@every_policy
def test_channels_of_different_outputs_are_compared(factory):
    # bec(0.1) carries 0.9 bit, or 0.9 h(0.4) = 0.87 at the fixed input distribution
    result = identify(Simulator(MIXED_OUTPUTS, rng=4), factory(alphabets_of(MIXED_OUTPUTS)), max_senses=ENOUGH)
    assert result.best == 2


@every_capacity_policy
def test_channels_of_different_inputs_are_compared(factory):
    # q_ary_symmetric(3, 0.02) carries log2(3) - h(0.02) - 0.02 = 1.42 bits
    result = identify(Simulator(MIXED_INPUTS, rng=4), factory(alphabets_of(MIXED_INPUTS)), max_senses=ENOUGH)
    assert result.best == 1


@every_policy
def test_channel_without_alternatives_needs_no_sense(factory):
    spy = Spy(Simulator(BINARY[:1], rng=1))
    result = identify(spy, factory([(2, 2)]))
    assert (result.best, result.decided, result.senses, result.candidates) == (0, True, 0, (0,))
    assert spy.requests == []


@every_policy
def test_channels_with_one_input_or_output_are_never_sensed(factory):
    spy = Spy(Simulator(MIXED_OUTPUTS, rng=1))
    identify(spy, factory(alphabets_of(MIXED_OUTPUTS)), max_senses=ENOUGH)
    assert {channel for request in spy.requests for channel in request.senses} <= {1, 2, 5}


@every_policy
def test_channels_that_all_carry_nothing_by_their_alphabet_need_no_sense(factory):
    result = identify(Simulator(SENSELESS, rng=1), factory(alphabets_of(SENSELESS)))
    assert result.decided
    assert result.best in range(3)
    assert result.senses == 0


@every_policy
def test_channel_of_capacity_zero_loses(factory):
    channels = [bsc(0.5), bsc(0.1)]
    assert identify(Simulator(channels, rng=1), factory([(2, 2)] * 2), max_senses=ENOUGH).best == 1


@every_policy
def test_exact_ties_end_at_the_limit_or_within_epsilon(factory):
    # a policy may rule out each of three equal channels with probability delta: here, practically never
    policy = factory([(2, 2)] * 3, delta=1e-6)
    result = identify(Simulator([bsc(0.1)] * 3, rng=6), policy, max_senses=ENOUGH)
    assert result.senses <= ENOUGH
    if policy.epsilon == 0:
        assert (result.best, result.decided, result.candidates) == (None, False, (0, 1, 2))
    else:
        assert result.decided
        assert result.best in range(3)


@every_policy
def test_senses_are_the_sum_of_all_requests(factory):
    spy = Spy(Simulator(MIXED_OUTPUTS, rng=1))
    result = identify(spy, factory(alphabets_of(MIXED_OUTPUTS)), max_senses=ENOUGH)
    assert result.senses == sum(sum(map(sum, request.senses.values())) for request in spy.requests)
    assert result.senses == sum(request.total for request in spy.requests)


@every_policy
def test_requests_ask_only_for_candidates(factory):
    policy, sensor = factory(alphabets_of(BINARY)), Simulator(BINARY, rng=1)
    while (request := policy.ask()) is not None:
        assert set(request.senses) <= set(policy.candidates)
        assert all(len(senses) == policy.alphabets[channel][0] for channel, senses in request.senses.items())
        assert request.total > 0
        policy.tell(Observation(request.number, sensor(request)))
    assert policy.recommendation in policy.candidates


@every_policy
def test_senses_never_pass_the_limit(factory):
    totals = np.cumsum([request.total for request, _ in run_on(BINARY, factory, seed=8)]).tolist()
    for limit in {0, *totals, *(total - 1 for total in totals)}:
        spy = Spy(Simulator(BINARY, rng=8))
        result = identify(spy, factory(alphabets_of(BINARY)), max_senses=limit)
        assert result.senses == max((total for total in totals if total <= limit), default=0)
        assert result.senses == sum(request.total for request in spy.requests)
        assert result.decided == (limit == totals[-1])
        assert (result.best is None) == (not result.decided)
        assert 1 in result.candidates


@every_policy
def test_progress_tells_where_the_run_stands(factory):
    statuses, requests = [], [request for request, _ in run_on(BINARY, factory, seed=8)]
    result = identify(Simulator(BINARY, rng=8), factory(alphabets_of(BINARY)), progress=statuses.append)
    totals = [request.total for request in requests]
    assert [status.senses for status in statuses] == np.cumsum(totals).tolist()
    assert [status.requests for status in statuses] == list(range(1, len(requests) + 1))
    assert [status.next_senses for status in statuses] == [*totals[1:], 0]
    assert (statuses[-1].rounds, statuses[-1].candidates) == (result.rounds, (1,))


@pytest.mark.parametrize("limit", [-1, 1.5, math.nan, True, "10"])
def test_limit_that_is_no_number_of_senses_is_refused(limit):
    with pytest.raises(InputError, match=f"max_senses must be a whole number >= 0; it is {limit!r}"):
        identify(Simulator(BINARY, rng=1), BestChanID([(2, 2)] * 4, delta=0.1), max_senses=limit)


@pytest.mark.parametrize("count", [3, 5])
@every_policy
def test_sensor_of_another_number_of_channels_is_refused(factory, count):
    with pytest.raises(InputError, match=f"the policy requires {count} channels; the sensor has 4"):
        identify(Simulator(BINARY, rng=1), factory([(2, 2)] * count))


@pytest.mark.parametrize("channels", [[bsc(0.1), bec(0.1)], {0: bsc(0.1), "second": bec(0.1)}], ids=["list", "names"])
@pytest.mark.parametrize("alphabet", [(2, 2), (2, 4), (2, 1), (1, 3)])
@every_policy
def test_sensor_of_channels_of_another_size_is_refused(factory, alphabet, channels):
    sensor = Spy(Simulator(channels, rng=1))
    sensor.parties = sensor.sensor.parties
    message = f"channel {sensor.parties[1].key!r} to be (n_inputs, n_outputs) = {alphabet}; the sensor's is (2, 3)"
    with pytest.raises(InputError, match=re.escape(f"the policy requires {message}")):
        identify(sensor, factory([(2, 2), alphabet]))
    assert sensor.requests == []


@pytest.mark.parametrize("alphabet", [(3, 3), (3, 2)])
@every_capacity_policy
def test_sensor_of_channels_of_other_inputs_is_refused(factory, alphabet):
    with pytest.raises(InputError, match=re.escape(f"= {alphabet}; the sensor's is (2, 3)")):
        identify(Simulator([bsc(0.1), bec(0.1)], rng=1), factory([(2, 2), alphabet]))


@every_policy
def test_sensor_that_does_not_say_its_sizes_is_refused_by_its_first_answer(factory):
    sensor, policy = Spy(Simulator([bsc(0.1), bec(0.1)], rng=1)), factory([(2, 2)] * 2)
    before = state(policy)
    with pytest.raises(InputError, match=r"must be 2 x 2 whole numbers; they are int64 of shape \(2, 3\)"):
        identify(sensor, policy)
    assert len(sensor.requests) == 1
    assert state(policy) == before


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
@every_policy
def test_delta_that_is_no_error_probability_is_refused(factory, delta):
    with pytest.raises(InputError, match=rf"delta \(the error probability\) must lie in \(0, 1\); it is {delta:g}"):
        factory([(2, 2)] * 2, delta=delta)


@pytest.mark.parametrize("delta", [None, "0.1", True])
@every_policy
def test_delta_that_is_no_number_is_refused(factory, delta):
    with pytest.raises(InputError, match=rf"delta \(the error probability\) must be a number; it is {delta!r}"):
        factory([(2, 2)] * 2, delta=delta)


@every_policy
def test_no_channels_are_refused(factory):
    with pytest.raises(InputError, match="a policy requires at least one channel; alphabets is empty"):
        factory([])


@pytest.mark.parametrize("alphabet", [(2,), (2, 2, 2), (0, 2), (2, -1), (2.0, 2), (True, 2), ("2", "2")])
@every_policy
def test_alphabet_that_is_no_pair_of_sizes_is_refused(factory, alphabet):
    with pytest.raises(InputError, match=r"alphabets\[1\] must be \(n_inputs, n_outputs\), both >= 1; it is "):
        factory([(2, 2), alphabet])


@pytest.mark.parametrize("alphabets", [2, None, [(2, 2), 2], [2, 2], (2, 2)])
@every_policy
def test_alphabets_that_are_no_pairs_are_refused(factory, alphabets):
    message = f"alphabets must be pairs (n_inputs, n_outputs), one for each channel; it is {alphabets!r}"
    with pytest.raises(InputError, match=re.escape(message)):
        factory(alphabets)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ((0.2, 0.3, 0.5), r"the fixed input distribution must be a vector of 2 probabilities; its shape is \(3,\)"),
        ((), r"the fixed input distribution must not be empty"),
        ((0.5, 0.6), r"the fixed input distribution must sum to 1 within 1e-09; it sums to 1.1"),
        ((1.5, -0.5), r"column y=1 of the fixed input distribution must be a finite number >= 0; it is -0.5"),
        ((math.nan, 1.0), r"column y=0 of the fixed input distribution must be a finite number >= 0; it is nan"),
        (((0.5, 0.5),), r"the fixed input distribution must be a list of probabilities; it is \(\(0.5, 0.5\),\)"),
        (0.5, r"the fixed input distribution must be a list of probabilities; it is 0.5"),
    ],
)
@every_fixed_input_policy
def test_input_distribution_that_is_none_is_refused(factory, P, message):
    with pytest.raises(InputError, match=message):
        factory([(2, 2)] * 2, input_distribution=P)


@pytest.mark.parametrize("P", [(), (0.5, 0.6), (1.5, -0.5), (math.nan, 1.0), ("a", "b"), ((0.5, 0.5),), 0.5], ids=str)
@every_fixed_input_policy
def test_input_distribution_that_is_none_is_refused_also_where_nothing_will_be_sensed(factory, P):
    with pytest.raises(InputError, match="the fixed input distribution"):
        factory(alphabets_of(SENSELESS), input_distribution=P)


@every_fixed_input_policy
def test_input_distribution_for_channels_of_different_inputs_is_refused(factory):
    with pytest.raises(InputError, match=r"must be a vector of 3 probabilities; its shape is \(2,\)"):
        factory([(2, 2), (3, 2)])


@every_policy
def test_guarantee_names_its_proof(factory):
    assert re.search(r"\[(EBWGW24, .+|docs/theory/\w+\.md)\]$", factory([(2, 2)] * 2).guarantee)


@parametrize(PAPER_FIXED_INPUT_POLICIES)
def test_fixed_input_guarantee_of_the_paper_says_that_it_is_not_proved(factory):
    assert "not proved" in factory([(2, 2)] * 2).guarantee


@pytest.mark.parametrize("epsilon", [0.0, -0.1, math.nan, math.inf])
@pytest.mark.parametrize("policy", [NaiveChanSel, MedianChanEl])
def test_accuracy_that_is_not_positive_is_refused(policy, epsilon):
    with pytest.raises(InputError, match=rf"epsilon \(the accuracy, in bits\) must lie in \(0, .*; it is {epsilon:g}"):
        policy([(2, 2)] * 2, epsilon=epsilon, delta=0.1)


# What the formulas of the paper ask of each input is about 10^5 / epsilon^2 times a squared logarithm.
@pytest.mark.parametrize(("epsilon", "power"), [(1e-10, 27), (1e-100, 209), (1e-200, 410)])
@pytest.mark.parametrize("policy", [NaiveChanSel, MedianChanEl])
def test_accuracy_that_no_64_bit_count_reaches_is_refused(policy, epsilon, power):
    with pytest.raises(TooManySensesError) as refusal:
        policy([(2, 2)] * 2, epsilon=epsilon, delta=0.1)
    assert isinstance(refusal.value, InputError)
    sentence = re.fullmatch(
        r"the policy requires some 10\^(\d+) senses of an input, and counts hold fewer than 10\^19;"
        r" a larger epsilon requires fewer",
        str(refusal.value),
    )
    assert int(sentence[1]) in range(power, power + 3)


@pytest.mark.parametrize("subroutine", ["adaptive", "", "Naive", None])
def test_unknown_subroutine_is_refused(subroutine):
    with pytest.raises(InputError, match=f"the subroutine must be one of naive, median; it is {subroutine!r}"):
        BestChanID([(2, 2)] * 2, delta=0.1, subroutine=subroutine)
