"""Every example runs as a user would run it, and says what it is there to say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.command import script

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SAYS = {
    "01_capacity": "C(link) lies between",
    "02_many_channels": "all certified: True",
    "03_identify": "adaptive: cable after",
    "04_z_against_bsc": "Theorem 4, senses per nat",
    "05_estimate": "proved: undecided",
    "06_durable_run": "the same as without a crash: True",
    "07_own_sensor": "new after",
    "08_lower_bound": "every policy needs at least",
    "09_near_tie": "best: None after",
    "10_verify": "another count: ",
    "11_report": "report.html has",
    "12_same_trials": "joint: rbf_svm is ahead of",
}


def test_every_example_is_numbered_and_expected():
    assert [example.stem for example in EXAMPLES] == list(SAYS)
    assert [int(example.stem[:2]) for example in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_says_what_it_should(example, tmp_path):
    assert len(example.read_text().splitlines()) < 40
    run = script(example, tmp_path)
    assert run.returncode == 0, run.stderr
    assert SAYS[example.stem] in run.stdout


def test_example_says_the_same_as_a_program_of_its_own(tmp_path):
    process = subprocess.run([sys.executable, EXAMPLES[0]], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout == script(EXAMPLES[0], tmp_path).stdout
