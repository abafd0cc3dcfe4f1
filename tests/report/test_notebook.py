import subprocess
import sys

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.capacity import capacities, capacity
from bestchannel.channels import Channel
from bestchannel.display import Shown
from bestchannel.intervals import estimate
from bestchannel.lower_bound.bound import lower_bound
from bestchannel.report import CARDS, cards
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
        capacities(np.eye(2)),
        capacities(np.full((3, 50, 2, 2), 0.5)),
        lower_bound({"<b>": [[0.9, 0.1], [0.1, 0.9]], "c": [[0.8, 0.2], [0.2, 0.8]]}, 0.05),
        lower_bound([[[0.9, 0.1], [0.1, 0.9]]] * 2, 0.05),
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


@pytest.mark.parametrize("name", CARDS)
def test_every_card_is_there_and_reached_by_the_method_that_notebooks_call(name):
    kind = getattr(bc, name)
    assert callable(getattr(cards, CARDS[name]))
    assert "_repr_html_" in dir(kind)
    assert "_repr_html_" not in vars(kind), "a class was patched from outside"


def test_what_nothing_is_registered_for_is_left_to_its_text():
    assert Shown()._repr_html_() is None


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
    assert words.startswith("Undecided between a and b. Some ")


def test_a_capacity_shows_its_bracket():
    answer = capacity([[0.9, 0.1], [0.2, 0.8]])
    assert f"{answer.lower:.12g} ≤ C ≤ {answer.upper:.12g}" in answer._repr_html_()


def test_many_large_channels_are_not_estimated_for_a_glance():
    assert "the report has the rest" in large(24, 16)._repr_html_()


def test_capacities_show_their_range_and_first_brackets():
    answer = capacities(np.full((3, 50, 2, 2), 0.5))
    words = Page(answer._repr_html_()).words
    assert str(answer) in words
    assert "0, 15" in words
    assert "and 134 more channels" in words


def test_a_lower_bound_shows_what_its_text_says():
    bound = lower_bound({"cable": [[0.9, 0.1], [0.1, 0.9]], "radio": [[0.8, 0.2], [0.2, 0.8]]}, 0.05)
    words = Page(bound._repr_html_()).words
    assert words.startswith("best: cable")
    assert all(line in words for line in str(bound).splitlines())
