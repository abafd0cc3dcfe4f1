"""What is written is read back the same, or refused: for every kind of file, and labels of every shape."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from openpyxl.utils.exceptions import IllegalCharacterError

from bestchannel.counts import read_counts
from bestchannel.counts.frames import labelled_counts
from bestchannel.errors import InputError
from tests.counts import written

ODD = ["x", "y", "X", "count", "p", "channel", "Total", "", " ", "0", "1", "2", "10", "01", "-1", "1.0", "0.5", "1,5", "1e3",
       "1.000", "nan", "inf", "a", "a ", "b", "a b", "a,b", "a;b", "a\tb", '"', "a\nb", "a\r", "#", "//", "(1, 2)", "é", "日本",
       "\u2028", "=1+1", "TRUE", "None", "null"]  # fmt: skip
LABELS = st.sampled_from(ODD) | st.text(max_size=4)


@st.composite
def matrices(draw):
    """Counts with labels, of which those of one side differ in more than the spaces around them."""
    sides = [draw(st.lists(LABELS, min_size=1, max_size=4, unique_by=str.strip)) for _ in range(2)]
    if draw(st.booleans()):
        sides[1] = sides[0]
    shape = len(sides[0]), len(sides[1])
    cell = st.integers(0, 9) | st.integers(0, 10**6)
    numbers = draw(st.lists(cell, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return np.array(numbers).reshape(shape), *sides


def stripped(found):
    return {
        (a.strip(), b.strip()): int(found.counts[i, j])
        for i, a in enumerate(found.inputs)
        for j, b in enumerate(found.outputs)
    }


def expected(counts, inputs, outputs):
    return {(a.strip(), b.strip()): n for a, b, n in written.cells(counts, inputs, outputs)}


def readings(read, *arguments):
    """What is read, or nothing where it is refused."""
    try:
        return list(read(*arguments).values())
    except InputError:
        return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("round")


@pytest.mark.parametrize("kind", written.KINDS)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(matrices())
@example((np.array([[90, 10], [20, 80]]), ["x", "y"], ["x", "y"]))
@example((np.array([[90, 10], [20, 80]]), ["0", "1"], ["x", "y"]))
@example((np.array([[5, 1, 2], [3, 9, 1], [1, 1, 7]]), ["x", "y", "count"], ["x", "y", "count"]))
@example((np.array([[5, 1, 2], [3, 9, 1], [1, 1, 7]]), ["0", "1", "2"], ["x", "y", "count"]))
@example((np.array([[1, 2, 3], [3, 4, 7]]), ["0", "1"], ["0", "1", "Total"]))
def test_counts_are_read_back_the_same_or_refused(folder, kind, matrix):
    path = folder / kind
    if not any(map(str.strip, matrix[2])):
        return  # a line of blank labels is a blank line, which sheets have above tables
    try:
        path.write_bytes(written.KINDS[kind](*matrix))
    except (ValueError, UnicodeEncodeError, IllegalCharacterError):  # what the other program refuses to write
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = readings(read_counts, path)
    assert [stripped(content) for content in found] in ([], [expected(*matrix)])


@pytest.mark.parametrize("kind", written.KINDS)
def test_plain_labels_are_not_refused(folder, kind):
    for inputs, outputs in (
        (["on", "off"], ["heard", "lost"]),
        (["é", "日本"], ["a b", "c"]),
        (["cat", "dog"], ["cat", "dog"]),
    ):
        matrix = np.array([[90, 10], [20, 80]]), inputs, outputs
        (folder / kind).write_bytes(written.KINDS[kind](*matrix))
        (content,) = read_counts(folder / kind).values()
        assert stripped(content) == expected(*matrix)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(matrices())
def test_objects_of_python_are_taken_the_same_or_refused(matrix):
    for given_as in (written.nested(*matrix), {"link": written.nested(*matrix)}, written.frame(*matrix)):
        found = readings(labelled_counts, given_as)
        assert [stripped(content) for content in found] in ([], [expected(*matrix)])
