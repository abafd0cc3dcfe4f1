"""The numbers that a study reports, against others computed differently."""

import csv
import io
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

from bestchannel import InputError
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import SimulatedRun, Study
from bestchannel.study.spec import PolicyChoice, parse_spec
from bestchannel.study.statistics import (
    as_csv,
    as_parquet,
    error_upper,
    has_the_bound,
    run_rows,
    summaries,
    write_tables,
)

CONTENT = {
    "name": "made up",
    "seed": 1,
    "runs": 40,
    "deltas": [0.01],
    "lower_bound": 0.01,
    "policies": [{"policy": "adaptive"}],
    "instances": [{"family": "random-binary", "k": 3, "gap": 0.3, "sets": 2}],
}
TIMES = (50.0, 200.0)
SENSES = [100 * (number % 2 + 1) + number for number in range(40)]


@pytest.fixture
def study():
    return Study.of(parse_spec(CONTENT, folder=None))


@pytest.fixture
def journal(study, tmp_path):
    """Runs that were never made, so that every number is known."""
    with opened(tmp_path / "j.db", study.spec) as journal:
        best = [study.instance(0, number).best for number in range(40)]
        journal.add(
            SimulatedRun(0, n, (best[n] + (n == 7)) % 3, True, n != 7, n == 7, SENSES[n], n % 4, 0.0) for n in range(40)
        )
        for j, time in enumerate(TIMES):
            journal.add_time(0, j, time, 1.01 * time)
        yield journal


def test_limit_of_clopper_and_pearson_leaves_so_few_errors_a_probability_of_5_per_cent():
    for wrong, runs in [(0, 1), (0, 200), (3, 200), (199, 200), (12, 10_000)]:
        assert binom.cdf(wrong, runs, error_upper(wrong, runs)) == pytest.approx(0.05, rel=1e-9)
    assert error_upper(5, 5) == 1.0


def test_summary_counts_and_averages_the_runs_of_a_condition(study, journal):
    (condition,) = summaries(study, journal)
    assert (condition.study, condition.instance, condition.policy, condition.delta) == (
        "made up",
        "random-binary",
        "adaptive",
        0.01,
    )
    assert (condition.runs, condition.wrong, condition.undecided, condition.most) == (40, 1, 0, max(SENSES))
    assert condition.mean_senses == pytest.approx(sum(SENSES) / 40)
    assert condition.standard_error == pytest.approx(np.std(SENSES, ddof=1) / math.sqrt(40))
    ordered = sorted(SENSES)
    assert (condition.q05, condition.median, condition.q95) == (ordered[1], ordered[19], ordered[37])
    assert condition.mean_rounds == pytest.approx(1.5)


def test_ratio_divides_each_run_by_the_bound_of_its_own_set(study, journal):
    (condition,) = summaries(study, journal)
    nats = 0.98 * math.log(99)  # kl(0.01, 0.99)
    ratios = [SENSES[n] / (TIMES[n % 2] * nats) for n in range(40)]
    assert condition.ratio == pytest.approx(np.mean(ratios))
    assert condition.ratio_standard_error == pytest.approx(np.std(ratios, ddof=1) / math.sqrt(40))


def test_tail_is_that_of_the_worst_set(study, journal):
    (condition,) = summaries(study, journal)
    tails = [sorted(SENSES[j::2])[18] / sorted(SENSES[j::2])[9] for j in (0, 1)]
    assert condition.tail == pytest.approx(max(tails))


def test_undecided_runs_are_not_wrong_though_the_best_may_be_out_and_leave_no_ratio(study, tmp_path):
    with opened(tmp_path / "undecided.db", study.spec) as journal:
        journal.add(
            [
                SimulatedRun(0, 0, study.instance(0, 0).best, True, True, False, 10, 1, 0.0),
                SimulatedRun(0, 1, None, False, False, True, 99, 1, 0.0),
            ]
        )
        journal.add_time(0, 0, 1.0, 1.0)
        journal.add_time(0, 1, 1.0, 1.0)
        (condition,) = summaries(study, journal)
    assert (condition.wrong, condition.best_out, condition.undecided) == (0, 1, 1)
    assert (condition.ratio, condition.tail) == (None, None)


def test_tables_as_csv_and_parquet_hold_the_same(study, journal, tmp_path):
    rows = run_rows(study, journal)
    read = list(csv.DictReader(io.StringIO(as_csv(rows).decode())))
    assert [int(row["senses"]) for row in read] == SENSES
    assert [row["correct"] for row in read].count("False") == 1
    assert "seconds" not in rows[0]
    assert pq.read_table(io.BytesIO(as_parquet(rows))).to_pylist() == rows
    names = {path.name for path in write_tables(tmp_path, study, journal)}
    assert names == {"runs.csv", "runs.parquet", "summary.csv", "summary.parquet"}


def test_best_channel_is_called_by_its_position_in_a_set_and_by_its_name_in_a_file(study, journal, tmp_path):
    assert run_rows(study, journal)[0]["best"] == str(study.instance(0, 0).best)
    (tmp_path / "links.json").write_text('{"channels": {"a": [[1, 0], [1, 0]], "b": [[1, 0], [0, 1]]}}')
    named = Study.of(parse_spec(CONTENT | {"instances": [{"channels": "links.json"}]}, folder=tmp_path))
    with opened(tmp_path / "named.db", named.spec) as journal:
        journal.add(
            [
                SimulatedRun(0, 0, 1, True, True, False, 10, 1, 0.0),
                SimulatedRun(0, 1, None, False, False, False, 10, 1, 0.0),
            ]
        )
        assert [row["best"] for row in run_rows(named, journal)] == ["b", None]


def test_counts_beyond_64_bits_are_exact_in_csv_and_doubles_in_parquet():
    rows = [{"senses": 2**70}, {"senses": 5}]
    assert as_csv(rows) == b"senses\n1180591620717411303424\n5\n"
    assert pq.read_table(io.BytesIO(as_parquet(rows))).to_pylist() == [{"senses": 2.0**70}, {"senses": 5.0}]


def test_table_without_rows_is_refused():
    with pytest.raises(InputError, match="a table must have rows; this one has none"):
        as_csv([])


@pytest.mark.parametrize(
    ("policy", "options", "bounded"),
    [
        ("joint", {}, False),  # its senses are shots, of all channels
        ("adaptive", {"question": {"kind": "above", "level": 0.4}}, True),
        ("adaptive", {"question": {"kind": "above", "level": 0.4, "tolerance": 0.1}}, False),  # either may be said
        ("adaptive", {"question": {"kind": "within", "width": 0.1}}, False),  # T* is a yardstick there
        ("adaptive", {}, True),
        ("adaptive", {"epsilon": 0.1}, False),
        ("median", {"epsilon": 0.1}, False),
        ("adaptive", {"input_distribution": [0.5, 0.5]}, False),
    ],
)
def test_only_senses_that_answer_by_capacity_are_divided_by_a_bound(policy, options, bounded):
    assert has_the_bound(PolicyChoice("a", policy, options), options.get("question")) == bounded
