"""Shuffles are fair, keep every sense, and are the same everywhere."""

import numpy as np
import pytest
from numpy.random import Philox
from scipy.stats import binom, chisquare

from bestchannel.evidence.recorded_channel import Effort, coins_for, heads, shuffled, unlabelled

COUNTS = np.array([[700, 20, 0], [3, 300, 64], [1, 0, 128]])


def split(copy, shuffles=4, seed=0):
    return shuffled(COUNTS, coins_for(COUNTS, copy, seed), shuffles)


def test_every_sense_is_in_the_pilot_or_known_or_tested_once():
    found = split(0, 16)
    assert found.tested.shape == (16, 8, 3, 3)
    assert (found.known[:, -1] + found.tested[:, -1] == COUNTS).all()
    assert (np.diff(found.known, axis=1) == found.tested[:, :-1]).all()
    assert (found.known[:, 0] == found.pilot).all()
    assert (found.tested >= 0).all()


def test_coins_depend_on_counts_copy_and_seed_and_never_change():
    again = split(0)
    assert (again.tested == split(0).tested).all()
    assert (again.tested != split(1).tested).any()
    assert (again.tested != split(0, seed=1).tested).any()
    # a golden value: bits of Philox are the same on every machine and with every numpy
    assert again.pilot.tolist() == [[78, 7, 0], [0, 41, 8], [0, 0, 16]]


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 5), (5, 5)])
def test_numbering_of_letters_does_not_matter(shape):
    rng = np.random.default_rng(sum(shape))
    for _ in range(50):
        counts = rng.integers(0, 30, shape)
        renumbered = counts[rng.permutation(shape[0])][:, rng.permutation(shape[1])]
        assert np.array_equal(unlabelled(renumbered), unlabelled(counts))
        assert sorted(unlabelled(counts).ravel()) == sorted(counts.ravel())


@pytest.mark.parametrize("tosses", [1, 7, 63, 64, 65, 200])
def test_heads_have_the_binomial_distribution(tosses):
    shown = heads(np.full(20_000, tosses), Philox(key=tosses))
    edges = np.unique(binom.ppf(np.linspace(0, 1, 8)[1:-1], tosses, 0.5)).astype(int)
    edges = edges[edges < tosses]
    seen = np.bincount(np.searchsorted(edges, shown), minlength=len(edges) + 1)
    cumulative = np.append(binom.cdf(edges, tosses, 0.5), 1.0)
    expected = np.diff(cumulative, prepend=0.0) * len(shown)
    assert chisquare(seen, expected).pvalue > 1e-6


def test_heads_of_many_coins_at_once_are_as_many_as_of_few():
    tosses = np.array([10**7, 10**7 + 1, 3])
    shown = heads(tosses, Philox(key=5))
    assert (abs(shown[:2] - tosses[:2] / 2) < 6 * np.sqrt(tosses[:2]) / 2).all()
    assert 0 <= shown[2] <= 3


def test_large_channels_many_channels_and_many_senses_get_less_effort():
    assert Effort.for_channels(32 * 32) == (8, 16)
    assert Effort.for_channels(32 * 32, n_channels=3) == (4, 16)
    assert Effort.for_channels(4, n_channels=513) == (4, 16)
    assert Effort.for_channels(10**6, 10**12, 10**6) == (4, 4)
