"""The kernels of `lower_bound` against the values that their predecessors of version 0.2.0 gave, and against misuse.

Those took logarithm and exponential from the C library; with the same ones, these give the same bits. With our own,
which differ in the last digit, they differ by rounding errors, grown by at most some thousand steps.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from bestchannel.native.lower_bound import Curve, Side, certify, search_pair
from tests.native.inner import tilted_row

GOLDEN = json.loads((Path(__file__).parent / "lower_bound_of_0.2.0.json").read_text())

ROUNDING = 1e-7
"""Relative; 1e6 rounding errors would be 2e-10, and steps that end at 1e-6 or 1e-7 hardly end elsewhere."""


def golden(kind):
    """What was given, as arrays and numbers, and what that gave, of every case of a kind."""
    for name, case in GOLDEN.items():
        if name.startswith(kind):
            yield (
                name,
                [np.array(each) if isinstance(each, list) else each for each in case["given"]],
                [np.array(each) for each in case["gives"]],
            )


def test_leader_at_every_price_is_what_it_was():
    for name, (W, w, prices, P), (phi, capacity) in golden("curve"):
        curve = Curve.of(Side.of(W, w), prices, W, P, 100, 1e-6)
        assert curve.phi == pytest.approx(phi, rel=ROUNDING, abs=1e-12), name
        assert curve.capacity == pytest.approx(capacity, rel=ROUNDING, abs=1e-12), name


def test_proved_bounds_are_what_they_were():
    for name, (W_b, w_b, prices, P, W, w, s, Q, target, alarm), (end, bound) in golden("certify"):
        curve = Curve.of(Side.of(W_b, w_b), prices, W_b, P, 100, 1e-6)
        found = certify(Side.of(W, w), curve, 20, s, Q, target, bool(alarm))
        assert found.end == end, name
        assert found.bound == pytest.approx(bound, rel=ROUNDING), name


def test_pairs_are_what_they_were():
    for name, (W_b, w_b, W, w, s, *at), (price, *there) in golden("pair"):
        assert search_pair(Side.of(W_b, w_b), Side.of(W, w), s, *at, 50, 1e-6) == pytest.approx(price, rel=ROUNDING), (
            name
        )
        for found, before in zip(at, there, strict=True):
            assert found == pytest.approx(before, rel=ROUNDING, abs=1e-9), name


def test_golden_cases_tell_one_target_from_another():
    ends = {int(end) for _, _, (end, _) in golden("certify")}
    assert len(ends) > 1


def test_arrays_of_the_wrong_size_are_refused_before_a_pointer_is_used():
    _, (W_b, w_b, W, w, s, *at), _ = next(golden("pair"))
    for place in range(4):
        wrong = [each.copy() for each in at]
        wrong[place] = wrong[place][:-1].copy()
        with pytest.raises(TypeError, match="C-contiguous array of float64"):
            search_pair(Side.of(W_b, w_b), Side.of(W, w), s, *wrong, 50, 1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 5e-324])
def test_rows_of_strange_numbers_end(value):
    v = np.empty(2)
    tilted_row(np.array([value, 0.5]), 1.0, np.array([0.0, value]), v)
    side = Side(np.array([[value, 0.5], [0.5, 0.5]]), np.array([1.0, 1.0]), 0.0)
    curve = Curve.of(side, np.array([0.1, 1.0]), np.full((2, 2), 0.5), np.array([0.5, 0.5]), 5, 1e-6)
    found = certify(side, curve, 3, 0.1, np.array([0.5, 0.5]), 0.01, False)
    assert found.bound <= 0.01 or np.isnan(found.bound)
