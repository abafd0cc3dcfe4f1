"""A long text log is read as a short one is, whatever the block in which a row lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bestchannel.counts import read_counts, read_trials, text_log
from bestchannel.counts.labelled_counts import RowBlock
from bestchannel.errors import InputError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("logs") / "log.csv"


def counted(path):
    return [(c.name, c.inputs, c.outputs, c.counts.tolist()) for c in read_counts(path).values()]


def ordered(path):
    found = read_trials(path)
    return found.alphabets, [[rows.tolist() for rows in channel] for channel in found.outputs]


def outcome(path, read):
    """What a reader makes of the file, or the sentence with which it refuses it."""
    try:
        return read(path)
    except InputError as error:
        return str(error)


def both_ways(path, data, read, block):
    """The outcome of splitting the file at once, row by row, and of scanning it in blocks."""
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_log._StreamedText, "blocks", at_once)
        split = outcome(path, read)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_log, "BLOCK", block)
        patch.setattr(text_log, "ROWS", 3)
        return split, outcome(path, read)


def at_once(streamed):
    """The second implementation: every row is split and judged in Python."""
    source, form, seen = streamed._source, streamed._form, streamed._seen
    room = memoryview(bytearray(2**22))
    text = b"".join(iter(lambda: room[: source.fill(room)].tobytes(), b"")).decode()
    numbers, counts, times = [], [], []
    for row, line in form.rows(text, int(streamed._scan.state[2])):
        labels = form.labels(row, f"line {line}")
        if labels is not None:
            numbers.append(seen.number(*labels, f"line {line}"))
            counts.append(form.count_of(row, f"line {line}"))
            times += [] if form.time is None else [row[form.time]]
    yield RowBlock(np.array(numbers, np.int32), None if form.count is None else np.array(counts), form.times(times))


LABEL = st.sampled_from(
    ["0", "1", "a", "b", " a", "a ", '"a"', '"a,b"', '"a;b"', '"say ""hi"""', '"two\nlines"', "é", 'q"q']
)
COUNT = st.sampled_from(["1", "2", "7", " 3", "4 ", '"5"', "6.0", "1e2", "0", "000000000000000000001"])
END = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n   \n", "\r\n\r\n"])


@st.composite
def logs(draw, counted):
    """Text that is a log, in all the spellings that one may have."""
    delimiter = draw(st.sampled_from([",", ";", "\t"]))
    columns = ["channel", "x", "y", *(["count"] if counted else []), *(["note"] if draw(st.booleans()) else [])]
    columns = draw(st.permutations(columns))
    text = draw(st.sampled_from(["", "\ufeff"])) + delimiter.join(columns) + draw(END)
    for _ in range(draw(st.integers(1, 12))):
        cells = [draw({"count": COUNT, "note": st.sampled_from(["", "hm", '""'])}.get(name, LABEL)) for name in columns]
        text += delimiter.join(cells) + draw(END)
    return text.encode()


@given(logs(counted=True), st.integers(128, 400))
def test_counts_are_the_same_in_blocks(path, data, block):
    split, in_blocks = both_ways(path, data, counted, block)
    assert in_blocks == split


@given(logs(counted=False), st.integers(128, 400))
@example(b"channel,x,y\nq,0,1\nq,0,0\nq,1,1\nq,0,1\n", 16)
def test_order_is_the_same_in_blocks(path, data, block):
    split, in_blocks = both_ways(path, data, ordered, block)
    assert in_blocks == split


SOME = st.lists(
    st.sampled_from(
        [
            "channel,x,y\n",
            "x,y\n",
            "a,b",
            "0",
            "1",
            ",",
            ";",
            '"',
            '""',
            "\n",
            "\r",
            "\r\n",
            " ",
            "\t",
            "é",
            "-1",
            ".5",
            "nan",
        ]
    ),
    max_size=40,
)


@given(st.sampled_from(["x,y\n", "x,y,count\n", "channel,x,y\n", "x;y\n", ""]), SOME)
def test_what_is_refused_is_refused_in_the_same_words(path, header, parts):
    data = (header + "".join(parts)).encode()
    split, in_blocks = both_ways(path, data, counted, 256)
    assert in_blocks == split


@given(
    st.lists(
        st.sampled_from(["(0, 1)", "(0,0)", "(a, (b, c))", "((1,2),3)", "// note", "# note", "", "(a b, c)"]),
        min_size=1,
    )
)
def test_pairs_are_the_same_in_blocks(path, lines):
    data = ("(0,0)\n" + "\n".join(lines)).encode()
    split, in_blocks = both_ways(path, data, ordered, 64)
    assert in_blocks == split
    assert isinstance(split, tuple)


def test_scan_makes_room_for_many_and_long_labels(path):
    # 6000 keys of some 90 bytes, where it begins with room for 2048 keys and 64 KiB
    labels = [f"{i:04}" + "z" * 40 for i in range(77)]
    rows = [(x, y) for x in labels for y in labels] * 2
    data = ("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows)).encode()
    split, in_blocks = both_ways(path, data, ordered, 2**16)
    assert in_blocks == split
    assert in_blocks[0][0].inputs == tuple(labels)


def test_row_longer_than_a_block_is_refused_with_its_line(path, monkeypatch):
    path.write_bytes(b'x,y\n0,1\n0,"' + b"a\n" * 1000)
    monkeypatch.setattr(text_log, "BLOCK", 1024)
    with pytest.raises(InputError, match="line 3 must be shorter than 1,024 bytes; is a quote left open"):
        read_counts(path)


def test_bytes_that_are_no_text_are_refused_with_their_line(path):
    path.write_bytes(b"x,y\n0,1\n0,\xff\n")
    with pytest.raises(InputError, match="line 3 must be UTF-8 text; it has the byte 0xff"):
        read_counts(path)
    path.write_bytes(b"x,y\n0,1\n0,\0\n")
    with pytest.raises(InputError, match="must have no NUL"):
        read_counts(path)


SPACED = st.sampled_from(["0", "1", "a ", "  b", '"c d"', "t\tu", "n\u00a0b", "é", "", '"', "2026-01-01"])


@given(
    st.permutations(["x", "y", "time", "note"]),
    st.lists(st.tuples(SPACED, SPACED, SPACED, SPACED, st.sampled_from(["", " ", "  "]), END), min_size=1, max_size=6),
    st.sampled_from([",", " ", " "]),
)
@example(["note", "x", "y", "time"], [("", "0", "1", "8", " ", "\n")], " ")
@example(["x", "y", "note", "time"], [("0", "1", "a", "5", "", "\r"), ("1", "1", "a", "4", "", "\r")], ",")
def test_rows_that_spaces_divide_and_their_times_are_the_same_in_blocks(path, columns, rows, delimiter):
    text = delimiter.join(columns) + "\n" + "".join(delimiter.join(row[:4]) + row[4] + row[5] for row in rows)
    split, in_blocks = both_ways(path, text.encode(), in_time, 256)
    assert in_blocks == split or (isinstance(in_blocks, str) and isinstance(split, str))


def in_time(path):
    found = read_counts(path, form="rows")
    return [(c.inputs, c.outputs, c.by_time, [side.tolist() for side in c.order]) for c in found.values()]
