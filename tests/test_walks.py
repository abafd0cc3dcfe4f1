"""How far data travels: the walks of ARCHITECTURE.md are those that the code takes."""

from __future__ import annotations

import random
import re
import sys
import threading
from pathlib import Path

import pytest

import bestchannel as bc
from bestchannel.arrays import number_in
from tests.walks import WALKS, modules_visited, note, walk

MOST_MODULES = 18


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
    walk = modules_visited(lambda: bc.estimate(bc.read_counts(path, order=False)))
    ordered = modules_visited(lambda: bc.estimate(bc.read_counts(path)))
    assert set(ordered) - set(walk) <= {"intervals.order_checks", "evidence.drift_and_memory"}
    assert len(walk) <= MOST_MODULES, walk
    assert walk[0] == "counts.data_files"
    assert {"arrays", "counts.text_log", "intervals.estimate", "capacity.stack"} <= set(walk)


def written_walks():
    """The walks of ARCHITECTURE.md: the modules of each, in order, by heading."""
    text = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = re.search(r"^## Six walks$(.*?)^## ", text, re.MULTILINE | re.DOTALL).group(1)
    parts = re.split(r"^### (.*)$", section, flags=re.MULTILINE)[1:]
    return {
        head: re.findall(r"`([a-z_0-9.]+)`", body.strip().rpartition("\n\n")[2])
        for head, body in zip(parts[::2], parts[1::2], strict=True)
    }


def test_architecture_describes_six_walks():
    assert list(written_walks()) == list(WALKS)


@pytest.mark.parametrize("head", WALKS)
def test_a_walk_visits_the_modules_that_the_architecture_names_in_their_order(tmp_path, head):
    assert walk(head, tmp_path) == written_walks()[head]


MOST = dict(zip(WALKS, (3, 16, 15, 30, 42, 20), strict=True))
"""How many modules data may go through, by heading."""


@pytest.mark.parametrize("head", WALKS)
def test_data_goes_through_few_modules(head):
    assert len(written_walks()[head]) <= MOST[head]


def test_tracer_follows_threads_that_were_begun_before():
    def work():
        begin.wait()
        number_in(0.5, "half", low=0.0, high=1.0)

    def call():
        begin.set()
        thread.join()

    begin = threading.Event()
    threading.setprofile(note)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.setprofile(None)
    assert modules_visited(call) == ["arrays"]


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
        sys.modules.pop("bestchannel.process")
        import bestchannel.process  # noqa: F401

        random.Random(1).random()

    assert modules_visited(call) == []


def test_tracer_restores_the_profiler_and_lets_errors_through():
    def note(*event):
        pass

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with pytest.raises(bc.InputError):
            modules_visited(lambda: number_in(2.0, "half", low=0.0, high=1.0))
        assert sys.getprofile() is note
    finally:
        sys.setprofile(before)


def test_tracer_does_not_see_what_garbage_collection_closes():
    for _ in range(20):
        policy = bc.Adaptive([(2, 2)] * 2, delta=0.1)
        policy.itself = policy
    del policy
    assert modules_visited(lambda: [[] for _ in range(5000)]) == []
