"""What a laboratory writes: alphabets and answers, read or refused in a sentence that names the place."""

import json

import pytest

from bestchannel import InputError
from bestchannel.policies import ChannelLabels, Request
from bestchannel.runs.laboratory_files import answered_inputs, blank_sheet, read_alphabets, read_sheet, request_rows

PARTIES = [
    ChannelLabels("cable", ("dot", "dash"), ("dot", "dash", "lost")),
    ChannelLabels("radio", ("0", "1"), ("0", "1")),
]
REQUEST = Request(1, {0: (3, 0), 1: (1, 2)})
TRUE = [["cable", "dot", "dot", 2], ["cable", "dot", "lost", 1], ["radio", "0", "1", 1], ["radio", "1", "1", 2]]
COUNTS = {(0, 0): (2, 0, 1), (1, 0): (0, 1), (1, 1): (0, 2)}


def answer(path, rows):
    path.write_text("\n".join(["channel,x,y,count", *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def as_json(path, rows, **more):
    keys = ("channel", "x", "y", "count")
    path.write_text(json.dumps({"counts": [dict(zip(keys, row, strict=True)) for row in rows]} | more))
    return path


def read_answer(path):
    return answered_inputs(read_sheet(path), REQUEST, PARTIES)


def test_request_is_written_with_the_names_of_channels_and_letters():
    assert request_rows(REQUEST.senses, PARTIES) == [
        {"channel": "cable", "x": "dot", "count": 3},
        {"channel": "radio", "x": "0", "count": 1},
        {"channel": "radio", "x": "1", "count": 2},
    ]


def test_rows_become_counts_in_the_order_of_the_alphabets(tmp_path):
    for path in (answer(tmp_path / "a.csv", TRUE), as_json(tmp_path / "a.json", TRUE, request=1)):
        assert read_answer(path) == COUNTS


def test_rows_of_one_cell_add_up(tmp_path):
    rows = [["cable", "dot", "dot", 1], ["cable", "dot", "dot", 1], *TRUE[1:]]
    assert read_answer(answer(tmp_path / "a.csv", rows)) == COUNTS
    assert read_answer(as_json(tmp_path / "a.json", rows)) == COUNTS


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            ["cable", "dot", "dot", 1],
            'input dot of channel "cable" must have 3 senses, as request 1 asks; the file has 4',
        ),
        (
            ["cable", "dash", "dot", 1],
            'input dash of channel "cable" must have 0 senses, as request 1 asks; the file has 1',
        ),
        (["cable", "dot", "Dot", 1], "channel \"cable\" has the outputs dot, dash, lost; the file has output 'Dot'"),
        (["cable", "dit", "dot", 1], "channel \"cable\" has the inputs dot, dash; the file has input 'dit'"),
        (["cables", "dot", "dot", 1], "request 1 asks for the channels cable, radio; the file has channel 'cables'"),
        (["cable", "dot", "dot", 10**30], "count must be"),
    ],
)
def test_row_that_does_not_answer_is_refused(row, sentence, tmp_path):
    with pytest.raises(InputError) as csv_error:
        read_answer(answer(tmp_path / "a.csv", [*TRUE, row]))
    with pytest.raises(InputError) as json_error:
        read_answer(as_json(tmp_path / "a.json", [*TRUE, row]))
    for error, name in ((csv_error, "a.csv"), (json_error, "a.json")):
        assert sentence in str(error.value)
        assert name in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "must be JSON"),
        ("[]", r"must be \{"),
        ('{"request": "2", "counts": []}', r"must be \{.* got `str` - at `\$.request`"),
        ('{"request": 2, "counts": []}', "the file must have counts; it has none"),
        ('{"counts": [{"channel": "cable"}]}', r"missing required field `x` - at `\$.counts\[0\]`"),
        (
            '{"counts": [{"channel": "cable", "x": null, "y": "dot", "count": 1}]}',
            r"Expected `int \| str`, got `null` - at `\$.counts\[0\].x`",
        ),
        (
            '{"counts": [{"channel": "cable", "x": "dot", "y": "dot", "count": 1.5}]}',
            r"count must be a whole number; Expected `int`, got `float` - at `\$.counts\[0\].count`",
        ),
        (
            '{"counts": [{"channel": "cable", "x": "dot", "y": "dot", "count": true}]}',
            r"count must be a whole number; Expected `int`, got `bool` - at `\$.counts\[0\].count`",
        ),
        ("9" * 5000, "a number in the file cannot be read"),
        ("[" * 100_000, "must be JSON"),
    ],
)
def test_json_that_is_no_answer_is_refused(text, sentence, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_answer(path)


def test_sheet_that_is_filled_in_is_the_answer(tmp_path):
    path = tmp_path / "sheet.csv"
    blank = blank_sheet(1, REQUEST.senses, PARTIES)
    assert blank.splitlines()[:2] == ["request,channel,x,y,count", "1,cable,dot,dot,"]
    counts = ["2", "", "1", "0", "1", "", "2"]
    filled = [line + count for line, count in zip(blank.splitlines(), ["", *counts], strict=True)]
    path.write_text("\n".join(filled))
    assert read_sheet(path).request == 1
    assert read_answer(path) == COUNTS


def test_input_that_is_left_empty_in_a_sheet_is_not_answered(tmp_path):
    path = tmp_path / "sheet.csv"
    blank = blank_sheet(1, REQUEST.senses, PARTIES).splitlines()
    path.write_text("\n".join([blank[0], "1,cable,dot,dot,3", *blank[2:]]))
    assert read_answer(path) == {(0, 0): (3, 0, 0)}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["request,channel,x,y", "1,cable,dot,dot"], "must have the columns request, channel, x, y, count; it has"),
        (["request,channel,x,y,count", "1,cable,dot,dot,3", "2,radio,0,0,1"], "must answer one request"),
        (["request,channel,x,y,count", "one,cable,dot,dot,3"], "must answer one request"),
        (["request,channel,x,y,count", "1,cable,dot,dot,1.5"], "line 2, count must be a whole number"),
        (["request,channel,x,y,count", "1,cable,dot,dot,"], "the file must have counts; it has none"),
        (["request,channel,x,y,count", "1,cable,dot,dot,0"], "must have 3 senses, as request 1 asks; the file has 0"),
        (["request,channel,x,y,count", "1,cable,dot,dot,2"], "the file has 2; `--piece NAME` keeps a part of them"),
        (["request,channel,x,y,count", "1,cable,dot"], "line 2 must have 5 fields"),
    ],
)
def test_sheet_that_is_none_is_refused(lines, sentence, tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as error:
        read_answer(path)
    assert sentence in str(error.value)
    assert "sheet.csv" in str(error.value)


def test_alphabets_are_read_from_json_and_csv(tmp_path):
    content = {"cable": {"inputs": ["dot", "dash"], "outputs": ["dot", "dash", "lost"]}, "radio": [2, 2]}
    (tmp_path / "a.json").write_text(json.dumps({"channels": content}))
    assert read_alphabets(tmp_path / "a.json") == PARTIES
    (tmp_path / "a.csv").write_text("channel;n_inputs;n_outputs\ncable;2;3\n")
    assert read_alphabets(tmp_path / "a.csv") == [ChannelLabels("cable", ("0", "1"), ("0", "1", "2"))]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", '{"channels": {}}', "must name at least one channel"),
        ("a.json", '{"channels": {"a": [2, 0]}}', 'the outputs of channel "a" must be a list of labels, or how many'),
        ("a.json", '{"channels": {"a": [2, 2, 2]}}', 'channel "a" must have inputs and outputs'),
        (
            "a.json",
            '{"channels": {"a": {"inputs": ["0", "0"], "outputs": 2}}}',
            'the inputs of channel "a" must be different',
        ),
        ("a.json", '{"channels": {"a": [2, 2], "a": [2, 2]}}', "a name must occur once in an object"),
        ("a.json", '{"channels": {" a": [2, 2]}}', "the name ' a' must be visible text without spaces around it"),
        ("a.json", '{"channels": {"a": [["x", " "], 2]}}', 'the inputs of channel "a" must be visible text'),
        ("a.json", "[]", "the file must be"),
        ("a.json", "{", "the file must be JSON"),
        (
            "a.csv",
            "channel,inputs,outputs\na,2,2\n",
            "line 1 must be channel,n_inputs,n_outputs; it is channel,inputs,outputs",
        ),
        (
            "a.csv",
            "channel,n_inputs,n_outputs\na,2,two\n",
            'the outputs of channel "a" must be a list of labels, or how many',
        ),
        (
            "a.csv",
            "channel,n_inputs,n_outputs\na,2,2\na,2,2\n",
            'line 3: the channel "a" must occur once; it occurs twice',
        ),
        ("a.csv", "channel,n_inputs,n_outputs\n", "must name at least one channel"),
        ("a.txt", "a", "the ending must be .json or .csv; it is '.txt'"),
    ],
)
def test_alphabets_that_are_none_are_refused(name, text, sentence, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_alphabets(tmp_path / name)
    assert sentence in str(error.value)
    assert name in str(error.value)
