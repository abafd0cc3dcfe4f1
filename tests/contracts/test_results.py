"""What every result of the library does: it is pickled, copied, sent between processes, printed and tabulated."""

import copy
import dataclasses
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import bestchannel as bc
from bestchannel.display import same
from tests.report.examples import by_the_paper, decided, hostile_names, undecided

PAIR = {"cable": [[0.9, 0.1], [0.1, 0.9]], "radio": [[0.8, 0.2], [0.2, 0.8]]}
COUNTS = {"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]}

RESULTS = {
    "channel": bc.Channel([[0.9, 0.1], [0.2, 0.8]], name="link", inputs=["a", "b"]),
    "capacity": bc.capacity([[0.9, 0.1], [0.2, 0.8]]),
    "capacities": bc.capacities(np.stack([np.eye(2), np.full((2, 2), 0.5)])),
    "estimate": bc.estimate(COUNTS),
    "lower bound": bc.lower_bound(PAIR, 0.05),
    "no lower bound": bc.lower_bound([PAIR["cable"], PAIR["cable"]], 0.05),
    "identification": decided(),
    "undecided": undecided(),
    "identification of the paper": by_the_paper(),
    "request": decided().audit.steps[0].request,
    "observation": bc.Observation(1, decided().audit.steps[0].counts),
}
every_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS.keys())
tables = pytest.mark.parametrize("kind", ["capacities", "estimate", "lower bound", "identification", "undecided"])

COPIES = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES.keys())
@every_result
def test_a_copy_equals_the_result_to_its_last_field(result, copied):
    again = copied(result)
    assert again == result
    for field in dataclasses.fields(result):  # also those that equality leaves out, as the record of an identification
        assert same(getattr(again, field.name), getattr(result, field.name)), field.name


def test_every_result_comes_back_from_another_process():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(copy.deepcopy, RESULTS).result() == RESULTS


@every_result
def test_a_result_differs_from_what_it_is_not(result):
    assert result != "something else"
    assert result != RESULTS["capacity" if result is not RESULTS["capacity"] else "channel"]


def test_results_with_other_numbers_differ():
    assert bc.capacity(PAIR["cable"]) != bc.capacity(PAIR["radio"])
    assert bc.lower_bound(PAIR, 0.05) != bc.lower_bound(PAIR, 0.01)
    assert bc.Observation(1, {0: np.array([[1]])}) != bc.Observation(1, {0: np.array([[2]])})


@pytest.mark.parametrize("counts", [None, 3, {}, [[1]], {0: None}, {0: {}}, {0: 3}, {0: [[1], [1, 2]]}], ids=str)
def test_results_with_content_of_another_kind_differ(counts):
    array, other = bc.Observation(1, {0: np.array([[1, 0], [0, 2]])}), bc.Observation(1, counts)
    assert array != other
    assert other != array


@every_result
def test_a_result_as_a_dictionary_has_its_fields(result):
    assert dataclasses.asdict(result).keys() == {field.name for field in dataclasses.fields(result)}


def test_a_copied_channel_and_a_copied_request_stay_read_only():
    for copied in COPIES.values():
        with pytest.raises(ValueError, match="read-only"):
            copied(RESULTS["channel"]).W[0, 0] = 1.0
        with pytest.raises(TypeError):
            copied(RESULTS["request"]).senses[0] = (1, 1)


@every_result
def test_text_is_readable_lines_and_no_array(result):
    text = str(result)
    assert text
    assert "array(" not in text
    assert "object at" not in text
    assert max(map(len, text.splitlines())) < 250


def test_text_of_hostile_names_has_no_control_character():
    assert all(line.isprintable() for line in str(hostile_names()).split("\n"))


def test_text_says_what_matters():
    assert "wider than asked" in str(bc.capacity(PAIR["cable"], tol=1e-300))
    assert "2 wider than asked" in str(bc.capacities(list(PAIR.values()), tol=1e-300))
    assert str(RESULTS["undecided"]).startswith("undecided between left, right\nafter ")
    assert "best: good, proved (wrong at most 5 % of the time)" in str(RESULTS["estimate"]).splitlines()
    assert str(bc.Channel(np.full((100, 30), 1 / 30))) == "Channel(100 inputs, 30 outputs)"


def test_capacity_is_a_number_with_its_bracket_beside_it():
    C = RESULTS["capacity"]
    assert float(C) == C.value == (C.lower + C.upper) / 2
    assert repr(C) == f"Capacity({C.value!r}, lower={C.lower!r}, upper={C.upper!r}, converged=True)"
    assert f"{C.lower!r} and {C.upper!r}" in str(C)


@tables
def test_table_inside_is_a_data_frame(kind):
    frame = RESULTS[kind].to_frame()
    assert len(frame) > 1
    assert all(frame.columns)


def test_frames_hold_the_numbers_of_their_results():
    estimate, bound, identified = (RESULTS[kind] for kind in ("estimate", "lower bound", "identification"))
    assert estimate.to_frame().loc["bad", "upper"] == estimate["bad"].upper
    assert bound.to_frame()["gap"].to_dict() == bound.gaps
    assert bound.to_frame()["share"].sum() == pytest.approx(1.0, abs=1e-9)
    assert identified.to_frame().loc[len(identified.audit.steps), "senses"] == identified.senses
    stack = bc.capacities(np.full((2, 3, 2, 2), 0.5))
    assert stack.to_frame().loc[(1, 2), "upper"] == stack.upper[1, 2]
    single = bc.capacities([[1.0, 0.0], [0.0, 1.0]])
    assert single.to_frame()["upper"].tolist() == [single.upper]


def test_without_pandas_one_sentence_names_the_extra():
    script = "import sys; sys.modules['pandas'] = None\nimport bestchannel as bc\nbc.capacities([[[1.0]]]).to_frame()"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stderr.endswith(
        'MissingExtraError: a data frame needs an optional package: pip install "bestchannel[frames]"\n'
    )


class OnDevice:
    """Stands for an array of CuPy: its numbers are elsewhere, and `get` brings them."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self):
        raise BufferError("not in the memory of the host")

    def get(self):
        return self.values


def on_device(answer):
    return bc.Capacities(*(OnDevice(getattr(answer, field.name)) for field in dataclasses.fields(answer)))


def test_capacities_on_a_device_are_shown_and_compared_as_those_on_the_host():
    here = bc.capacities([[[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.1, 0.9]]])
    there = on_device(here)
    assert str(there) == str(here)
    assert there._repr_html_() == here._repr_html_()
    assert there.to_frame().equals(here.to_frame())
    assert there == on_device(here)
    assert there != on_device(bc.capacities([[[1.0, 0.0], [0.0, 1.0]], [[0.8, 0.2], [0.1, 0.9]]]))
