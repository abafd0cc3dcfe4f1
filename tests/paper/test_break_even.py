"""Where MedianChanEl overtakes NaiveChanSel."""

import math
from itertools import islice

import pytest
from theorems import break_even, cost_ratios, log_senses

from bestchannel.intervals.paper_bounds import Rate
from bestchannel.paper import published_break_even
from bestchannel.study.planning import expected_senses

PAIRS = [(0.1, 0.1), (0.1, 0.6), (0.3, 0.1)]


@pytest.mark.parametrize("rate", [Rate(2, 2), Rate(3, 8)])
@pytest.mark.parametrize(("epsilon", "alpha"), [(0.3, 0.1), (1e-4, 1e-30)])
def test_log_senses_is_the_logarithm_of_the_count(rate, epsilon, alpha):
    expected = math.log(rate.round_senses(epsilon, alpha))
    # The ceiling adds less than 1 to more than 1e5.
    assert log_senses(math.log(epsilon), -math.log(alpha), rate) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_ratio_is_that_of_the_policies(epsilon, delta):
    for m, ratio in enumerate(islice(cost_ratios(epsilon, delta), 10), start=1):
        cost = {
            name: expected_senses(
                name, [0, *[0.1] * (2**m - 1)], [(2, 2)] * 2**m, delta=delta, epsilon=epsilon / math.log(2)
            )
            for name in ("naive", "median")
        }
        # Ceilings change counts above 1e6 by less than 2.
        assert ratio == pytest.approx(cost["median"] / cost["naive"], rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_median_costs_tens_of_times_more_up_to_a_million_channels(epsilon, delta):
    ratios = list(islice(cost_ratios(epsilon, delta), 20))[1:]
    assert 45 < min(ratios) < max(ratios) < 180


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_break_even_lies_beyond_two_to_the_two_thousand(epsilon, delta):
    m = break_even(epsilon, delta)
    assert 2000 < m < 5000
    before, after = list(islice(cost_ratios(epsilon, delta), m))[-2:]
    assert after <= 1 < before


@pytest.mark.parametrize(("epsilon", "delta", "marked"), [(0.1, 0.1, 64), (0.1, 0.6, 6), (0.3, 0.1, 50)])
def test_published_formulas_cross_near_the_marks_of_figure_2(epsilon, delta, marked):
    # [EBWGW24, Fig. 2] has its red marks at k = 64, 6, 50; they were placed by hand.
    assert published_break_even(epsilon, delta) == pytest.approx(marked, rel=0.2)
