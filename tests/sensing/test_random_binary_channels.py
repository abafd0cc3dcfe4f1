"""Random instances with a requested gap."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from bestchannel import capacity
from bestchannel.errors import InputError
from bestchannel.sensing.simulator import random_binary_channels


@pytest.mark.parametrize(("k", "gap"), [(2, 0.13), (10, 0.13), (20, 0.08), (200, 0.01)])
@pytest.mark.parametrize("seed", range(5))
def test_smallest_gap_is_the_requested_one_within_two_per_cent(k, gap, seed):
    instance = random_binary_channels(np.random.default_rng(seed), k, gap)
    gaps = np.sort(instance.gaps) * math.log(2)
    assert len(instance.channels) == k
    assert gaps[0] == 0
    # The gap is chosen among capacities known to 1e-9 bit.
    assert abs(gaps[1] - gap) <= 0.02 * gap + 1e-9


def test_capacities_and_best_channel_are_those_of_the_channels():
    instance = random_binary_channels(np.random.default_rng(3), 6, 0.1)
    values = [capacity(channel).lower for channel in instance.channels]
    assert instance.capacities == pytest.approx(values, abs=1e-9)
    assert instance.best == int(np.argmax(values))


def test_all_choices_with_the_requested_gap_are_equally_likely():
    # A pool of 8 whose capacities are known through the seed: count how often each 4-subset with the requested gap
    # comes up. Of n such subsets each has probability 1/n; six deviations of a binomial are a false alarm of 1e-8.
    seed, gap, draws = 102, 0.1, 2000
    pool = np.random.default_rng(seed).dirichlet([1.0, 1.0], size=(8, 2))
    found = Counter()
    for i in range(draws):
        rng = _SamePool(pool, np.random.default_rng(i))
        chosen = random_binary_channels(rng, 4, gap, pool=8)
        found[frozenset(np.round(chosen.capacities, 6).tolist())] += 1
    wanted = _subsets_with_gap(pool, 4, gap / math.log(2))
    # Two pairs of leaders are possible; one of them has 6 ways to go on, the other a single one.
    assert len(wanted) == 7
    assert set(found) == wanted
    p = 1 / len(wanted)
    for count in found.values():
        assert abs(count - draws * p) < 6 * math.sqrt(draws * p * (1 - p))


class _SamePool:
    """A generator whose Dirichlet draw is always the same pool."""

    def __init__(self, pool, rng):
        self.pool, self.rng = pool, rng

    def dirichlet(self, *_args, **_kwargs):
        return self.pool

    def __getattr__(self, name):
        return getattr(self.rng, name)


def _subsets_with_gap(pool, k, gap_bits):
    values = np.array([capacity(W).lower for W in pool])
    subsets = (np.sort(values[list(subset)]) for subset in combinations(range(len(pool)), k))
    return {
        frozenset(np.round(subset, 6).tolist())
        for subset in subsets
        if abs(subset[-1] - subset[-2] - gap_bits) <= 0.02 * gap_bits
    }


@pytest.mark.parametrize(
    ("k", "gap", "message"),
    [
        (1, 0.1, "k must be between 2 and the 1024 channels of the pool; it is 1"),
        (1024, 0.1, "nats apart with 1022 below them; draw a larger pool"),
        (10, 0.0, r"the smallest gap \(nats\) must lie in \(0, 0.693147\]; it is 0"),
    ],
)
def test_impossible_instances_are_refused(k, gap, message):
    with pytest.raises(InputError, match=message):
        random_binary_channels(np.random.default_rng(0), k, gap)
