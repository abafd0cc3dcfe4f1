"""Growth of the policies' cost."""

import pytest
from growth import POLICIES, SWEEPS, growth


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("quantity", SWEEPS)
def test_runs_name_the_best_channel_and_grow_all_the_way(policy, quantity):
    found = growth(policy, quantity, seed=2)
    assert found.wrong == 0
    assert list(found.senses) == sorted(set(found.senses))


@pytest.mark.parametrize("policy", POLICIES)
def test_cost_grows_with_the_square_of_the_inverse_gap_and_a_logarithm(policy):
    found = growth(policy, "gap", seed=1)
    # 1/Δ² exactly would be 2; log²(1/Δ²) adds 2/log of what is inside: between 0.15 and 0.3 here.
    assert 2.1 < found.slope < 2.35


def test_cost_grows_linearly_with_the_number_of_channels():
    # NaiveChanSel pays log k on top, MedianChanEl rounds whose cost falls like (8/9)^r only.
    assert 1.0 < growth("best-chan-id", "channels", seed=1).slope < 1.15
    assert 1.1 < growth("naive", "channels", seed=1).slope < 1.25
    assert 1.25 < growth("median", "channels", seed=1).slope < 1.4
