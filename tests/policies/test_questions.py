"""Questions other than for the best, live: right answers, nothing said that is not proved, and plans made anew alike."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import bestchannel as bc
from bestchannel import Above, Order, Top, Within
from bestchannel.channels import random_channel
from bestchannel.lower_bound.asked import pairs_of
from bestchannel.lower_bound.known_channels import KnownChannels
from bestchannel.policies import Observation, Supply
from bestchannel.policies.adaptive import above
from bestchannel.policies.adaptive.state import view_of
from bestchannel.policies.adaptive.worlds import BestSets, Orders, fewest_senses
from bestchannel.policies.transcript import as_document, from_document
from bestchannel.questions import Findings, Supposed, question_of

LINKS = {"good": bc.bsc(0.05), "fair": bc.bsc(0.1), "poor": bc.bsc(0.2), "bad": bc.bsc(0.3)}
NOTHING_SEEN = view_of([], [np.zeros((2, 2), dtype=int)] * 4, None, [])
ROCHESTER = Path(__file__).parents[2] / "data/ibm_readout/rochester.json"
ONE_OUTPUT = bc.Channel.from_rows([[1.0], [1.0]])
MIXED = {"z": bc.z_channel(0.2), "three": random_channel(3, 3, rng=np.random.default_rng(5)), "bsc": bc.bsc(0.25)}


def asked(question, channels=LINKS, *, delta=0.05, seed=1, max_senses=None, **options):
    sensor = bc.Simulator(channels, rng=seed)
    policy = bc.Adaptive(sensor.alphabets, delta=delta, question=question, **options)
    return bc.identify(sensor, policy, max_senses=max_senses)


def values(channels):
    return np.array([bc.capacity(channel).lower for channel in dict(channels).values()])


@pytest.mark.parametrize("channels", [LINKS, MIXED], ids=["binary", "mixed"])
@pytest.mark.parametrize(
    "question",
    [Above(0.4), Above(0.4, 0.1), Top(2), Top(2, 0.1), Order(), Order(0.1), Within(0.2), Within(0.5, True)],
)
def test_answers_are_right_and_complete(question, channels):
    result = asked(question, channels)
    numbers = {name: j for j, name in enumerate(channels)}
    found = result.findings.called(numbers.get)
    assert result.decided
    assert result.best is None
    assert question.is_right(type("Seen", (), {"findings": found}), values(channels), 1e-9)


def test_findings_are_what_was_asked_for():
    assert asked(Above(0.4)).findings.answers == {"good": "above", "fair": "above", "poor": "below", "bad": "below"}
    assert asked(Top(2)).findings.top == ("good", "fair")
    assert set(asked(Top(2)).findings.out) == {"poor", "bad"}
    assert asked(Order()).findings.order == ("good", "fair", "poor", "bad")
    brackets = asked(Within(0.1)).findings.brackets
    assert all(upper - lower <= 0.1 for lower, upper in brackets.values())


@pytest.mark.parametrize("P", [[0.5, 0.5], [0.3, 0.7]])
@pytest.mark.parametrize("question", [Above(0.4), Top(2), Top(2, 0.1), Order(), Order(0.1), Within(0.1)])
def test_information_at_a_fixed_input_is_asked_for_too(question, P):
    result = asked(question, input_distribution=P)
    truth = np.array([bc.mutual_information(P, channel) for channel in LINKS.values()])
    numbers = {name: j for j, name in enumerate(LINKS)}
    seen = type("Seen", (), {"findings": result.findings.called(numbers.get)})
    assert result.decided
    assert question.is_right(seen, truth, 1e-9)
    assert "I(P;W)" in result.guarantee


@pytest.mark.parametrize(
    ("question", "channels", "findings"),
    [
        (Above(1.0), LINKS, {"answers": dict.fromkeys(LINKS, "below")}),
        (Above(math.log2(3)), {"clear": np.eye(3)}, {"answers": {"clear": "below"}}),  # in nats a bit less than log 3
        (Above(0.0, 0.1), LINKS, {"answers": dict.fromkeys(LINKS, "above")}),
        (Above(0.0), {"one": ONE_OUTPUT}, {"answers": {"one": "below"}}),
        (Top(4), LINKS, {"top": tuple(LINKS)}),
        (Order(), {"one": bc.bsc(0.1)}, {"order": ("one",)}),
        (Within(1.0), LINKS, {"brackets": dict.fromkeys(LINKS, (0.0, 1.0))}),
        (Within(0.1), {"one": ONE_OUTPUT}, {"brackets": {"one": (0.0, 0.0)}}),
    ],
)
def test_what_alphabets_tell_takes_no_sense(question, channels, findings):
    result = asked(question, channels)
    assert (result.decided, result.senses) == (True, 0)
    for name, value in findings.items():
        assert getattr(result.findings, name) == value


@pytest.mark.parametrize(("question", "empty"), [(Top(2), ("top", "out")), (Order(), ("pairs",))])
@pytest.mark.parametrize("limit", [0, 100])
def test_what_is_not_found_yet_is_said_to_be_nothing_also_before_the_first_sense(question, empty, limit):
    said = as_document(asked(question, LINKS, max_senses=limit))
    assert [list(said[key]) for key in empty] == [[]] * len(empty)
    assert len(said["candidates"]) == len(LINKS)


def test_bounds_say_of_known_channels_what_their_alphabets_tell_and_nothing_of_a_question_that_they_do_not_know():
    assert bc.lower_bound({"clear": np.eye(2)}, 0.05, question=Above(1.0)).findings.answers == {"clear": "below"}
    with pytest.raises(bc.InputError, match="no lower bound is known for namespace"):
        pairs_of(SimpleNamespace(epsilon=0.0), KnownChannels.of(list(LINKS.values())))


def test_odds_that_round_to_1_are_not_given():
    for e_value, shown in ((1.05, False), (1.2, True)):
        policy = bc.Adaptive([(2, 2)] * 3, delta=0.05, question=Top(2))
        found = Supposed(e_value, findings=Findings(False))
        policy._script_of_question.supposed = lambda found=found: found
        assert (policy.supposed is found) == shown


def test_a_tolerance_is_said_with_the_level_and_its_ends_are_decimal():
    result = asked(Above(0.4, 0.1), LINKS)
    assert result.question.answer(result).startswith("above 0.4 ± 0.1 bit: ")
    assert "called above is > 0.3 bit, every one called below < 0.5 bit" in result.guarantee
    assert result.question.ends(0) == {"above": 0.3, "below": 0.5}


def test_channels_of_value_0_by_their_alphabets_have_places_too():
    channels = {"dead": ONE_OUTPUT, "live": bc.bsc(0.1), "gone": ONE_OUTPUT, "weak": bc.bsc(0.3)}
    assert asked(Top(1), channels).findings.top == ("live",)
    assert set(asked(Top(3), channels).findings.top) >= {"live", "weak"}
    assert asked(Order(), channels).findings.order[:2] == ("live", "weak")


@pytest.mark.parametrize("question", [Above(0.531), Top(2), Order(), Within(0.001)])
def test_a_limit_ends_with_what_is_proved_by_then(question):
    channels = {"a": bc.bsc(0.02), "b": bc.bsc(0.1), "c": bc.bsc(0.1001), "d": bc.bsc(0.4)}
    result = asked(question, channels, max_senses=6000)
    assert not result.decided
    assert result.senses <= 6000
    seen = result.findings
    if isinstance(question, Above):
        assert (seen.answers["a"], seen.answers["d"]) == ("above", "below")
        assert None in seen.answers.values()
    if isinstance(question, Top):
        assert seen.top == ("a",)
        assert seen.out == ("d",)
        assert set(result.candidates) == {"b", "c"}
    if isinstance(question, Order):
        assert {("a", "d"), ("b", "d"), ("a", "b")} <= set(seen.pairs)
        assert seen.order is None
    if isinstance(question, Within):
        assert all(
            lower <= truth <= upper
            for (lower, upper), truth in zip(seen.brackets.values(), values(channels), strict=True)
        )
    assert result.proved_so_far


def test_a_recording_that_ends_gives_its_channel_up_and_goes_on_with_others():
    rng = np.random.default_rng(3)
    rows = [("short", x, int(x ^ (rng.random() < 0.11))) for x in (0, 1) for _ in range(20)]
    rows += [("long", x, int(x ^ (rng.random() < 0.3))) for x in (0, 1) for _ in range(800)]
    trials = {name: rng.permutation([(x, y) for c, x, y in rows if c == name]) for name in ("short", "long")}
    sensor = bc.Recording(trials)
    result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=Above(0.5)))
    assert result.findings.answers == {"short": None, "long": "below"}


@pytest.mark.parametrize("question", [Above(0.4, 0.02), Top(2), Order(), Within(0.1)])
def test_told_the_same_a_policy_asks_the_same_whatever_limits_were_planned_for_between(question):
    result = asked(question)
    alphabets = [(2, 2)] * len(LINKS)
    policy = bc.Adaptive(alphabets, delta=0.05, question=question)
    names = list(map(str, LINKS))
    for step in result.audit.steps:
        for supply in (Supply(10), Supply(total=10**9), Supply()):
            policy.limit(supply)
        request = policy.ask()
        assert request.senses == step.request.senses
        stakes = None if policy.stakes is None else policy.stakes.record(names)
        assert stakes == (None if step.stakes is None else step.stakes.record(names))
        policy.tell(Observation(request.number, step.counts))
    assert policy.ask() is None
    assert policy.decided


@pytest.mark.parametrize("question", [Above(0.4, 0.02), Top(2), Order(), Within(0.1)])
def test_a_record_is_read_back_as_it_was(question):
    document = as_document(asked(question, max_senses=400))
    again = from_document(json.loads(json.dumps(document)))
    assert as_document(again) == document
    assert again.question == question
    assert document["question"]["kind"] == type(question).__name__.lower()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Above(-0.1), "the level"),
        (Above(math.nan), "the level"),
        (Above(0.5, -1.0), "the tolerance"),
        (Top(0), "with m from 1 to 4"),
        (Top(5), "with m from 1 to 4"),
        (Within(0.0), "the width"),
        ({"kind": "above"}, "a question must be"),
        ({"kind": "most"}, "a question must be"),
        ("above", "a question must be"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(question, message):
    with pytest.raises(bc.InputError, match=message):
        bc.Adaptive([(2, 2)] * 4, delta=0.05, question=question)


def test_an_accuracy_or_a_rule_for_the_best_is_refused_with_another_question():
    for options in ({"epsilon": 0.1}, {"sampling": "uniform"}, {"threshold": "calibrated"}):
        with pytest.raises(bc.InputError):
            bc.Adaptive([(2, 2)] * 2, delta=0.05, question=Above(0.5), **options)


def test_numbers_of_numpy_are_numbers():
    assert question_of(Above(np.float64(0.5), np.float32(0.25))) == Above(0.5, 0.25)
    assert question_of({"kind": "top", "m": np.int64(2)}) == Top(2)


@pytest.mark.parametrize(
    ("question", "channels"),
    [
        (Above(0.0), {"useless": bc.bsc(0.5)}),
        (Top(1), {"one": bc.bsc(0.1), "same": bc.bsc(0.1)}),
        (Order(), {"one": bc.bsc(0.1), "same": bc.bsc(0.1)}),
        (Within(1e-8), {"one": bc.bsc(0.1)}),
    ],
)
def test_what_cannot_be_decided_ends_where_counts_would_not_fit(question, channels):
    result = asked(question, channels)
    assert not result.decided
    assert result.senses < 2**65


# Errors, where they are as frequent as can be: at the level itself.


def false_claims(runs, delta, **options):
    """Of a channel at the level up to 1e-6 bit, with bets that begin at once."""
    channel = bc.bsc(0.1)
    wrong = 0
    for seed in range(runs):
        level = bc.capacity(channel).lower + (1e-6 if seed % 2 else -1e-6)
        result = asked(Above(level), {"one": channel}, delta=delta, seed=seed, max_senses=600)
        wrong += result.findings.answers["one"] == ("above" if seed % 2 else "below")
    return wrong


def test_at_the_level_wrong_claims_stay_below_delta_and_those_of_a_smaller_threshold_do_not(monkeypatch):
    runs, delta = 200, 0.1
    allowed = 30  # P(Binomial(200, 0.1) > 30) < 1 %
    assert false_claims(runs, delta) <= allowed
    monkeypatch.setattr(above.Purse, "demanded", lambda self, delta: 1.3)
    assert false_claims(runs, delta) > allowed


def test_purse_stakes_no_more_than_the_unit_and_what_was_left():
    purse = above.Purse(4)
    assert (purse.stake, purse.waiting) == (0.25, 3)
    assert purse.demanded(0.1) == pytest.approx((10.0 - 0.75) / 0.25)
    purse.hand_over(0.5)
    assert (purse.stake, purse.waiting) == (0.375, 2)
    purse.hand_over(1.0)
    purse.hand_over(0.0)
    assert (purse.stake, purse.waiting) == (0.25, 0)
    assert purse.demanded(0.1) == pytest.approx(40.0)


# Worlds.


def sets(box):
    from itertools import combinations

    return {c for c in combinations(range(box.k), box.m) if box.inside <= set(c) and not box.outside & set(c)}


def orders(box):
    from itertools import permutations

    found = set()
    for order in permutations(range(box.k)):
        place = {channel: i for i, channel in enumerate(order)}
        if all(place[first] < place[second] for first, second in box.pairs):
            found.add(order)
    return found


@pytest.mark.parametrize("ranks", [(0, 1, 2, 3, 4), (3, 0, 4, 2, 1)])
@pytest.mark.parametrize(
    "whole", [BestSets(2, 5), BestSets(3, 5), Orders(5), BestSets(2, 5, frozenset({4}), frozenset({0}))]
)
def test_parts_of_a_box_are_disjoint_hold_all_its_worlds_and_deny_their_claim(whole, ranks):
    worlds = sets if isinstance(whole, BestSets) else orders
    parts = [(pair, box) for pair, box in whole.parts(ranks, None)]
    for pair, box in parts:
        assert box.empty == (not worlds(box))
        assert box.within(whole)
        for world in worlds(box) if pair else ():
            over, under = pair
            denied = (
                over not in world and under in world
                if isinstance(whole, BestSets)
                else world.index(under) < world.index(over)
            )
            assert denied
    together = [world for _, box in parts for world in worlds(box)]
    assert len(together) == len(set(together))
    assert set(together) == worlds(whole)


@pytest.mark.parametrize("inside", [set(), {4}, {0, 3}, {3, 4}])
def test_the_claim_against_the_nearest_world_is_the_hardest_of_all_worlds(inside):
    ranks, box = (3, 0, 4, 2, 1), BestSets(2, 5, frozenset(inside), frozenset({0} - inside))
    claims = [
        (min(place for place in range(5) if ranks[place] not in world), max(map(ranks.index, world)))
        for world in sets(box)
    ]
    hardest = max(over for over, _ in claims), min(under for _, under in claims)
    assert hardest in claims
    expected = tuple(ranks[place] for place in hardest) if hardest[0] < hardest[1] else None
    assert box.hardest_claim(ranks, None) == expected


@pytest.mark.parametrize("pairs", [[(0, 1)], [(0, 1), (1, 2), (2, 3)], [(b, a) for b in (0, 1) for a in (2, 3)]])
def test_no_plan_that_serves_all_pairs_has_fewer_senses(pairs):
    rng = np.random.default_rng(len(pairs))
    gaps, needed = rng.uniform(0.05, 0.2, len(pairs)), rng.uniform(1.0, 5.0, len(pairs))
    led, followed = rng.uniform(0.1, 0.5, (2, 4))
    n, _ = fewest_senses(pairs, gaps, needed, NOTHING_SEEN._replace(leader_variances=led, rival_variances=followed))

    def spare(senses):
        return [1.0 - (led[b] / senses[b] + followed[a] / senses[a]) * 2.0 * x / gap**2
                for (b, a), gap, x in zip(pairs, gaps, needed, strict=True)]  # fmt: skip

    assert min(spare(np.maximum(n, 1e-9))) > -1e-9
    used = sorted({channel for pair in pairs for channel in pair})
    shares = n[used] / n.sum()
    assert minimize(
        lambda scale: scale @ shares, np.full(len(used), 1.2), bounds=[(0.2, 5.0)] * len(used), method="SLSQP",
        constraints={"type": "ineq", "fun": lambda scale: spare(np.bincount(used, scale * n[used], 4) + 1e-9)},
    ).fun > 0.998  # fmt: skip


# Recorded counts.

COUNTS = {"good": [[950, 50], [50, 950]], "fair": [[900, 100], [100, 900]], "bad": [[700, 300], [300, 700]]}


@pytest.mark.parametrize(
    ("question", "decided", "findings"),
    [
        (Above(0.4), True, {"answers": {"good": "above", "fair": "above", "bad": "below"}}),
        (Above(0.53), False, {"answers": {"good": "above", "fair": None, "bad": "below"}}),
        (Above(0.53, 0.1), True, {"answers": {"good": "above", "fair": "above", "bad": "below"}}),
        (Top(2), True, {"top": ("good", "fair"), "out": ("bad",)}),
        (Top(3), True, {"top": ("good", "fair", "bad"), "out": ()}),
        (Order(), True, {"order": ("good", "fair", "bad")}),
        (Within(0.2), True, {}),
        (Within(0.05), False, {}),
        ({"kind": "above", "level": 1.0}, True, {"answers": dict.fromkeys(COUNTS, "below")}),
    ],
)
def test_recorded_counts_answer_too(question, decided, findings):
    result = bc.estimate(COUNTS, question=question)
    assert result.decided == decided
    for name, value in findings.items():
        assert getattr(result.findings, name) == value
    assert all(
        ends == (result[name].lower, result[name].upper) for name, ends in (result.findings.brackets or {}).items()
    )


def test_close_counts_leave_a_place_open():
    close = {"good": COUNTS["good"], "a": [[90, 10], [10, 90]], "b": [[89, 11], [11, 89]], "bad": [[60, 40], [45, 55]]}
    result = bc.estimate(close, question=Top(2))
    assert not result.decided
    assert set(result.findings.top) <= {"good"}
    assert not {"good", "a", "b"} & set(result.findings.out)
    assert not bc.estimate(close, question=Order()).decided


def test_best_as_a_question_is_the_verdict():
    assert bc.estimate(COUNTS, question=bc.Best(0.01)) == bc.estimate(COUNTS, epsilon=0.01)


TIED = {"a": bc.bsc(0.02), "b": bc.bsc(0.1), "c": bc.bsc(0.1), "d": bc.bsc(0.4)}


@pytest.mark.parametrize(("question", "named"), [(Top(2, 0.08), "top"), (Order(0.08), "order")])
def test_ties_end_within_epsilon(question, named):
    result = asked(question, TIED)
    assert result.decided
    assert "a" in getattr(result.findings, named)[:2]
    assert "0.08 bit" in result.guarantee
    assert "within 0.08 bit" in result.question.answer(result)


def test_ties_among_the_named_and_among_the_others_cost_nothing():
    """World {1, 2} is soon bet against by 0 > 1 or by 0 > 2, whichever seems clearer at first; 0 > 1 takes forever."""
    tied = [bc.bsc(p) for p in (0.05, 0.0501, 0.15, 0.1501, 0.1502)]
    runs = [asked(Top(2), dict(enumerate(tied)), seed=seed, max_senses=20_000) for seed in range(12)]
    assert all(run.decided for run in runs)
    assert max(run.senses for run in runs) < 4_000  # 300,000 for a claim that is kept though it becomes a tie


def test_answers_that_may_change_take_no_number():
    device = bc.counts.read_channels(ROCHESTER)
    for seed in (1, 2, 3):  # of numbers 10, 15 and 8, were bets made on every answer
        steps = asked(Top(5, 0.01), device, seed=seed).audit.steps
        numbers = [step.stakes.answer[0] for step in steps if step.stakes and step.stakes.wagers]
        assert max(numbers) <= 3


def test_before_the_end_the_least_epsilon_that_is_proved_is_said_and_it_shrinks():
    early, late = (asked(Top(2, 0.03), TIED, max_senses=limit).findings for limit in (2_000, 20_000))
    assert not late.decided
    assert 0.03 <= late.within_bits < early.within_bits
    assert set(late.nearly) == {"a", *set(late.nearly) & {"b", "c"}}


def test_epsilon_may_be_given_beside_the_question_but_not_twice():
    assert question_of({"kind": "top", "m": 2}, 0.05) == Top(2, 0.05)
    assert question_of(Order(0.05), 0.05) == Order(0.05)
    for question in (Top(2, 0.1), Above(0.5), Within(0.1)):
        with pytest.raises(bc.InputError, match="leave it out"):
            question_of(question, 0.05)
    with pytest.raises(bc.InputError, match="epsilon"):
        bc.lower_bound([bc.bsc(0.1), bc.bsc(0.2)], 0.1, question=Top(1, 0.05))


def test_pairs_and_leads_of_counts_prove_answers_within_epsilon():
    ends = {"a": (0.7, 0.8), "b": (0.5, 0.6), "c": (0.49, 0.58), "d": (0.1, 0.2)}
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")]

    def lead(b, a):
        return ends[b][0] - ends[a][1]

    found = Top(2).proved_by(ends, pairs, lead)
    assert (found.decided, found.top, found.out, found.nearly) == (False, ("a",), ("d",), ("a", "b"))
    assert found.within_bits == pytest.approx(0.08)
    assert Top(2, 0.1).proved_by(ends, pairs, lead).top == ("a", "b")
    assert not Top(2, 0.05).proved_by(ends, pairs, lead).decided
    assert Order(0.1).proved_by(ends, pairs, lead).order == ("a", "b", "c", "d")
    assert Order(0.05).proved_by(ends, pairs, lead).within_bits == pytest.approx(0.08)
