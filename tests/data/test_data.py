"""The real data sets that ship with the project."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from bestchannel import capacity
from bestchannel.counts import read_channels

DATA = Path(__file__).parents[2] / "data"
DEVICES = sorted((DATA / "ibm_readout").glob("*.json"))


def readout(device: str):
    return read_channels(DATA / "ibm_readout" / f"{device}.json")


def ranking(device: str) -> list[tuple[str, float]]:
    bits = {name: capacity(channel).lower for name, channel in readout(device).items()}
    return sorted(bits.items(), key=lambda item: -item[1])


def table(readme: str) -> list[list[str]]:
    lines = (DATA / readme / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return rows[2:]


def confusion() -> dict[str, np.ndarray]:
    counts: dict[str, np.ndarray] = {}
    with (DATA / "digits" / "confusion.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            matrix = counts.setdefault(row["channel"], np.full((10, 10), -1))
            assert matrix[int(row["x"]), int(row["y"])] == -1, "a cell must occur once"
            matrix[int(row["x"]), int(row["y"])] = int(row["count"])
    return counts


def frequencies(counts: np.ndarray) -> np.ndarray:
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("path", DEVICES, ids=lambda path: path.stem)
def test_every_qubit_is_a_binary_channel(path):
    channels = read_channels(path)
    assert list(channels) == [f"q{i}" for i in range(len(channels))]
    W = np.array([channel.W for channel in channels.values()])
    assert W.shape == (len(channels), 2, 2)
    assert W.min() >= 0
    # 1 - p is rounded once, and so is its sum with p.
    np.testing.assert_allclose(W.sum(axis=2), 1, rtol=0, atol=2 * np.finfo(float).eps)


def test_table_of_devices_names_every_file():
    assert [(row[0], int(row[2])) for row in table("ibm_readout")] == [
        (path.stem, len(read_channels(path))) for path in DEVICES
    ]


@pytest.mark.parametrize(
    ("device", "best", "gap"),
    # The gaps as in the table of data/ibm_readout, to half a unit of its last digit and the width of two brackets.
    [("rochester", "q20", 0.08986), ("torino", "q30", 0.00017), ("kyiv", "q103", 0.00208), ("vigo", "q2", 0.04285)],
)
def test_best_qubit_leads_by_the_gap_of_the_table(device, best, gap):
    (first, most), (_, next_most), *_ = ranking(device)
    assert first == best
    assert most - next_most == pytest.approx(gap, abs=0.5e-5 + 2e-9)
    row = next(row for row in table("ibm_readout") if row[0] == device)
    assert row[3:] == [best, f"{most:.5f}", f"{gap:.5f}"]


def test_rochester_has_53_qubits():
    assert len(readout("rochester")) == 53


def test_two_qubits_of_boston_tie_exactly_for_the_best():
    channels = readout("boston")
    (first, most), (second, next_most), (_, third_most), *_ = ranking("boston")
    assert {first, second} == {"q14", "q107"}
    np.testing.assert_array_equal(channels["q14"].W, channels["q107"].W)
    # Equal rows have equal capacities; the brackets may differ by their width.
    assert most == pytest.approx(next_most, abs=1e-9)
    assert next_most - third_most > 1e-3


def test_qubit_of_torino_with_fewer_errors_has_less_capacity():
    channels = readout("torino")
    q30, q51 = channels["q30"], channels["q51"]
    # The source has 2 and 20 against 5 and 16 in 2048; multiples of 2^-11 add exactly.
    assert [(W[0, 1] + W[1, 0]) * 2048 for W in (q30.W, q51.W)] == [22, 21]
    assert capacity(q30).lower > capacity(q51).upper


def test_each_of_twelve_classifiers_saw_every_image():
    counts = confusion()
    assert len(counts) == 12
    for matrix in counts.values():
        assert matrix.min() >= 0
        # The class distribution of the test set in the description of the UCI data set; 1797 images.
        assert matrix.sum(axis=1).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_answers_to_all_images_add_up_to_the_counts():
    with (DATA / "digits" / "predictions.csv").open(encoding="utf-8", newline="") as file:
        trials = list(csv.DictReader(file))
    assert [int(row["trial"]) for row in trials] == list(range(1797))
    counts = confusion()
    assert [*trials[0]] == ["trial", "x", *(f"y_{name}" for name in counts)]
    for name, matrix in counts.items():
        added = np.zeros((10, 10), int)
        np.add.at(added, ([int(row["x"]) for row in trials], [int(row[f"y_{name}"]) for row in trials]), 1)
        np.testing.assert_array_equal(added, matrix)


def test_table_of_classifiers_agrees_with_the_counts():
    counts = confusion()
    rows = table("digits")
    assert {row[0] for row in rows} == counts.keys()
    for name, _, wrong, bits in rows:
        assert int(wrong) == 1797 - counts[name].trace()
        # Four digits are printed.
        assert capacity(frequencies(counts[name])).lower == pytest.approx(float(bits), abs=0.5e-4 + 1e-9)


def test_decision_tree_errs_less_than_gaussian_nb_and_tells_less():
    tree, bayes = (confusion()[name] for name in ("decision_tree", "gaussian_nb"))
    assert tree.trace() > bayes.trace()
    assert capacity(frequencies(tree)).upper < capacity(frequencies(bayes)).lower


def test_table_of_classifiers_shows_the_estimators_of_the_script():
    script = (DATA / "make_digits.py").read_text(encoding="utf-8")
    estimators = dict(re.findall(r'^    "(\w+)": (.*),$', script, flags=re.MULTILINE))
    printed = {row[0]: row[1].strip("`") for row in table("digits")}
    assert printed == {name: made.replace("SEED", "1") for name, made in estimators.items()}
