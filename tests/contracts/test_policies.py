"""What every policy promises, whichever it is: one suite for all of them, and the sentences of what they refuse."""

import json
import math
import re

import numpy as np
import pytest

from bestchannel import (
    Adaptive,
    Best,
    BestChanID,
    InputError,
    MedianChanEl,
    NaiveChanSel,
    Observation,
    Policy,
    Recording,
    Simulator,
    identify,
)
from bestchannel.channels import bec, bsc
from bestchannel.policies.policy import TooManySensesError
from bestchannel.testing import BINARY, POLICY_CHECKS, SENSELESS
from tests.contracts.policies import FIXED_INPUT_POLICIES, PAPER_FIXED_INPUT_POLICIES, POLICIES


def parametrize(policies):
    return pytest.mark.parametrize("factory", [factory for _, factory in policies], ids=[name for name, _ in policies])


every_policy = parametrize(POLICIES)
every_fixed_input_policy = parametrize(FIXED_INPUT_POLICIES)


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@every_policy
def test_policy_keeps_the_contract(check, factory):
    check(factory)


def alphabets_of(channels):
    return [(channel.n_inputs, channel.n_outputs) for channel in channels]


class Spy:
    """A sensor that remembers what it was asked."""

    def __init__(self, sensor):
        self.sensor, self.requests = sensor, []

    def __call__(self, request):
        self.requests.append(request)
        return self.sensor(request)


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
        r"counts of channel \d+ in the answer to request \d+ must add up to [\d,]+ senses of input x=1;"
        r" they add up to [\d,]+",
    ),
    "a sense of another input": (
        lambda o: replaced(o, one_elsewhere),
        r"must add up to [\d,]+ senses of input x=0; they add up to [\d,]+",
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
def test_refusal_of_a_wrong_answer_says_what_is_wrong(spoil, message):
    policy = BestChanID(alphabets_of(BINARY), delta=0.1)
    observation = Observation(1, Simulator(BINARY, rng=1)(policy.ask()))
    with pytest.raises(InputError, match=message):
        policy.tell(spoil(observation))


def test_tell_after_the_end_says_what_was_recommended():
    policy = BestChanID(alphabets_of(BINARY), delta=0.1)
    identify(Simulator(BINARY, rng=1), policy)
    with pytest.raises(InputError, match="no request is open: the policy has ended and recommends 1"):
        policy.tell(Observation(1, {}))


@every_policy
def test_guarantee_holds_with_the_probability_asked_for(factory):
    result = identify(Simulator(BINARY, rng=2), factory(alphabets_of(BINARY)))
    assert result.delta == 0.1
    assert "with probability at least 0.9" in result.guarantee


def test_recorded_counts_stay_when_a_sensor_reuses_its_arrays():
    sensor, tables = Simulator(BINARY, rng=2), {}

    def reusing(request):
        for channel, counts in sensor(request).items():
            tables.setdefault(channel, np.zeros_like(counts))[...] = counts
        return {channel: tables[channel] for channel in request.senses}

    mine, theirs = (
        identify(each, BestChanID(alphabets_of(BINARY), delta=0.1)) for each in (reusing, Simulator(BINARY, rng=2))
    )
    for step, other in zip(mine.audit.steps, theirs.audit.steps, strict=True):
        assert {c: t.tolist() for c, t in step.counts.items()} == {c: t.tolist() for c, t in other.counts.items()}


def test_limit_of_a_run_that_goes_on_is_that_of_all_its_senses():
    sensor, policy = Simulator(BINARY, rng=2), BestChanID(alphabets_of(BINARY), delta=0.1)
    whole = identify(Simulator(BINARY, rng=2), BestChanID(alphabets_of(BINARY), delta=0.1))
    first = whole.audit.steps[0].request.total
    assert identify(sensor, policy, max_senses=first).senses == first
    assert identify(sensor, policy, max_senses=first).senses == first
    assert identify(sensor, policy, max_senses=whole.senses) == whole


def test_policy_that_was_told_by_hand_is_gone_on_with():
    sensor, policy = Simulator(BINARY, rng=2), BestChanID(alphabets_of(BINARY), delta=0.1)
    policy.tell(Observation(1, sensor(policy.ask())))
    assert identify(sensor, policy) == identify(Simulator(BINARY, rng=2), BestChanID(alphabets_of(BINARY), delta=0.1))


def test_sensor_of_other_channels_than_those_told_about_is_refused():
    policy = BestChanID([(2, 2)] * 2, delta=0.1)
    identify(Simulator({"a": bsc(0.1), "b": bsc(0.2)}, rng=2), policy, max_senses=policy.ask().total)
    with pytest.raises(InputError, match=r"the channels that the policy was told about, a, b, .* it is of a, c; make"):
        identify(Simulator({"a": bsc(0.1), "c": bsc(0.2)}, rng=2), policy)


def test_condition_on_the_outputs_stays_when_another_sensor_goes_on():
    trials = [[(i % 2, i % 2) for i in range(14)], [(i % 2, i // 2 % 2) for i in range(14)]]
    policy = Adaptive([(2, 2)] * 2, delta=0.1)
    assert not identify(Recording(trials), policy).decided
    result = identify(Simulator([bsc(0.01), bsc(0.3)], rng=1), policy)
    assert result.decided
    assert result.guarantee.endswith(", conditional on the observed alphabet")


class Scripted(Policy):
    """Asks once, and returns what it is made with; an exception is raised."""

    name, guarantee = "scripted", "none"

    def __init__(self, *, senses=None, end=0, **asked):
        self.senses_asked, self.end = senses or {0: (1, 1)}, end
        super().__init__([(2, 2)] * 2, delta=0.1, **asked)

    def _script(self):
        yield self.senses_asked
        if isinstance(self.end, BaseException):
            raise self.end
        return self.end


@pytest.mark.parametrize(
    "senses", [{0: (5,)}, {2: (1, 1)}, {-1: (1, 1)}, {0: (-1, 1)}, {0: (1.5, 1)}, {0: (0, 0)}, {"a": (1, 1)}, [1],
               {0: (2**63, 1)}], ids=str,
)  # fmt: skip
def test_request_that_no_sensor_can_answer_is_refused_where_it_is_made(senses):
    with pytest.raises(InputError, match="must ask for a whole number of senses of each input"):
        Scripted(senses=senses)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"question": "top"}, "a question must be Above, Top, Order or Within"),
        ({"question": Best(0.1), "epsilon": 0.2}, "epsilon is for the best channels and for orders, once"),
        ({"epsilon": -1.0}, "epsilon (the accuracy, in bits) must lie in [0, "),
    ],
)
def test_what_a_policy_is_asked_is_checked_where_it_is_made(asked, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Scripted(**asked)


def test_request_in_integers_of_numpy_is_one_in_those_of_python():
    request = Scripted(senses={np.int64(1): np.array([2, 3])}).ask()
    assert json.dumps(dict(request.senses)) == '{"1": [2, 3]}'


@pytest.mark.parametrize("end", [-1, 2, "a"])
def test_name_of_no_channel_is_refused(end):
    with pytest.raises(InputError, match=f"must return the number of a channel, 0 to 1, or None; it returns {end!r}"):
        identify(Simulator([bsc(0.1)] * 2, rng=1), Scripted(end=end))


@pytest.mark.parametrize("end", [RuntimeError("torn"), KeyboardInterrupt(), -1], ids=repr)
def test_policy_that_broke_off_does_not_go_on_as_if_it_were_undecided(end):
    sensor, policy = Spy(Simulator([bsc(0.1)] * 2, rng=1)), Scripted(end=end)
    with pytest.raises((RuntimeError, KeyboardInterrupt, InputError)):
        identify(sensor, policy)
    with pytest.raises(InputError, match=r"broke off while it was told an answer .* make it again"):
        identify(sensor, policy)
    assert len(sensor.requests) == 1


@pytest.mark.parametrize("limit", [-1, 1.5, math.nan, True, "10"])
def test_limit_that_is_no_number_of_senses_is_refused(limit):
    with pytest.raises(InputError, match=f"max_senses must be a whole number >= 0; it is {limit!r}"):
        identify(Simulator(BINARY, rng=1), BestChanID([(2, 2)] * 4, delta=0.1), max_senses=limit)


@pytest.mark.parametrize("count", [3, 5])
def test_sensor_of_another_number_of_channels_is_refused(count):
    with pytest.raises(InputError, match=f"the policy requires {count} channels; the sensor has 4"):
        identify(Simulator(BINARY, rng=1), BestChanID([(2, 2)] * count, delta=0.1))


@pytest.mark.parametrize("channels", [[bsc(0.1), bec(0.1)], {0: bsc(0.1), "second": bec(0.1)}], ids=["list", "names"])
@pytest.mark.parametrize("alphabet", [(2, 2), (2, 4), (2, 1), (1, 3), (3, 3), (3, 2)])
def test_sensor_of_channels_of_another_size_is_refused(alphabet, channels):
    sensor = Spy(Simulator(channels, rng=1))
    sensor.parties = sensor.sensor.parties
    message = f"channel {sensor.parties[1].key!r} to be (n_inputs, n_outputs) = {alphabet}; the sensor's is (2, 3)"
    with pytest.raises(InputError, match=re.escape(f"the policy requires {message}")):
        identify(sensor, BestChanID([(2, 2), alphabet], delta=0.1))
    assert sensor.requests == []


def test_sensor_that_does_not_say_its_sizes_is_refused_by_its_first_answer():
    sensor, policy = Spy(Simulator([bsc(0.1), bec(0.1)], rng=1)), BestChanID([(2, 2)] * 2, delta=0.1)
    with pytest.raises(InputError, match=r"must be 2 x 2 whole numbers; they are int64 of shape \(2, 3\)"):
        identify(sensor, policy)
    assert len(sensor.requests) == 1
    assert policy.ask().number == 1


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_delta_that_is_no_error_probability_is_refused(delta):
    with pytest.raises(InputError, match=rf"delta \(the error probability\) must lie in \(0, 1\); it is {delta:g}"):
        BestChanID([(2, 2)] * 2, delta=delta)


@pytest.mark.parametrize("delta", [None, "0.1", True])
def test_delta_that_is_no_number_is_refused(delta):
    with pytest.raises(InputError, match=rf"delta \(the error probability\) must be a number; it is {delta!r}"):
        BestChanID([(2, 2)] * 2, delta=delta)


def test_no_channels_are_refused():
    with pytest.raises(InputError, match="a policy requires at least one channel; alphabets is empty"):
        BestChanID([], delta=0.1)


@pytest.mark.parametrize("alphabet", [(2,), (2, 2, 2), (0, 2), (2, -1), (2.0, 2), (True, 2), ("2", "2")])
def test_alphabet_that_is_no_pair_of_sizes_is_refused(alphabet):
    with pytest.raises(InputError, match=r"alphabets\[1\] must be \(n_inputs, n_outputs\), both >= 1; it is "):
        BestChanID([(2, 2), alphabet], delta=0.1)


@pytest.mark.parametrize("alphabets", [2, None, [(2, 2), 2], [2, 2], (2, 2)])
def test_alphabets_that_are_no_pairs_are_refused(alphabets):
    message = f"alphabets must be pairs (n_inputs, n_outputs), one for each channel; it is {alphabets!r}"
    with pytest.raises(InputError, match=re.escape(message)):
        BestChanID(alphabets, delta=0.1)


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
    assert re.search(r"\[(EBWGW24, .+; )?bestchannel explain [a-z-]+\]$", factory([(2, 2)] * 2).guarantee)


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
