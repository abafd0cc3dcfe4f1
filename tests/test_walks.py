"""How far data travels: the modules between a file of counts and its estimate."""

from __future__ import annotations

import random
import sys

import pytest

import bestchannel as bc
from bestchannel.arrays import number_in
from tests.walks import modules_visited

MOST_MODULES = 15


def counts_of(n):
    """Counts of two channels with n inputs and n outputs, as lines."""
    cells = [(x, y, 90 + x if x == y else 5 + y) for x in range(n) for y in range(n)]
    return "channel,x,y,count\n" + "".join(f"{link},{x},{y},{c}\n" for link in "ab" for x, y, c in cells)


def log_of(n_channels):
    """Trials of binary channels, one line per sense."""
    draw = random.Random(1)
    rows = [(draw.randrange(n_channels), draw.randrange(2), draw.randrange(2)) for _ in range(600)]
    return "channel,x,y\n" + "".join(f"link{j},{x},{y}\n" for j, x, y in rows)


FILES = {"2x2": counts_of(2), "3x3": counts_of(3), "trials": log_of(3)}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_from_a_csv_file_to_an_estimate_data_goes_through_few_modules(tmp_path, text):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    walk = modules_visited(lambda: bc.estimate(bc.read_counts(path)))
    assert len(walk) <= MOST_MODULES, walk
    assert walk[0] == "counts.data_files"
    assert {"arrays", "counts.text_log", "intervals.estimate", "capacity.solve"} <= set(walk)


def test_tracer_lists_modules_in_the_order_of_the_first_visit():
    def call():
        number_in(0.5, "half", low=0.0, high=1.0)
        bc.mutual_information([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]])
        number_in(0.5, "half", low=0.0, high=1.0)

    walk = modules_visited(call)
    assert walk[:2] == ["arrays", "information"]
    assert len(walk) == len(set(walk))


def test_tracer_leaves_out_what_is_imported_and_what_is_not_of_the_package():
    def call():
        sys.modules.pop("bestchannel.progress")
        import bestchannel.progress  # noqa: F401

        random.Random(1).random()

    assert modules_visited(call) == []


def test_tracer_restores_the_profiler_and_lets_errors_through():
    def note(*event):
        pass

    values = iter([0.5, 2.0])  # the second call is the one that is followed
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with pytest.raises(bc.InputError):
            modules_visited(lambda: number_in(next(values), "half", low=0.0, high=1.0))
        assert sys.getprofile() is note
    finally:
        sys.setprofile(before)
