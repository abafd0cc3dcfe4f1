"""`bestchannel reproduce` from outside."""

import csv
import json
from pathlib import Path

import pytest

from bestchannel.paper import fig1_rows, fig2_rows, stated_fig1
from tests.journeys.command import bestchannel, script


@pytest.mark.parametrize(("figure", "rows"), [("fig1", fig1_rows()), ("fig2", fig2_rows())])
def test_published_figure_as_json_holds_the_printed_points_alone_on_stdout(figure, rows):
    answer = bestchannel("reproduce", figure, "--json")
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert json.loads(answer.stdout) == {"figure": figure, "variant": "published", "unit": "nats", "rows": rows}


def test_stated_figure_has_the_points_of_the_published_one_and_follows_the_seed():
    answer = bestchannel("reproduce", "fig1", "--variant", "stated", "--seeds", 1, "--seed", 4, "--json")
    result = json.loads(answer.stdout)
    keys = ("k", "gap", "confidence")
    assert (result["figure"], result["variant"], result["unit"], result["seed"]) == ("fig1", "stated", "nats", 4)
    assert [[row[key] for key in keys] for row in result["rows"]] == [[row[key] for key in keys] for row in fig1_rows()]
    assert all(isinstance(row["senses"], int) for row in result["rows"])
    assert result["rows"] == stated_fig1(4, seeds=1)


def test_output_folder_gets_the_numbers_and_the_pictures(tmp_path):
    folder = tmp_path / "new" / "figures"
    answer = bestchannel("reproduce", "fig2", "-o", folder)
    assert answer.returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"fig2-published.{e}" for e in ("csv", "json", "png", "svg")
    ]
    rows = list(csv.DictReader((folder / "fig2-published.csv").open()))
    assert [int(row["senses"]) for row in rows] == [row["senses"] for row in fig2_rows()]
    assert json.loads((folder / "fig2-published.json").read_text())["rows"] == fig2_rows()


def test_summary_shows_the_printed_digits_within_80_columns():
    answer = bestchannel("reproduce", "fig2", "--variant", "published")
    # [EBWGW24, Fig. 2]: NaiveChanSel at k = 1024, ε = δ = 0.1; the legend calls it MedianChanEl.
    assert "84,088,565,760" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fig3",), 2, "fig3"),
        (("fig1", "--variant", "printed"), 2, "printed"),
        (("fig1", "--seeds", 0), 2, "--seeds"),
        (("fig1", "-o", "/dev/null/figures"), 1, "/dev/null/figures: the folder cannot be made (Not a directory)"),
    ],
)
def test_refusals_say_what_is_wrong_and_leave_stdout_empty(arguments, code, message):
    answer = bestchannel("reproduce", *arguments)
    assert (answer.returncode, answer.stdout) == (code, "")
    assert message in answer.stderr


def test_example_of_section_6_prints_its_table(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "04_z_against_bsc.py"
    answer = script(example, tmp_path)
    assert len(answer.stdout.splitlines()) == 11
