"""How many senses are still needed: what the formula of the plan promises of its answer."""

import numpy as np
import pytest

from bestchannel.identification.allocation import remaining_senses, spread_over_inputs


def hostile_plan(seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(1, 8)
    return 10 ** rng.uniform(-6, 0, k), rng.uniform(0.5, 700, k), 10 ** rng.uniform(-4, 0), 10 ** rng.uniform(-3, 1, k)


@pytest.mark.parametrize("seed", range(50))
def test_evidence_reaches_what_is_needed_against_every_rival(seed):
    gaps, needed, v, v_rivals = hostile_plan(seed)
    n, n_rivals = remaining_senses(gaps, needed, v, v_rivals)
    # a difference of two numbers of the same size: at least a fiftieth of the larger remains
    assert gaps**2 / (2 * (v / n + v_rivals / n_rivals)) == pytest.approx(needed, rel=1e-11)


@pytest.mark.parametrize("seed", range(50))
def test_no_other_number_of_senses_of_the_leader_is_much_better(seed):
    gaps, needed, v, v_rivals = hostile_plan(seed)
    n, n_rivals = remaining_senses(gaps, needed, v, v_rivals)
    evidence = gaps**2 / (2 * needed)
    others = v / evidence.min() * (1 + np.geomspace(1e-3, 1e3, 2000))
    totals = others + (v_rivals / (evidence - v / others[:, None])).sum(axis=1)
    assert n + n_rivals.sum() <= 1.05 * totals.min()


@pytest.mark.parametrize("shares", [[0.5, 0.5], [1.0, 0.0], [0.2, 0.0, 0.8], [0.0, 0.0]], ids=str)
@pytest.mark.parametrize("total", [0.1, 4.0, 1000.0, 1e15])
def test_every_input_is_sensed_and_most_go_where_the_shares_are(total, shares):
    shares = np.array(shares)
    senses = spread_over_inputs(total, shares)
    assert min(senses) >= 1
    assert all(isinstance(n, int) for n in senses)
    for n, share in zip(senses, shares, strict=True):
        assert n >= np.floor(total * (0.9 * share + 0.1 / len(shares)))
    if shares.sum() == 1.0:
        assert abs(sum(senses) - total) <= len(shares) + total * 1e-15
