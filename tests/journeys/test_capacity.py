"""`bestchannel capacity` from outside."""

import json
import os

import numpy as np
import pytest

from tests.journeys.command import bestchannel, result_of


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.json"
    channels = {"good": [[0.95, 0.05], [0.05, 0.95]], "[bold]odd[/]": [[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]]}
    path.write_text(json.dumps({"channels": channels}))
    return path


def test_json_has_the_keys_of_the_design_and_brackets_the_closed_form(links):
    code, result = result_of("capacity", links)
    assert code == 0
    assert result["unit"] == "bits"
    good = result["channels"][0]
    assert {"name", "lower", "upper", "input", "output"} <= good.keys()
    truth = 1 + 0.05 * np.log2(0.05) + 0.95 * np.log2(0.95)  # BSC(0.05) [CT06, 7.1.4]
    assert good["lower"] - 1e-15 <= truth <= good["upper"] + 1e-15
    assert good["upper"] - good["lower"] <= 1e-9


def test_table_names_every_channel_to_the_letter_within_80_columns(links):
    run = bestchannel("capacity", links)
    assert run.returncode == 0
    assert "good" in run.stdout
    assert "[bold]odd[/]" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_rigorous_mode_says_so(links):
    code, result = result_of("capacity", links, "--rigorous")
    assert code == 0
    assert all(channel["rigorous"] for channel in result["channels"])


def test_rounded_rows_are_refused_until_normalize_and_then_reported(tmp_path):
    path = tmp_path / "rounded.csv"
    path.write_text("0.333,0.333,0.333\n0.1,0.2,0.7\n")
    refused = bestchannel("capacity", path)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "must sum to 1 within 1e-09; it sums to 0.999" in refused.stderr
    accepted = bestchannel("capacity", path, "--normalize")
    assert accepted.returncode == 0
    assert "normalized 1 of 1 channel;" in accepted.stderr


def test_long_name_is_whole_in_a_pipe_and_folds_where_columns_says_so(tmp_path):
    name = "a link with a name that is far longer than eighty columns can hold, " + "as names are " * 4 + "here"
    path = tmp_path / "links.json"
    path.write_text(json.dumps({"channels": {name: [[0.9, 0.1], [0.1, 0.9]], "b": [[1, 0], [0, 1]]}}))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    assert name in bestchannel("capacity", path, env=environment).stdout
    narrow = bestchannel("capacity", path, env=environment | {"COLUMNS": "70"}).stdout
    assert name not in narrow
    assert max(map(len, narrow.splitlines())) <= 70


def test_counts_are_pointed_to_estimate(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("90,10\n20,80\n")
    run = bestchannel("capacity", path)
    assert run.returncode == 1
    assert "use `estimate` for counts" in run.stderr


def test_tolerance_that_no_float_meets_is_not_certified(links):
    run = bestchannel("capacity", links, "--tol", "1e-300")
    assert run.returncode == 3
    assert "wider than asked" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["no-such.json"], 1), (["--no-such-option"], 2), ([], 2), (["links.json", "--tol", "-1"], 1)],
)
def test_exit_codes_of_bad_calls(arguments, code, links):
    run = bestchannel("capacity", *arguments, cwd=links.parent)
    assert run.returncode == code
    assert run.stdout == ""
    assert "Traceback" not in run.stderr


def test_help_teaches_with_an_example():
    run = bestchannel("capacity", "--help")
    assert run.returncode == 0
    assert "Example: bestchannel capacity" in run.stdout
