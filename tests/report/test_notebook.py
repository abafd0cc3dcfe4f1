import subprocess
import sys

import numpy as np
import pytest

from bestchannel.capacity import capacity
from bestchannel.channels import Channel
from bestchannel.intervals import estimate
from bestchannel.report.notebook import FACES
from tests.report.examples import alone, decided, hostile_names, large, undecided, unsensed
from tests.report.reading import Page

COUNTS = {"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]}


@pytest.mark.parametrize(
    "value",
    [
        decided(),
        undecided(),
        alone(),
        unsensed(),
        hostile_names(),
        estimate(COUNTS),
        estimate({"<b>": [[5, 5], [5, 5]]}),
        capacity([[0.9, 0.1], [0.2, 0.8]]),
        capacity(np.eye(40)),
        Channel.from_rows(np.eye(3), name="<script>"),
        Channel.from_rows(np.full((100, 30), 1 / 30)),
        Channel.from_rows(np.full((300, 200), 1 / 200)),
    ],
)
def test_a_notebook_gets_a_small_piece_of_sound_html(value):
    source = value._repr_html_()
    found = Page(source)
    assert (found.open, found.faults) == ([], [])
    assert not found.named("script")
    assert len(source.encode()) < 100_000


def test_every_face_is_reached_by_the_method_that_notebooks_call():
    for kind, face in FACES.items():
        assert kind._repr_html_ is face


def test_importing_the_package_is_enough():
    script = "import bestchannel as bc; print(bc.Channel.from_rows([[1.0]])._repr_html_()[-6:])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "</div>\n"


def test_an_identification_shows_verdict_figure_and_table():
    found = Page(decided()._repr_html_())
    assert found.words.startswith("cable has the largest capacity.")
    assert found.named("svg")
    assert found.named("table")


def test_an_estimate_shows_its_verdict_and_intervals():
    result = estimate(COUNTS)
    words = Page(result._repr_html_()).words
    assert words.startswith("good has the largest capacity.")
    assert f"{result['bad'].lower:.4f} … {result['bad'].upper:.4f}" in words


def test_an_open_estimate_says_so():
    words = Page(estimate({"a": [[9, 1], [1, 9]], "b": [[8, 2], [2, 8]]})._repr_html_()).words
    assert words.startswith("Undecided between a and b; about ")


def test_a_capacity_shows_its_bracket():
    answer = capacity([[0.9, 0.1], [0.2, 0.8]])
    assert f"{answer.lower:.12g} ≤ C ≤ {answer.upper:.12g}" in answer._repr_html_()


def test_many_large_channels_are_not_estimated_for_a_glance():
    assert "the report has the rest" in large(24, 16)._repr_html_()
