"""What every sensor promises: the counts that were asked for, and of a simulator, the right law."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import chi2, multinomial

from bestchannel import BestChanID, InputError, Request, Simulator, identify
from bestchannel.channels import bec, bsc

FALSE_ALARM = 1e-6
ROW = (0.5, 0.3, 0.2)
DRAWS = 20_000
ENOUGH_FOR_64_BITS = 10**18


def draws_of(row, n, *, seed=1, simulator=Simulator):
    """DRAWS independent draws of n senses: those of a channel with DRAWS equal rows."""
    sensor = simulator([np.tile(row, (DRAWS, 1))], rng=seed)
    return sensor(Request(1, {0: (n,) * DRAWS}))[0]


class Rounded:
    """A sabotaged simulator: the expected counts, without chance."""

    def __init__(self, channels, *, rng):
        self.W = np.asarray(channels[0])

    def __call__(self, request):
        senses = np.array(request.senses[0])[:, None]
        counts = np.rint(senses * self.W).astype(int)
        counts[:, -1] += senses[:, 0] - counts.sum(axis=1)
        return {0: counts}


class Skewed(Simulator):
    """A sabotaged simulator: 0.02 of the probability of the first output goes to the last."""

    def __init__(self, channels, *, rng):
        W = np.array(channels[0])
        W[:, 0] -= 0.02
        W[:, -1] += 0.02
        super().__init__([W], rng=rng)


@pytest.mark.parametrize("n", [0, 1, 7, 10**9, ENOUGH_FOR_64_BITS])
@pytest.mark.parametrize("seed", range(5))
def test_totals_are_exact(seed, n):
    sensor = Simulator([bsc(0.1), bec(0.3)], rng=seed)
    for counts in sensor(Request(1, {0: (n, n + 1), 1: (n, 3)})).values():
        assert counts.dtype == np.int64
        assert counts.min() >= 0
        assert [sum(row) for row in counts.tolist()] in ([n, n + 1], [n, 3])


def test_only_what_was_asked_comes_back_in_the_order_of_the_request():
    counts = Simulator([bsc(0.1), bec(0.3), bsc(0.2)], rng=1)(Request(1, {2: (5, 0), 1: (0, 6)}))
    assert list(counts) == [2, 1]
    assert [table.shape for table in counts.values()] == [(2, 2), (2, 3)]
    assert counts[2].sum(axis=1).tolist() == [5, 0]
    assert counts[1].sum(axis=1).tolist() == [0, 6]


def test_memory_does_not_grow_with_the_senses():
    # 10^18 senses of one byte each would be a million terabytes
    sensor, request = Simulator([bsc(0.1)], rng=1), Request(1, {0: (ENOUGH_FOR_64_BITS,) * 2})
    tracemalloc.start()
    counts = sensor(request)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts[0].shape == (2, 2)
    assert peak < 100_000


def test_seed_reproduces_every_count():
    requests = [Request(1, {0: (1000, 10**15), 1: (5, 5)}), Request(2, {1: (10**12, 7)})]

    def all_counts(rng):
        sensor = Simulator([bsc(0.1), bec(0.3)], rng=rng)
        return [table.tolist() for request in requests for table in sensor(request).values()]

    assert all_counts(3) == all_counts(3) == all_counts(np.random.default_rng(3))
    assert all_counts(3) != all_counts(4)


def test_answers_to_equal_requests_are_fresh():
    sensor, request = Simulator([bsc(0.1)], rng=1), Request(1, {0: (10**9,) * 2})
    assert sensor(request)[0].tolist() != sensor(request)[0].tolist()


@pytest.mark.parametrize("n", [10, 10**9])
@pytest.mark.parametrize("seed", range(20))
def test_output_of_probability_zero_is_never_counted(seed, n):
    rows = [[0, 0.3, 0.7], [1 / 3, 2 / 3, 0], [0.9, 0, 0.1], [0, 1, 0]]
    counts = Simulator([rows], rng=seed)(Request(1, {0: (n,) * 4}))[0]
    assert not counts[np.array(rows) == 0].any()


@pytest.mark.parametrize("row", [(1 / 3, 1 / 3, 1 / 3, 0), (0.1, 0.3, 0.6, 0), (0.1,) * 10 + (0,)], ids=str)
def test_last_output_of_probability_zero_is_never_counted_however_many_senses(row):
    counts = Simulator([[row]], rng=1)(Request(1, {0: (ENOUGH_FOR_64_BITS,)}))[0]
    assert counts[0, -1] == 0


def surprise(draws, n):
    """Pearson's statistic of how often each of the possible outcomes of n senses of ROW came, and its freedom."""
    outcomes = [(a, b, n - a - b) for a, b in itertools.product(range(n + 1), repeat=2) if a + b <= n]
    expected = DRAWS * multinomial(n, ROW).pmf(outcomes)
    assert expected.min() > 5  # Cochran's rule for the chi-square limit
    found = np.array([np.all(draws == outcome, axis=1).sum() for outcome in outcomes])
    assert found.sum() == DRAWS
    return ((found - expected) ** 2 / expected).sum(), len(outcomes) - 1


def test_law_of_few_senses_is_multinomial():
    # 20,000 draws of 5 senses, 21 outcomes; the twins below show what this would notice
    statistic, freedom = surprise(draws_of(ROW, 5), 5)
    assert statistic <= chi2.isf(FALSE_ALARM, freedom)


@pytest.mark.parametrize("sabotaged", [Skewed, Rounded])
def test_sabotaged_simulator_fails_the_test_of_few_senses(sabotaged):
    statistic, freedom = surprise(draws_of(ROW, 5, simulator=sabotaged), 5)
    assert statistic > chi2.isf(FALSE_ALARM, freedom)


def spread(draws, n):
    """Σ z² over all draws of the count of the first output; chi-square with DRAWS degrees for large n."""
    z = (draws[:, 0].astype(float) - n * ROW[0]) / math.sqrt(n * ROW[0] * (1 - ROW[0]))
    return (z**2).sum()


@pytest.mark.parametrize("n", [10**6, 10**15, ENOUGH_FOR_64_BITS])
def test_many_senses_have_the_spread_of_chance(n):
    # two-sided; 20,000 draws notice a deviation of 2.5 % in the standard error
    low, high = chi2.isf([1 - FALSE_ALARM / 2, FALSE_ALARM / 2], DRAWS)
    assert low <= spread(draws_of(ROW, n), n) <= high


@pytest.mark.parametrize("sabotaged", [Skewed, Rounded])
def test_sabotaged_simulator_fails_the_test_of_many_senses(sabotaged):
    low, high = chi2.isf([1 - FALSE_ALARM / 2, FALSE_ALARM / 2], DRAWS)
    assert not low <= spread(draws_of(ROW, 10**6, simulator=sabotaged), 10**6) <= high


def test_names_of_the_channels_come_back_in_the_answer():
    sensor = Simulator({"poor": bsc(0.3), "good": bsc(0.02)}, rng=1)
    result = identify(sensor, BestChanID(sensor.alphabets, delta=0.1))
    assert (result.best, result.candidates) == ("good", ("good",))


def test_any_callable_is_a_sensor():
    def exact(request):
        errors = {channel: senses[0] // (3, 10)[channel] for channel, senses in request.senses.items()}
        return {c: [[request.senses[c][0] - e, e], [e, request.senses[c][1] - e]] for c, e in errors.items()}

    assert identify(exact, BestChanID([(2, 2)] * 2, delta=0.1)).best == 1


def test_simulator_of_no_channel_is_refused():
    with pytest.raises(InputError, match="a simulator requires at least one channel; none was given"):
        Simulator([], rng=1)


def test_simulator_of_a_matrix_that_is_no_channel_is_refused():
    with pytest.raises(InputError, match=r"row x=1 of the channel must sum to 1 within 1e-09; it sums to 0.9"):
        Simulator([[[0.5, 0.5], [0.5, 0.4]]], rng=1)


@pytest.mark.parametrize("rng", [-1, 2.5, "x"])
def test_seed_that_is_none_is_refused(rng):
    with pytest.raises(InputError, match="rng must be a generator of NumPy or its seed"):
        Simulator([bsc(0.1)], rng=rng)
