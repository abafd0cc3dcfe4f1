"""`estimate`: intervals, verdict, and the refusals at the border."""

import csv
import importlib
import math
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bestchannel as bc
from bestchannel.intervals.plug_in import approximate_interval, capacities_at_counts
from bestchannel.intervals.verdict import Standing, differences_of, judge, sentence
from tests.statistical.limits import most_failures

GOOD, BAD = [[950, 50], [50, 950]], [[700, 300], [300, 700]]


def test_two_channels_far_apart_are_decided_and_their_intervals_hold_the_truth():
    result = bc.estimate({"good": GOOD, "bad": BAD})
    assert (result.verdict.decided, result.verdict.best, result.verdict.candidates) == (True, "good", ("good",))
    assert result.verdict.more_senses == 0
    for name, error in (("good", 0.05), ("bad", 0.3)):
        true = bc.capacity([[1 - error, error], [error, 1 - error]]).lower
        assert result[name].lower < true < result[name].upper
        assert result[name].capacity == pytest.approx(true, abs=1e-8)  # the frequencies are the channel
    assert [gap.rival for gap in result.differences] == ["bad"]
    assert 0 < result.differences[0].lower < 0.5949 < result.differences[0].upper


def test_adaptive_designs_subtract_the_ends_of_intervals():
    result = bc.estimate({"good": GOOD, "bad": BAD}, design="adaptive")
    assert result.differences[0].lower == result["good"].lower - result["bad"].upper


def test_two_channels_too_close_are_undecided_with_a_forecast():
    verdict = bc.estimate({"a": [[95, 5], [5, 95]], "b": [[92, 8], [8, 92]]}).verdict
    assert (verdict.decided, verdict.best, verdict.leader) == (False, None, "a")
    assert verdict.candidates == ("a", "b")
    assert verdict.more_senses > 1000


def test_forecast_is_about_right_when_the_frequencies_stay():
    small = {"a": np.array([[95, 5], [5, 95]]) * 5, "b": np.array([[93, 7], [7, 93]]) * 5}
    verdict = bc.estimate(small).verdict
    assert not verdict.decided
    times = 1 + verdict.more_senses / 2000
    # the forecast has one digit: twice as much is enough, and half of it is not
    assert bc.estimate({name: (table * times * 2).astype(int) for name, table in small.items()}).verdict.decided
    assert not bc.estimate({name: (table * times / 2).astype(int) for name, table in small.items()}).verdict.decided


def test_equal_estimates_have_no_forecast():
    assert bc.estimate({"a": GOOD, "b": GOOD}).verdict.more_senses is None


def test_epsilon_decides_what_is_close():
    close = {"a": np.array(GOOD) * 10, "b": np.array([[9480, 520], [520, 9480]])}
    for design, epsilon in (("fixed", 0.05), ("adaptive", 0.2)):
        assert not bc.estimate(close, design=design).verdict.decided
        result = bc.estimate(close, epsilon=epsilon, design=design)
        assert result.verdict.decided
        assert result.verdict.candidates == ("a",)
        assert -epsilon < result.differences[0].lower < 0


def test_one_channel_is_decided():
    result = bc.estimate({"only": GOOD})
    assert result.verdict.decided
    assert result.verdict.best == "only"
    assert result.differences == ()


def test_channel_without_an_error_keeps_a_width():
    channel = bc.estimate({"perfect": np.eye(4, dtype=int) * 100})["perfect"]
    assert channel.capacity == pytest.approx(2, abs=1e-8)
    assert 0 < channel.lower < 2 == channel.upper
    assert 1.9 < channel.asymptotic.lower < 1.999
    assert channel.positive


def test_input_without_a_count_leaves_the_upper_end_trivial():
    channel = bc.estimate({"a": [[90, 10, 0], [0, 0, 0], [10, 90, 0]]})["a"]
    two = bc.estimate({"a": [[90, 10, 0], [10, 90, 0]]})["a"]
    assert channel.upper == channel.asymptotic.upper == math.log2(3)
    assert channel.capacity == pytest.approx(two.capacity, abs=1e-8)
    assert channel.lower == pytest.approx(two.lower, rel=0.1)  # its splits have coins of their own


def test_single_sensed_input_says_nothing():
    channel = bc.estimate({"a": [[7, 3], [0, 0]]})["a"]
    assert (channel.lower, channel.upper, channel.capacity, channel.positive) == (0.0, 1.0, 0.0, False)


@pytest.mark.parametrize("counts", [[[5, 7]], [[5], [7]], [[3]]])
def test_channel_with_one_input_or_output_has_capacity_zero(counts):
    channel = bc.estimate({"a": counts})["a"]
    assert (channel.lower, channel.capacity, channel.upper) == (0.0, 0.0, 0.0)
    assert (channel.asymptotic.lower, channel.asymptotic.upper) == (0.0, 0.0)


def test_positive_is_proved_for_a_noisy_channel_and_not_for_a_useless_one():
    result = bc.estimate({"noisy": np.array([[60, 40], [40, 60]]) * 20, "useless": [[500, 500], [503, 497]]})
    assert result["noisy"].positive
    assert not result["useless"].positive
    assert result["useless"].lower == 0.0


def test_intervals_widen_with_the_number_of_channels_and_with_confidence():
    one, two = bc.estimate({"a": GOOD}), bc.estimate({"a": GOOD, "b": BAD})
    sure = bc.estimate({"a": GOOD}, delta=1e-6)
    for wider in (two, sure):
        assert wider["a"].lower < one["a"].lower < one["a"].upper < wider["a"].upper
        assert wider["a"].asymptotic.lower < one["a"].asymptotic.lower


def test_guarantee_says_what_holds():
    assert "0.99" in bc.estimate({"a": GOOD}, delta=0.01).guarantee
    adaptive = bc.estimate({"a": GOOD}, design="adaptive")
    assert adaptive.design == "adaptive"
    assert "at all times and however the senses were chosen" in adaptive.guarantee
    fixed = bc.estimate({"a": GOOD})
    assert (fixed.design, fixed.shuffles) == ("fixed", 128)
    assert "if senses are independent and nobody chose their numbers by looking at outputs [" in fixed.guarantee
    assert "the verdict" not in fixed.guarantee  # there is one channel
    both = bc.estimate({"a": GOOD, "b": BAD}, rank=True).guarantee
    assert both.count("with the same probability the ") == 2
    assert "conditional on the observed alphabet" not in bc.estimate({"a": GOOD}).guarantee
    assert "conditional on the observed alphabet" in bc.estimate({"a": GOOD}, inferred_outputs=True).guarantee


def test_classifiers_of_digits_are_undecided():
    tables = defaultdict(lambda: np.zeros((10, 10), dtype=int))
    path = Path(__file__).parents[2] / "data/digits/confusion.csv"
    with path.open() as lines:
        for line in csv.DictReader(lines):
            tables[line["channel"]][int(line["x"]), int(line["y"])] = int(line["count"])
    result = bc.estimate(tables)
    assert not result.verdict.decided
    assert result.verdict.leader == "rbf_svm"
    assert "gaussian_nb" not in result.asymptotic_verdict.candidates
    assert all(c.lower < c.asymptotic.lower <= c.asymptotic.upper <= c.upper for c in result.channels)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, -2], [3, 4]], r'row x=0, column y=1 of the counts of channel "q".*it is -2'),
        ([[1, 2], [3, 0.5]], r"row x=1, column y=1 .*whole number.*it is 0.5; probabilities are for `capacity`"),
        ([[1, math.nan]], "it is nan"),
        ([[1, 2], [3]], "row x=1 .* must have 2 entries"),
        ([1, 2], "must be a matrix"),
        ([[[1]]], "must be a matrix"),
        ([], "must not be empty"),
        ([[0, 0], [0, 0]], "must add up to at least 1"),
        ([["1", "a"]], "must be a number"),
        ([[True, False]], "must hold real numbers"),
        ([[2**53, 2**53]], "at most 2"),
    ],
)
def test_bad_counts_are_refused_by_name(counts, message):
    with pytest.raises(bc.InputError, match=message):
        bc.estimate({"q": counts})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"counts": {}}, "at least one channel"),
        ({"counts": 5}, "counts must be matrices of counts, by name, in a list or alone"),
        ({"counts": {1: GOOD}}, "must be a text"),
        ({"counts": {"a": GOOD}, "delta": 0}, "delta"),
        ({"counts": {"a": GOOD}, "delta": 1}, "delta"),
        ({"counts": {"a": GOOD}, "delta": 5e-324}, r"delta must lie in \[1e-300, 1\)"),
        ({"counts": {"a": GOOD}, "epsilon": -0.1}, "epsilon"),
        (
            {"counts": {"a": GOOD}, "design": "Fixed"},
            'design must be "fixed", "adaptive", "shared" or "joint", got \'Fixed\'',
        ),
        ({"counts": {"a": GOOD}, "epsilon": math.nan}, "epsilon"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(bc.InputError, match=message):
        bc.estimate(arguments.pop("counts"), **arguments)


channel_standings = st.lists(
    st.tuples(*[st.integers(0, 8)] * 3).map(sorted).map(lambda ends: [end / 8 for end in ends]), min_size=1, max_size=6
)


@given(channel_standings, st.sampled_from([0.0, 0.125, 0.3]))
def test_verdict_differences_and_candidates_agree(ends, epsilon):
    standings = [Standing(str(i), middle, low, high) for i, (low, middle, high) in enumerate(ends)]
    gaps, best_lower = differences_of(standings), max(standing.lower for standing in standings)
    verdict = judge(standings, gaps, epsilon, 100)
    assert verdict.decided == all(gap.lower > -epsilon for gap in gaps)
    assert verdict.decided == (verdict.candidates == (verdict.leader,))
    assert verdict.decided == (verdict.best is not None)
    assert verdict.decided == (verdict.more_senses == 0)
    assert all(s.upper >= best_lower for s in standings if s.name in verdict.candidates)


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_ends_enclose_the_estimate_and_stay_in_range(n_inputs, n_outputs, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, rng.choice([2, 20, 2000]), size=(n_inputs, n_outputs))
    counts[0, 0] += 1
    channel = bc.estimate({"a": counts})["a"]
    normal = channel.asymptotic or bc.estimate({"a": [[50, 50]]})["a"].asymptotic
    ceiling = math.log2(min(n_inputs, n_outputs))
    assert 0.0 <= channel.lower <= channel.capacity <= channel.upper <= ceiling
    assert 0.0 <= normal.lower <= normal.capacity <= normal.upper <= ceiling


W_2X3 = np.array([[0.8, 0.15, 0.05], [0.1, 0.3, 0.6]])


def weak_channel(size):
    """A channel of 0.08 bit: rows near to one another."""
    rng = np.random.default_rng(size)
    return 0.72 * rng.dirichlet(np.full(size, 3.0)) + 0.28 * rng.dirichlet(np.ones(size), size)


@pytest.mark.parametrize(("W", "senses", "runs"), [(W_2X3, 300, 400), (weak_channel(16), 20, 40), (W_2X3, 20, 400)])
def test_approximate_interval_covers_about_as_often_as_it_says(W, senses, runs):
    # not a promise; 0.95 was asked for, and an interval that covers 0.9 falls below the limit once in 10^6
    rng = np.random.default_rng(8)
    true, least = bc.capacity(W).value, runs - most_failures(runs, 0.1)
    intervals = [
        approximate_interval(found, 0.05)
        for found in capacities_at_counts([rng.multinomial(senses, W) for _ in range(runs)])
    ]
    assert sum(interval.lower <= true <= interval.upper for interval in intervals) >= least


def test_estimate_less_its_bias_is_near_the_capacity_where_the_plug_in_value_is_not():
    # 20 senses of 16 inputs: the plug-in value is ten times too large, as simulated
    W, rng = weak_channel(16), np.random.default_rng(5)
    true = bc.capacity(W).value
    channels = [bc.estimate({"a": rng.multinomial(20, W)})["a"] for _ in range(5)]
    assert np.mean([channel.capacity for channel in channels]) > 5 * true
    assert abs(np.mean([channel.corrected for channel in channels]) - true) < 0.1


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (np.full((2, 2), 9), "not measured for inputs with fewer than 20 senses"),
        (np.full((17, 2), 10), "not measured for more than 16 inputs or outputs"),
        (np.full((3, 2), 10), "found wrong with more inputs than outputs, of which several may be equally good"),
        (np.full((2, 17), 10), "not measured for more than 16 inputs or outputs"),
    ],
)
def test_approximate_interval_is_withheld_where_it_was_not_measured(counts, reason):
    channel = bc.estimate({"a": counts})["a"]
    assert channel.withheld == reason
    assert channel.corrected is None
    assert channel.asymptotic is None


FEW = {"good": [[9, 1], [1, 9]], "bad": [[500, 500], [400, 600]]}
"""An approximate interval is withheld of the first."""


def test_nothing_is_judged_by_intervals_that_are_withheld():
    result = bc.estimate(FEW)
    assert (result["good"].asymptotic is None, result["bad"].asymptotic is None) == (True, False)
    assert result.asymptotic_verdict is None
    assert result["good"].doubt == 0.25 * (result["good"].upper - result["good"].lower)


def test_data_frame_lacks_the_ends_that_are_withheld():
    frame = bc.estimate(FEW).to_frame()
    assert frame.asymptotic_lower.isna().tolist() == frame.asymptotic_upper.isna().tolist() == [True, False]
    assert frame.asymptotic_upper.dtype == float
    assert bc.estimate({"good": FEW["good"]}).to_frame().asymptotic_lower.dtype == float


def test_equal_counts_have_equal_approximate_intervals_and_errors_that_never_came_leave_a_width():
    noiseless = np.diag([50, 50, 50])
    first, second = (bc.estimate({"a": noiseless})["a"].asymptotic for _ in range(2))
    assert first == second
    # 3.7 errors among 150 senses stay unseen with probability 0.025, and would leave at most so much
    assert 1.0 < first.lower < 1.5
    assert first.upper == pytest.approx(math.log2(3), abs=1e-6)


def test_plug_in_capacity_is_solved_once_for_all_channels_of_one_size(monkeypatch):
    # the ends of the intervals solve other channels, near the counts
    module = importlib.import_module("bestchannel.intervals.plug_in")  # the package has a function of this name
    solved, solve = [], module.solved

    def noting(stack, tol):
        solved.append(len(stack))
        return solve(stack, tol)

    monkeypatch.setattr(module, "solved", noting)
    bc.estimate({"good": GOOD, "bad": BAD, "wide": [[90, 5, 5], [5, 5, 90]]})
    assert solved[:2] == [2, 1]  # the others are simulated


def test_what_was_read_is_taken_as_it_is_unless_it_is_called_otherwise(tmp_path):
    (tmp_path / "log.csv").write_text("channel,x,y,count\na,0,0,95\na,0,1,5\na,1,0,5\na,1,1,95\n")
    read = bc.read_counts(tmp_path / "log.csv")
    assert bc.estimate(read)["a"].capacity == bc.estimate({"b": read["a"]})["b"].capacity
    with pytest.raises(bc.InputError, match="one of the declared outputs 0, 2"):
        bc.estimate(read, outputs=["0", "2"])


def test_result_has_the_keys_of_the_contract():
    content = asdict(bc.estimate({"good": GOOD, "bad": BAD}))
    assert {"delta", "inferred_outputs", "verdict", "asymptotic_verdict", "channels", "differences"} <= content.keys()
    assert {"decided", "best", "candidates", "more_senses"} <= content["verdict"].keys()
    assert content["verdict"].keys() == content["asymptotic_verdict"].keys()
    assert {"name", "senses", "capacity", "lower", "upper", "asymptotic"} <= content["channels"][0].keys()
    assert content["channels"][0]["asymptotic"].keys() == {"capacity", "lower", "upper"}
    assert content["differences"][0].keys() == {"rival", "lower", "upper"}


def test_of_equal_channels_the_forecast_says_that_nothing_decides():
    verdict = bc.estimate({"a": GOOD, "b": GOOD}).verdict
    assert (verdict.more_senses, verdict.more_senses_range) == (None, None)
    assert sentence(verdict, 2).endswith("; they look equal, and no number of senses decides between equal channels")


def test_of_nearly_equal_channels_the_forecast_has_no_upper_end():
    verdict = bc.estimate({"a": GOOD, "b": [[951, 49], [49, 951]]}).verdict
    assert verdict.more_senses_range[1] is None
    assert sentence(verdict, 2).endswith(" more senses, and no number is enough if they are equal, as they may be")


def test_a_forecast_has_one_digit_and_lies_in_its_range():
    verdict = bc.estimate({"a": GOOD, "b": [[930, 70], [70, 930]]}).verdict
    low, high = verdict.more_senses_range
    assert low <= verdict.more_senses <= high
    assert all(str(number)[1:].strip("0") == "" for number in (low, verdict.more_senses, high))


def test_a_verdict_within_epsilon_says_so():
    result = bc.estimate({"a": GOOD, "b": [[945, 55], [55, 945]]}, epsilon=0.3)
    assert sentence(result.verdict, 2, result.epsilon) == "best: a or within 0.3 bit of the best"
    assert "best: a or within 0.3 bit of the best, proved (wrong at most 5 % of the time)" in str(result)


def test_people_are_told_what_is_supposed_of_outputs_and_not_how_it_was_computed():
    shown = str(bc.estimate({"a": GOOD, "b": BAD}, inferred_outputs=True))
    assert "best: a, proved (wrong at most 5 % of the time)" in shown
    assert "Only the outputs that occur are supposed possible; declare others with --outputs" in shown
    for nothing_said in ("shuffles", "each", "conditional on the observed alphabet"):
        assert nothing_said not in shown
