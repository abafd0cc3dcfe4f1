"""E-values against one and the same memoryless channel: their mean over all orders is 1, and they see drift and memory."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import binom

from bestchannel.evidence import drift_and_memory as module
from bestchannel.evidence.drift_and_memory import drift_and_memory
from tests.statistical.limits import FALSE_ALARM, most_failures
from tests.statistical.order_study import DRIFTING, PERIODIC, REMEMBERING, STEADY, THRESHOLD, changing, evidence, hum

TINY = {
    "two inputs, three outputs": ([0, 1, 0, 0, 1, 0, 1, 1], [0, 1, 1, 0, 0, 2, 1, 1], (2, 3)),
    "one input": ([0] * 7, [0, 0, 0, 1, 1, 2, 0], (1, 3)),
    "inputs in blocks": ([0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 1, 0, 1, 1, 0, 1, 2, 0], (3, 3)),
    "an input that is never sent": ([0, 0, 2, 2, 0, 0], [1, 0, 1, 0, 1, 0], (3, 2)),
    "all outputs different": ([0] * 5, [0, 1, 2, 3, 4], (1, 5)),
}


def all_orders(x, y):
    """Every way to arrange the outputs of each input among its senses."""
    places = [np.flatnonzero(np.array(x) == letter) for letter in sorted(set(x))]
    choices = [sorted(set(permutations([y[i] for i in own]))) for own in places]
    for chosen in product(*choices):
        arranged = np.array(y)
        for own, outputs in zip(places, chosen, strict=True):
            arranged[own] = outputs
        yield arranged


def means(x, y, alphabet, **options):
    """Of the three e-values over all orders, which are equally likely."""
    found = [drift_and_memory(np.array(x), z, alphabet, **options)[:3] for z in all_orders(x, y)]
    return np.mean(np.exp(found), axis=0)


def assert_fair(found):
    """The means of drift and memory are 1, that of the period, which is bounded from below, no more."""
    np.testing.assert_allclose(found[:2], 1.0, rtol=0, atol=1e-12)
    assert found[2] <= 1.0 + 1e-12


@pytest.mark.parametrize("case", TINY.values(), ids=TINY)
def test_mean_over_all_orders_is_one(case):
    assert_fair(means(*case))


@pytest.mark.parametrize("case", TINY.values(), ids=TINY)
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_no_amplitude_of_a_period_wins_on_average(case, scale, monkeypatch):
    monkeypatch.setattr(module, "PERIODIC_SCALES", (scale,))
    assert means(*case)[2] <= 1.0 + 1e-12


def test_rare_letters_taken_together_keep_the_mean(monkeypatch):
    monkeypatch.setattr(module, "MOST_LETTERS", 3)
    assert_fair(means(*TINY["all outputs different"]))


def test_runs_of_a_long_log_keep_the_mean(monkeypatch):
    monkeypatch.setattr(module, "RUN", 2)
    assert_fair(means(*TINY["two inputs, three outputs"], most_senses=4))


def test_a_bet_that_looks_which_cells_were_met_is_noticed(monkeypatch):
    def met(bet):
        return np.bincount(bet.cells[bet.cells >= 0], minlength=len(bet.variance)) > 0

    monkeypatch.setattr(module, "_possible", met)
    assert means(*TINY["one input"]).max() > 1.001


def test_a_constant_channel_gives_no_evidence():
    assert drift_and_memory(np.array([0, 1] * 50), np.array([0, 1] * 50), (2, 2)) == (0.0, 0.0, 0.0, None)


def test_alphabets_too_large_for_a_table_give_no_evidence():
    x = np.arange(2**15)
    assert drift_and_memory(x, x, (2**15, 2**15)) == (0.0, 0.0, 0.0, None)


RUNS, ALPHA = 100, 0.1


def alarms(senses):
    """Runs in which one of the e-values reaches 1/ALPHA, whichever does most often."""
    return (evidence(senses, RUNS) >= np.log(1 / ALPHA)).sum(axis=0).max()


@pytest.mark.parametrize("senses", STEADY.values(), ids=STEADY)
def test_false_alarms_are_no_more_often_than_promised(senses):
    assert alarms(senses) <= most_failures(RUNS, ALPHA)


def test_bets_whose_sign_is_chosen_afterwards_are_noticed(monkeypatch):
    fair = module._log_mean

    def better_side(logarithms):
        return np.max(logarithms, axis=0) if isinstance(logarithms, list) and len(logarithms) == 2 else fair(logarithms)

    monkeypatch.setattr(module, "_log_mean", better_side)
    assert alarms(STEADY["16×16, 500 senses"]) > most_failures(RUNS, ALPHA)


def test_frequencies_that_are_not_paid_for_are_noticed(monkeypatch):
    fair = module._of_frequencies

    def summed(surprise, variance, expected):
        return fair(surprise, variance, expected) + np.log(len(surprise) / 2)

    monkeypatch.setattr(module, "_of_frequencies", summed)
    assert alarms(STEADY["2×2, 500 senses"]) > most_failures(RUNS, ALPHA)


def least_successes(runs, probability):
    """The largest c with P(fewer than c successes) <= FALSE_ALARM when each of `runs` succeeds with `probability`."""
    return int(binom.ppf(FALSE_ALARM, runs, probability))


POWER, FEW_RUNS = 0.9, 30


@pytest.mark.parametrize("senses", DRIFTING.values(), ids=DRIFTING)
def test_drift_is_found(senses):
    assert (evidence(senses, FEW_RUNS)[:, 0] >= THRESHOLD).sum() >= least_successes(FEW_RUNS, POWER)


@pytest.mark.parametrize("senses", REMEMBERING.values(), ids=REMEMBERING)
def test_memory_is_found(senses):
    assert (evidence(senses, FEW_RUNS)[:, 1] >= THRESHOLD).sum() >= least_successes(FEW_RUNS, POWER)


@pytest.mark.parametrize("senses", PERIODIC.values(), ids=PERIODIC)
def test_a_period_is_found(senses):
    assert (evidence(senses, FEW_RUNS)[:, 2] >= THRESHOLD).sum() >= least_successes(FEW_RUNS, POWER)


def test_the_period_is_told():
    found = drift_and_memory(*hum(4000, 0.4, 0.8, 37.3)(np.random.default_rng(1)))
    assert 37.0 < found.period < 37.6


def test_drift_of_a_long_log_is_found_in_evenly_spread_runs(monkeypatch):
    monkeypatch.setattr(module, "RUN", 64)
    x, y, alphabet = changing(2, 60_000, lambda t: np.where(t < 0.5, 0.1, 0.2))(np.random.default_rng(1))
    assert drift_and_memory(x, y, alphabet, most_senses=4096)[0] > THRESHOLD
