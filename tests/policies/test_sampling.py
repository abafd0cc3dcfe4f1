"""How many senses are still needed: what the formula of the plan promises of its answer."""

import numpy as np
import pytest

from bestchannel.policies.adaptive.sampling import RULES, SLACKS, Situation, fewest, in_cost, within_reach


def hostile_plan(seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(1, 8)
    return Situation(
        gaps=10 ** rng.uniform(-6, 0, k),
        needed=rng.uniform(0.5, 700, k),
        leader_variances=10 ** rng.uniform(-4, 0, k),
        rival_variances=10 ** rng.uniform(-3, 1, k),
        leader_senses=rng.uniform(10, 1000),
        rival_senses=rng.uniform(10, 1000, k),
    )


def evidence(now, leader, rivals):
    return now.gaps**2 / (2 * (now.leader_variances / leader + now.rival_variances / rivals))


@pytest.mark.parametrize("seed", range(50))
def test_fewest_senses_bring_what_is_needed_against_every_rival(seed):
    now = hostile_plan(seed)
    # a difference of two numbers of the same size: at least a fiftieth of the larger remains
    assert evidence(now, *fewest(now)) == pytest.approx(now.needed, rel=1e-11)


@pytest.mark.parametrize("seed", range(50))
def test_no_other_number_of_senses_of_the_leader_is_much_better(seed):
    now = hostile_plan(seed)
    n, n_rivals = fewest(now)
    goal = now.gaps**2 / (2 * now.needed)
    others = (now.leader_variances / goal).max() * (1 + np.geomspace(1e-3, 1e3, 2000))
    totals = others + (now.rival_variances / (goal - now.leader_variances / others[:, None])).sum(axis=1)
    assert n + n_rivals.sum() <= 1.05 * totals.min()


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("rule", ["uniform", "lucb", "top-two"])
def test_senses_of_every_rule_bring_what_is_needed_against_the_rivals_that_are_sensed(rule, seed):
    now = hostile_plan(seed)
    leader, rivals = RULES[rule](now)
    sensed = rivals > 0
    assert leader > 0
    assert sensed.sum() == (len(rivals) if rule == "uniform" else 1)
    assert np.all(evidence(now, leader, np.maximum(rivals, 1e-300))[sensed] >= now.needed[sensed] * (1 - 1e-9))


def test_lucb_looks_at_the_closest_rival_and_top_two_at_the_one_with_the_least_evidence():
    ones = np.ones(3)
    now = Situation(np.array([0.3, 0.1, 0.2]), np.array([4.0, 5.0, 6.0]), ones, ones, 10.0, 10 * ones)
    assert [int(np.argmax(RULES[rule](now)[1])) for rule in ("lucb", "top-two")] == [1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_track_and_stop_keeps_to_the_shares_of_the_fewest_senses(seed):
    now = hostile_plan(seed)
    counts = np.concatenate([[now.leader_senses], now.rival_senses])
    for _ in range(400):
        situation = Situation(
            now.gaps, now.needed, now.leader_variances, now.rival_variances, counts[0], counts[1:].copy()
        )
        leader, rivals = RULES["track-and-stop"](situation)
        counts += np.concatenate([[leader], rivals])
    even = Situation(now.gaps, np.ones_like(now.gaps), now.leader_variances, now.rival_variances, 0.0, 0 * now.gaps)
    best = np.concatenate([[fewest(even)[0]], fewest(even)[1]])
    # within a tenth, but for the square root of forced senses
    forced = np.sqrt(counts.sum()) / counts.sum()
    assert counts / counts.sum() == pytest.approx(best / best.sum(), rel=0.25, abs=2 * forced)


@pytest.mark.parametrize("seed", range(20))
def test_slack_is_the_least_for_which_the_senses_left_are_enough(seed):
    now, weights = hostile_plan(seed), np.zeros(len(hostile_plan(seed).gaps))
    left = 0.01 * sum(map(np.sum, fewest(now)))
    slack, wanted = within_reach(fewest, now, weights, left)
    assert sum(map(np.sum, wanted)) <= left or slack == SLACKS[-1]
    smaller = SLACKS[max(int(np.searchsorted(SLACKS, slack)) - 1, 0)]
    assert slack == SLACKS[0] or sum(map(np.sum, fewest(now.with_slack(smaller, weights)))) > left


def test_no_slack_where_enough_is_left():
    now = hostile_plan(1)
    assert within_reach(fewest, now, np.zeros(len(now.gaps)), np.inf)[0] == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_priced_senses_bring_what_is_needed_and_cost_no_more_than_the_fewest_do(seed):
    now, rng = hostile_plan(seed), np.random.default_rng(seed + 1000)
    price, prices = rng.uniform(1, 10), rng.uniform(1, 10, len(now.gaps))
    leader, rivals = in_cost(fewest, price, prices)(now)
    assert evidence(now, leader, rivals) == pytest.approx(now.needed, rel=1e-11)
    n, n_rivals = fewest(now)
    assert price * leader + prices @ rivals <= 1.05 * (price * n + prices @ n_rivals)  # the grid is 1.05 coarse
