"""What the order of senses says is said wherever senses are judged, and nothing is said where there is no order."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import bestchannel as bc
from bestchannel.evidence.drift_and_memory import shared_errors
from bestchannel.intervals.order_checks import ALPHA, SUPPOSED
from tests.journeys.command import bestchannel, result_of
from tests.statistical.order_study import changing

DRIFTS, ALIKE = changing(2, 4000, lambda t: 0.05 + 0.3 * t), changing(2, 4000, lambda t: 0.3 + 0 * t)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "links.csv"
    links = {"drifting": DRIFTS(np.random.default_rng(1)), "steady": ALIKE(np.random.default_rng(2))}
    rows = [f"{name},{x},{y}\n" for name, (sent, got, _) in links.items() for x, y in zip(sent, got, strict=True)]
    path.write_text("channel,x,y\n" + "".join(rows))
    return path


def test_trials_are_checked_and_counts_are_not(log):
    checks = bc.estimate(bc.read_trials(log)).checks
    assert [check.name for check in checks.channels] == ["drifting", "steady"]
    assert checks.log10_threshold == math.log10(6 / ALPHA)  # two channels, three e-values each
    drifting, steady = checks.channels
    assert drifting.log10_drift > checks.log10_threshold > max(steady.log10_drift, steady.log10_memory)
    assert bc.estimate(bc.read_counts(log, order=False)).checks is None
    assert bc.estimate(bc.read_trials(log), checks=False).checks is None


def test_counts_that_keep_the_order_are_checked_alike(log):
    kept, trials = (bc.estimate(data) for data in (bc.read_counts(log), bc.read_trials(log)))
    assert kept == trials
    assert kept.channels == bc.estimate(bc.read_counts(log, order=False)).channels


@pytest.mark.parametrize("given", ["two", "pair", "columns", "frame"])
def test_senses_in_arrays_are_checked_as_those_of_a_file(given):
    sent, got, _ = DRIFTS(np.random.default_rng(1))
    data = {
        "pair": {"near": (sent, got)},
        "columns": {"x": sent, "y": got},
        "frame": pd.DataFrame({"x": sent, "y": got}),
    }
    (check,) = (bc.estimate(sent, got) if given == "two" else bc.estimate(data[given])).checks.channels
    assert check.log10_drift > math.log10(3 / ALPHA)


def test_a_warning_is_part_of_the_text(log):
    text = str(bc.estimate(bc.read_trials(log)))
    assert 'warning: channel "drifting" drifts' in text
    assert f"warning: {SUPPOSED}" in text
    assert "warning" not in str(bc.estimate(bc.read_counts(log, order=False)))


def test_the_command_line_warns_beside_the_verdict_and_in_json(log):
    shown = bestchannel("estimate", log).stdout.splitlines()
    verdict = next(i for i, line in enumerate(shown) if line.startswith(("best", "undecided")))
    assert any(line.startswith('warning: channel "drifting" drifts') for line in shown[verdict + 1 :])
    checks = result_of("estimate", log)[1]["checks"]
    assert [check["name"] for check in checks["channels"]] == ["drifting", "steady"]
    assert checks["warnings"][-1] == SUPPOSED
    assert result_of("estimate", log, "--no-checks")[1]["checks"] is None
    assert "warning" not in bestchannel("estimate", log, "--no-checks").stdout


def test_counts_on_the_command_line_are_not_checked(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("channel,x,y,count\na,0,0,90\na,0,1,10\na,1,1,100\n")
    assert result_of("estimate", path)[1]["checks"] is None


def test_an_identification_on_a_recording_warns_and_its_report_too(log, tmp_path):
    run = bestchannel("identify", "--replay", log, "--epsilon", "0.2", "--json")
    assert 'warning: channel "drifting" drifts' in run.stderr
    document = json.loads(run.stdout)
    assert document["checks"]["warnings"][-1] == SUPPOSED
    (tmp_path / "result.json").write_text(run.stdout)
    kept = tmp_path / "run.db"
    for _ in range(2):  # begun, and gone on with, the second time without checks
        result_of(
            "identify", "--replay", log, "--epsilon", "0.2", "--run", kept, *(["--no-checks"] if kept.exists() else [])
        )
    for source in (tmp_path / "result.json", kept):
        result_of("report", source, "-o", tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert "channel &quot;drifting&quot; drifts" in page
    assert "checks" not in result_of("identify", "--replay", log, "--epsilon", "0.2", "--no-checks")[1]


def test_rows_sorted_by_output_are_told_from_rows_in_their_order(tmp_path):
    path = tmp_path / "sorted.csv"
    path.write_text("x,y\n" + "0,0\n" * 90 + "0,1\n" * 10 + "1,1\n" * 80 + "1,0\n" * 20)
    assert any("sorted" in text for text in result_of("estimate", path)[1]["checks"]["warnings"])


def test_binned_outputs_are_checked_in_the_order_of_the_senses_that_count():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 4000)
    drifting = bc.quantise({"link": (x, 2 * x - 1 + rng.normal(0, 0.8, 4000) + np.linspace(0, 1, 4000))}, bins=8)
    steady = bc.quantise({"link": (x, 2 * x - 1 + rng.normal(0, 0.8, 4000))}, bins=8)
    assert bc.estimate(drifting).checks.warnings
    assert not bc.estimate(steady).checks.warnings


def logs_of(rng, rho, n=600):
    """Two channels that were sent the same; with the share rho, both err by the same luck."""
    x, luck = rng.integers(0, 3, n), rng.random((2, n))
    luck[1] = np.where(rng.random(n) < rho, luck[0], luck[1])
    return {name: (x, (x + (luck[j] < 0.15)) % 3) for j, name in enumerate("ab")}


def test_logs_of_trials_that_two_channels_answered_are_not_taken_for_independent_ones_in_silence():
    logs = logs_of(np.random.default_rng(1), 0.5)
    (warning,) = bc.estimate(logs).checks.warnings
    assert warning.startswith('channels "a" and "b" had the same inputs in the same order, and their answers depend')
    assert any("design joint" in words for words in bc.estimate({"a": logs["a"], "copy": logs["a"]}).checks.warnings)
    assert not bc.estimate(logs_of(np.random.default_rng(1), 0.0)).checks.warnings
    assert not bc.estimate(logs, design="adaptive").checks.warnings  # which supposes no independence
    other = {"a": logs["a"], "b": tuple(np.roll(part, 1) for part in logs["b"])}
    assert not bc.estimate(other).checks.warnings


def test_e_values_of_independent_answers_to_the_same_inputs_are_at_most_1_on_average():
    rng = np.random.default_rng(3)
    drawn = (logs_of(rng, 0.0, n=80) for _ in range(300))
    e = np.exp([shared_errors(logs["a"][0], logs["a"][1], logs["b"][1]) for logs in drawn])
    assert e.mean() + 5.0 * e.std() / math.sqrt(len(e)) < 1.0


def test_the_order_of_joint_trials_is_looked_at_unless_they_come_in_groups():
    sent, got, _ = DRIFTS(np.random.default_rng(1))
    steady = np.where(np.random.default_rng(2).random(len(sent)) < 0.2, 1 - sent, sent)
    frame = pd.DataFrame({"x": sent, "y_a": got, "y_b": steady})
    drift, supposed = bc.estimate(frame, design="joint").checks.warnings
    assert drift.startswith('channel "a" drifts')
    assert supposed == SUPPOSED
    grouped = frame.assign(day=np.arange(len(sent)) // 20)
    assert bc.estimate(grouped, design="joint", groups="day").checks is None
