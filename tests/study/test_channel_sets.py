"""The families of a study are what they are called."""

import numpy as np
import pytest

from bestchannel import InputError, capacity
from bestchannel.study.spec import FAMILIES, GAP_TOLERANCE, Instance, random_set, z_capacity

HOSTILE = ["mixed", "near-tie", "noiseless-rival", "useless-rivals", "z-against-bsc", "relabelled"]
RANDOM = [("random-binary", {"k": 5}), ("random", {"k": 5, "n_inputs": 3, "n_outputs": 4})]


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("gap", [0.01, 0.05])
@pytest.mark.parametrize("family", HOSTILE)
def test_hostile_family_has_its_gap_and_its_best_channel_last(family, gap):
    instance = FAMILIES[family](rng(), gap=gap)
    assert instance.best == len(instance.channels) - 1
    # both channels lie within 1e-12 bit of where bisection puts them
    assert np.sort(instance.gaps)[1] == pytest.approx(gap, abs=1e-11)


@pytest.mark.parametrize(("family", "numbers"), RANDOM)
def test_random_family_has_its_gap_within_two_per_cent(family, numbers):
    instance = FAMILIES[family](rng(), gap=0.1, **numbers)
    assert np.sort(instance.gaps)[1] == pytest.approx(0.1, rel=GAP_TOLERANCE + 1e-9)
    assert len(instance.channels) == 5


@pytest.mark.parametrize(("family", "numbers"), RANDOM)
def test_random_family_follows_the_generator(family, numbers):
    first, again, other = (FAMILIES[family](rng(seed), gap=0.1, **numbers).channels for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_random_set_has_the_alphabets_asked_for_and_without_a_gap_takes_what_comes():
    instance = random_set(rng(), k=3, n_inputs=3, n_outputs=5)
    assert instance.alphabets == [(3, 5)] * 3


def test_random_gap_that_no_set_has_is_refused():
    with pytest.raises(InputError, match="gap of 2 bits; ask for another gap, or a concentration below 1"):
        random_set(rng(), k=3, n_inputs=8, n_outputs=8, gap=2.0)


def test_letters_go_astray_with_low_noise_no_more_often_than_it_says():
    instance = FAMILIES["low-noise"](rng(), n_letters=4)
    right = [np.diag(channel.W).min() for channel in instance.channels]
    assert np.all(right >= np.array([0.6, 0.7, 0.8, 0.88, 0.95]) - 1e-12)
    assert instance.best == 4


def test_channels_of_a_tie_are_equally_good_and_not_all_the_same():
    instance = FAMILIES["tie"](rng(), k=4, n_letters=3, noise=0.3)
    assert np.ptp(instance.capacities) < 1e-11  # each is computed within 1e-12
    assert len({channel.W.tobytes() for channel in instance.channels}) > 1


def test_mixed_channels_have_alphabets_of_their_own():
    assert FAMILIES["mixed"](rng()).alphabets == [(2, 2), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("family", "numbers", "message"),
    [
        ("tie", {"noise": 2.0}, r"the noise of a tie must lie in \(0, 1\]; it is 2"),
        ("mixed", {"capacity": 1.2}, r"the capacity of mixed channels \(bits\) must lie in \(0, 1\]; it is 1.2"),
    ],
)
def test_number_that_no_channel_has_is_refused(family, numbers, message):
    with pytest.raises(InputError, match=message):
        FAMILIES[family](rng(), **numbers)


def test_noiseless_rival_never_errs_and_is_second():
    rival, _, best = FAMILIES["noiseless-rival"](rng()).channels
    assert np.array_equal(rival.W, np.eye(2))
    assert best.W.min() > 0


def test_useless_rivals_have_capacity_0():
    instance = FAMILIES["useless-rivals"](rng(), k=6, gap=0.1)
    assert np.abs(instance.capacities[:-1]).max() < 1e-12
    assert len(instance.channels) == 6


def test_z_channel_lies_between_two_symmetric_ones():
    z, worse, better = FAMILIES["z-against-bsc"](rng(), gap=0.01).capacities
    assert z == pytest.approx(z_capacity(0.5), abs=1e-11)
    assert worse < z < better


def test_relabelled_rivals_are_permutations_of_one_another_and_not_all_the_same():
    *rivals, _ = FAMILIES["relabelled"](rng(), k=5).channels
    assert len({tuple(np.sort(rival.W, axis=None).round(12)) for rival in rivals}) == 1
    assert len({rival.W.tobytes() for rival in rivals}) > 1


def test_instance_of_different_alphabets_has_the_capacities_of_its_channels():
    channels = FAMILIES["noiseless-rival"](rng()).channels
    instance = Instance.of(channels)
    assert instance.alphabets == [(2, 2), (2, 2), (3, 3)]
    assert np.allclose(instance.capacities, [capacity(c).lower for c in channels], atol=1e-8)
