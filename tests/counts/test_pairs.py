"""leakiEst's observation files: one trial per line, (input, output)."""

import numpy as np
import pytest

from bestchannel.counts import read_counts, read_trials
from bestchannel.errors import InputError

# the example of leakiEst's user guide: an integer from 1 to 9, and its remainder by 3
MODULO_3 = "(1,1)\n(7,1)\n(5,2)\n(4,1)\n(9,0)\n(8,2)\n(3,0)\n(4,1)\n(7,1)\n(8,2)\n(2,2)\n(9,0)\n(6,0)\n"


def written(tmp_path, text, name="observations.txt"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("name", ["observations.txt", "observations.csv"])
def test_example_of_the_user_guide_is_read(tmp_path, name):
    content = read_counts(written(tmp_path, MODULO_3, name))["observations"]
    assert (content.inputs, content.outputs) == (tuple("123456789"), tuple("012"))
    assert content.counts.sum() == 13
    for label, row in zip(content.inputs, content.counts, strict=True):
        assert np.flatnonzero(row).tolist() == [int(label) % 3]


@pytest.mark.parametrize(
    "text",
    [
        "(yes, no)\n(no, no)\n",
        "\ufeff// a comment, with a comma\r\n\r\n ( yes ,no )\r\n# another\r\n(no,no)",
        "(yes,no)\r(no,no)\r",
    ],
)
def test_comments_spaces_and_line_ends_do_not_matter(tmp_path, text):
    content = read_counts(written(tmp_path, text))["observations"]
    assert (content.inputs, content.outputs) == (("yes", "no"), ("no",))
    assert content.counts.tolist() == [[1], [1]]


def test_labels_may_be_free_text_and_tuples(tmp_path):
    letters = read_trials(written(tmp_path, "((1, 2), a sentence, with a comma)\n([x;y], f(1,2))\n")).alphabets[0]
    assert letters.inputs == ("(1, 2)", "[x;y]")
    assert letters.outputs == ("a sentence, with a comma", "f(1,2)")


@pytest.mark.parametrize("line", ["(1 2)", "1, 2", "(1, 2", "()", "((1,2))"])
def test_line_that_is_no_pair_is_refused_with_its_number(tmp_path, line):
    with pytest.raises(InputError, match=r"observations.txt: line 3 must be a trial \(input, output\); it is "):
        read_counts(written(tmp_path, f"// one\n(0,0)\n{line}\n"))


def test_blank_label_is_refused(tmp_path):
    with pytest.raises(InputError, match="line 2, y must be a label; it is blank"):
        read_counts(written(tmp_path, "(0,0)\n(0, )\n"))
