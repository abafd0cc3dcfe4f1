import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestchannel.report.markup import percent, several, short, ticks, whole


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (34586, "34,586"),
        (999_999_999, "999,999,999"),
        (10**9, "1·10⁹"),
        (352e9, "3.52·10¹¹"),
        (math.inf, "infinitely many"),
    ],
)
def test_whole_numbers_are_written_in_full_until_they_are_too_long(value, words):
    assert whole(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0"), (999, "999"), (999.9, "1k"), (12345, "12.3k"), (999_900, "1M"), (2e9, "2·10⁹")]
)
def test_short_numbers_fit_a_cell(value, words):
    assert short(value) == words


def test_a_small_share_is_not_called_nothing():
    assert (percent(0.0), percent(0.013), percent(0.5)) == ("0%", "1.3%", "50%")


def test_one_thing_is_not_several():
    assert (several(1, "request"), several(1200, "request")) == ("1 request", "1,200 requests")


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e30), st.integers(2, 8))
def test_ticks_are_few_grow_and_stay_inside(low, width, wanted):
    marks = ticks(low, low + width, wanted)
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert len(marks) <= 2 * wanted + 1
    assert marks == sorted(set(marks))
    assert all(low - slack <= mark <= low + width + slack for mark in marks)
