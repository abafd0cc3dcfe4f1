"""True records verify, whatever the policy; what was tampered with does not."""

import copy
import itertools
import json
import math

import numpy as np
import pytest

from bestchannel import Adaptive, BestChanID, InputError, Simulator, identify
from bestchannel.channels import bsc
from bestchannel.policies.transcript import as_document
from bestchannel.verification import verify
from tests.verification.records import CASES, bets_of, document, falls, leaders, most_restarts, random_3x3, record

ADAPTIVE = [name for name, (policy, _, _) in CASES.items() if policy is Adaptive]


def steps(result):
    return result["audit"]["steps"]


def assert_fails(result, sentence):
    verdict = verify(result)
    assert not verdict.valid
    assert sentence in verdict.failure
    assert verdict.claim == "nothing is proved"


# --- what is true -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_true_records_verify(name, seed):
    result = record(name, seed)
    assert result["decided"]
    verdict = verify(result)
    assert (verdict.valid, verdict.failure) == (True, None)
    assert (verdict.checks, verdict.choices) == (("structure", result["policy"], "choices"), "replayed")
    assert verdict.claim.startswith((f"{result['best']} is ", f"{result['best']} has the largest I(P;W) at P = "))


def test_records_have_restarts_and_changes_of_leader():
    # the cases above would prove little without them
    assert most_restarts(record("restarts", 7)) >= 1
    assert any(len(leaders(record("epsilon at ties", seed))) > 1 for seed in range(2))
    assert any(len(leaders(record(name))) > 1 for name in ADAPTIVE)


@pytest.mark.parametrize("seed", range(4))
def test_records_with_other_leaders_within_epsilon_verify(seed):
    result = document(Adaptive, [bsc(0.1)] * 3, {"epsilon": 0.03, "delta": 0.2}, seed=seed)
    assert verify(result).valid


@pytest.mark.parametrize(("policy", "limit"), [(Adaptive, 60), (Adaptive, 0), (BestChanID, 10**10)])
def test_undecided_record_without_evidence_is_valid_and_claims_nothing(policy, limit):
    result = document(policy, [bsc(0.1), bsc(0.1)], {}, max_senses=limit)
    assert not result["decided"]
    assert (verify(result).valid, verify(result).claim) == (True, "undecided: nothing is claimed")


def test_calibrated_record_is_not_proved():
    result = document(Adaptive, [bsc(0.1), bsc(0.3)], {"threshold": "calibrated"})
    assert result["decided"]
    assert_fails(result, "not proved: its threshold is calibrated")


# --- what was tampered with -------------------------------------------------------------------


def move_a_count(result):
    """From the likelier output of the leader to the other, wherever there is one."""
    for step in steps(result)[1:]:
        for row in step["counts"][step["stakes"]["leader"]]:
            largest = row.index(max(row))
            row[largest] -= 1
            row[largest - 1] += 1


def move_between_inputs(result):
    rows = steps(result)[1]["counts"][steps(result)[1]["stakes"]["leader"]]
    y = rows[1].index(max(rows[1]))
    rows[0][y] += 1
    rows[1][y] -= 1


def raise_weights(result):
    for bet in itertools.chain.from_iterable(bets_of(step).values() for step in steps(result)):
        bet["weight"] *= 1.05


def raise_multipliers(result):
    """By the little that the answer would have favoured, had it been known."""
    for step in steps(result):
        for bet in bets_of(step).values():
            bet["multipliers"] = [nu * 1.01 for nu in bet["multipliers"]]


def remove_a_step(result):
    del steps(result)[len(steps(result)) // 2]


def remove_a_step_and_its_traces(result):
    del steps(result)[len(steps(result)) // 2]
    senses = 0
    for number, step in enumerate(steps(result), start=1):
        senses += sum(map(sum, step["senses"].values()))
        step["request"], step["status"]["senses"] = number, senses
    result["senses"] = senses


def remove_the_last_step(result):
    removed = steps(result).pop()
    result["senses"] -= sum(map(sum, removed["senses"].values()))


def name_another(result):
    others = [channel["name"] for channel in result["audit"]["channels"] if channel["name"] != result["best"]]
    result["best"] = others[0]


def name_another_in_every_place(result):
    name_another(result)
    result["candidates"] = [result["best"]]
    result["nearly_best"]["channel"] = result["best"]
    steps(result)[-1]["status"]["candidates"] = [result["best"]]


def shrink_delta(result):
    result["delta"] /= 10.0


def shrink_delta_in_every_place(result):
    result["delta"] /= 1e6
    for step in steps(result):
        thresholds = step["status"]["threshold_nats"]
        thresholds.update({name: nats + math.log(1e6) for name, nats in thresholds.items()})


def remove_the_bets_against_one(result):
    _, rival = list(falls(result))[-1]
    for step in steps(result):
        bets_of(step).pop(rival, None)


def remove_the_evidence_against_one(result):
    step, rival = list(falls(result))[-1]
    del step["status"]["evidence_nats"][rival]


def overstate_the_evidence(result):
    step, rival = list(falls(result))[-1]
    step["status"]["evidence_nats"][rival] += 30.0  # the policy itself may claim some nats less than can be proved


def rule_out_sooner(result):
    step, rival = list(falls(result))[-1]
    before = steps(result)[steps(result).index(step) - 1]
    before["status"]["candidates"].remove(rival)


def raise_the_total(result):
    result["senses"] += 1


def bet_on_itself(result):
    step = next(step for step in steps(result) if bets_of(step))
    bets = bets_of(step)
    bets[step["stakes"]["leader"]] = bets.pop(next(iter(bets)))


def say_that_another_led(result):
    step, later = next(pair for pair in itertools.pairwise(steps(result)) if bets_of(pair[1]))
    step["status"]["leader"] = next(iter(bets_of(later)))


def begin_later(result):
    for step in steps(result):
        for bet in bets_of(step).values():
            bet["since"] = step["request"] + 1


def raise_tilts(result):
    """To what the counts would have favoured, had they been known."""
    for bet in itertools.chain.from_iterable(bets_of(step).values() for step in steps(result)):
        bet["tilts"] = [1.4 * tilt for tilt in bet["tilts"]]


def first_bet(result):
    return next(bet for step in steps(result) for bet in bets_of(step).values())


def negative_tilt(result):
    first_bet(result)["tilts"][0] = -0.1


def tilt_that_a_probable_input_makes_a_likelihood(result):
    first_bet(result)["tilts"][0] = 4.0


def one_tilt_too_many(result):
    first_bet(result)["tilts"].append(0.1)


def output_without_probability(result):
    outputs = first_bet(result)["outputs"]
    outputs[:2] = [outputs[0] + outputs[1], 0.0]


def outputs_above_one(result):
    first_bet(result)["outputs"][0] += 0.01


TAMPERED = {
    move_a_count: "",
    move_between_inputs: "its counts add up to",
    raise_weights: "",
    begin_later: "since that is",
    negative_tilt: "tilts must be >= 0",
    tilt_that_a_probable_input_makes_a_likelihood: "and below 1 times any P",
    one_tilt_too_many: "a tilt for every input of the rival",
    output_without_probability: "a distribution without zeros",
    outputs_above_one: "a distribution without zeros",
    raise_multipliers: "",
    remove_a_step: "requests must be numbered",
    remove_a_step_and_its_traces: "",
    remove_the_last_step: "the candidates of the result must be those after the last request",
    name_another: "the best channel must be a candidate",
    name_another_in_every_place: "the leader after request",
    shrink_delta: "",
    shrink_delta_in_every_place: "does not reach",
    remove_the_bets_against_one: "without evidence against it",
    remove_the_evidence_against_one: "without evidence against it",
    overstate_the_evidence: "stakes and answers give less",
    rule_out_sooner: "",
    raise_the_total: "in the result, senses that is",
    bet_on_itself: "the rival be another channel",
    say_that_another_led: "must be on the leader after the request before",
}
"""What was done, and what the sentence must say; the empty sentence where it depends on the record."""


@pytest.mark.parametrize("name", ["binary", "3x3", "epsilon", "fixed input"])
@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
def test_tampered_record_fails(tamper, name):
    result = record(name)
    tamper(result)
    assert_fails(result, TAMPERED[tamper])


@pytest.mark.parametrize("name", ["binary", "3x3", "fixed input"])
def test_evidence_is_that_of_the_tilts(name):
    result = record(name)
    raise_tilts(result)
    assert not verify(result).valid


def test_rival_that_comes_back_fails():
    result = record("binary")
    step, rival = next(falls(result))
    later = steps(result)[steps(result).index(step) + 1]
    later["status"]["candidates"].append(rival)
    assert_fails(result, f"channel '{rival}' was ruled out and is a candidate in request {later['request']}")


def test_sums_beyond_64_bits_fail():
    result = record("binary")
    step = steps(result)[2]
    for name in step["counts"]:
        step["senses"][name], step["counts"][name] = [2**63, 2**63], [[2**62, 2**62], [2**62, 2**62]]
    senses = 0
    for each in steps(result):
        senses += sum(map(sum, each["senses"].values()))
        each["status"]["senses"] = senses
    result["senses"] = senses
    assert_fails(result, "the evidence against it does not reach")


def test_restarts_made_fewer_fail():
    result = record("restarts", 7)
    for step in steps(result):
        for bet in bets_of(step).values():
            bet["restarts"] = 0
    assert most_restarts(record("restarts", 7)) > 0
    assert_fails(result, "the evidence against it does not reach")


def test_restarts_forgotten_in_every_place_fail():
    # only the last bets are kept, as if they had been the first: their threshold was another
    result = record("restarts", 7)
    most = most_restarts(result)
    restarted = {rival for step in steps(result) for rival, bet in bets_of(step).items() if bet["restarts"] == most}
    for step in steps(result):
        for rival, bet in list(bets_of(step).items()):
            if rival in restarted and bet["restarts"] < most:
                del bets_of(step)[rival]
            bet["restarts"] = 0
    assert_fails(result, "the record must be what the policy adaptive makes of its answers")


def test_negative_restarts_fail():
    result = record("binary")
    for step in steps(result):
        for bet in bets_of(step).values():
            bet["restarts"] = -1
    with pytest.raises(InputError, match=r"Expected `int` >= 0 - at `\$\.bets\[...\]\.restarts`"):
        verify(result)


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_bets_of_no_weight_are_refused(weight):
    result = record("binary")
    first_bet(result)["weight"] = weight
    with pytest.raises(InputError, match=r"Expected `float` > 0.0 - at `\$\.bets\[...\]\.weight`"):
        verify(result)


@pytest.mark.parametrize("seed", [1, 9, 12, 17])
def test_honest_record_of_few_senses_at_a_fixed_input_holds(seed):
    channels = np.random.default_rng(seed).dirichlet(np.ones(3), (3, 2))
    policy = Adaptive([(2, 3)] * 3, delta=0.2, input_distribution=[0.3, 0.7])
    result = identify(Simulator(list(channels), rng=seed), policy, max_senses=600)
    assert verify(as_document(result)).failure is None


def test_honest_distance_after_few_senses_holds():
    rng = np.random.default_rng(130)  # the best output is at a kink of the bounds of rows
    channels = [rng.dirichlet(np.full(n_outputs, 0.3), 2) for n_outputs in (3, 2)]
    policy = Adaptive([W.shape for W in channels], delta=0.3)
    result = identify(Simulator(channels, rng=130), policy, max_senses=300)
    assert result.nearly_best is not None
    assert verify(as_document(result)).failure is None


def test_another_input_distribution_than_the_fixed_one_fails():
    result = record("fixed input")
    result["audit"]["options"]["input_distribution"] = [0.5, 0.5]
    assert_fails(result, "at the fixed input distribution")


def test_larger_epsilon_than_was_bet_for_fails():
    result = record("binary")
    result["epsilon"] = 0.05
    assert not verify(result).valid


def test_epsilon_forgotten_fails():
    result = record("epsilon at ties")
    result["epsilon"] = 0.0
    assert not verify(result).valid


@pytest.mark.parametrize("seed", range(60))
def test_random_counts_in_place_of_the_leaders_fail(seed):
    """Any change of what the leader answered is noticed, as long as bets on that input were placed after it."""
    rng = np.random.default_rng(seed)
    result = record(["binary", "3x3", "epsilon"][seed % 3])
    places = [
        (step["stakes"]["leader"], step)
        for step, later in itertools.pairwise(steps(result)[1:])
        if later["stakes"]["bets"] and step["stakes"]["leader"] == later["stakes"]["leader"]
    ]
    leader, step = places[rng.integers(len(places))]
    table = step["counts"][leader]
    used = [x for x, p in enumerate(step["stakes"]["input"]) if p > 0.05]
    row = table[used[rng.integers(len(used))]]
    full = [y for y, n in enumerate(row) if n]
    y = full[rng.integers(len(full))]
    row[y] -= 1
    row[y - 1] += 1
    assert not verify(result).valid


@pytest.mark.parametrize("seed", range(60))
def test_random_damage_that_lowers_evidence_below_its_threshold_is_noticed(seed):
    """Senses of the rival at its fall are turned until it looks as good as the leader."""
    result = record(["binary", "3x3", "epsilon", "fixed input"][seed % 4])
    rng = np.random.default_rng(seed)
    fallen = list(falls(result))
    _, rival = fallen[rng.integers(len(fallen))]
    for step in steps(result):
        for x, row in enumerate(step["counts"].get(rival, ())):
            row[:] = [sum(row) if y == x % len(row) else 0 for y in range(len(row))]
    assert not verify(result).valid


# --- policies that break their promise --------------------------------------------------------


class Pretending(Adaptive):
    """Says that it is Adaptive itself."""

    @classmethod
    def reference(cls):
        return Adaptive.name


class Hasty(Pretending):
    """Needs five times less evidence than the promise does."""

    def _threshold(self, state, rival):
        return super()._threshold(state, rival) / 5.0


@pytest.mark.parametrize("channels", [[bsc(0.1), bsc(0.2), bsc(0.15)], random_3x3(1, 2, 5)], ids=["binary", "3x3"])
@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(3))
def test_hasty_policy_does_not_verify(channels, epsilon, seed):
    result = document(Hasty, channels, {"delta": 0.01, "epsilon": epsilon}, seed=seed)
    assert result["decided"]
    honest = copy.deepcopy(result)
    for step in steps(honest):  # what is stated is put right, so that only the evidence can tell
        thresholds = step["status"]["threshold_nats"]
        thresholds.update({name: 5.0 * nats for name, nats in thresholds.items()})
    assert_fails(result, "does not reach")
    assert_fails(honest, "does not reach")


# --- what is no record ------------------------------------------------------------------------


@pytest.mark.parametrize("nonsense", [None, [], {}, {"audit": {}}, {"audit": {"channels": [], "steps": []}}, "x", 3])
def test_what_is_no_record_is_refused(nonsense):
    with pytest.raises(InputError, match="this must be the JSON of an identification"):
        verify(nonsense)


def test_unknown_policy_fails():
    result = record("binary")
    result["policy"] = "oracle"
    assert_fails(result, "the policy must be one of adaptive, joint, best-chan-id, naive, median; it is 'oracle'")


def places_of(value, path=()):
    """The paths to everything in a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from places_of(child, (*path, key))


STRANGE = [
    None,
    True,
    -1,
    0,
    1,
    1e308,
    1e-308,
    math.nan,
    math.inf,
    2**70,
    10**400,
    "",
    "0",
    [],
    {},
    [[]],
    [0.5, 0.5],
    {"0": 1},
]


@pytest.mark.parametrize("name", ["binary", "3x3", "median"])
def test_strange_values_anywhere_give_a_verdict_or_a_refusal(name):
    rng = np.random.default_rng(5)
    whole = record(name)
    del steps(whole)[4:]
    paths = list(places_of(whole))
    for _ in range(400):
        result = copy.deepcopy(whole)
        *path, last = paths[rng.integers(len(paths))]
        place = result
        for key in path:
            place = place[key]
        place[last] = STRANGE[rng.integers(len(STRANGE))]
        try:
            verify(result)
        except InputError:
            continue


COSTS = [[2.0, 2.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    "costs", [5, True, "ab", [1, 2], [[1, "x"], [1, 1]], [[1, 1e308], [1, 1]], {"a": 2}, [[None], []]]
)
def test_costs_that_are_none_fail(costs):
    result = costly_record()
    result["audit"]["options"]["cost"] = costs
    assert not verify(result).valid


@pytest.mark.parametrize("costs", [[[1, 1], [1, -1]], [[[2, 2], [2, 2]], [[1, 1], [1, 1]]], [[2, 2]], [[2, 2], [1]]])
def test_costs_of_other_senses_fail(costs):
    result = costly_record()
    result["audit"]["options"]["cost"] = costs
    assert_fails(result, "the answers cannot be told to the policy that the record names: ")


def test_cost_that_the_senses_do_not_have_fails():
    result = costly_record()
    result["cost"] += 1.0
    assert_fails(result, "in the result, cost that is")


def costly_record():
    sensor = Simulator([bsc(0.05), bsc(0.2)], rng=1)
    result = json.loads(json.dumps(as_document(identify(sensor, Adaptive(sensor.alphabets, delta=0.1, cost=COSTS)))))
    assert verify(result).valid
    return result


@pytest.mark.parametrize("count", [-1, 2**63])
def test_counts_that_are_none_are_refused(count):
    result = record("binary")
    steps(result)[0]["counts"]["0"][0][0] = count
    with pytest.raises(InputError, match=r"must be the JSON of an identification.*`int`.*counts"):
        verify(result)


def test_number_that_no_float_holds_is_refused():
    result = costly_record()
    result["channels"][1]["upper"] = 10**400
    with pytest.raises(InputError, match=r"must be the JSON of an identification.*out of range.*channels\[1\]\.upper"):
        verify(result)
