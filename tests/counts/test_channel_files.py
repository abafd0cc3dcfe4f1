"""What holds for every format: round trips, refusals, and files that are never half written."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestchannel.channels import Channel
from bestchannel.counts import read_channels, write_channels
from bestchannel.errors import BestChannelError, InputError, MissingFileError

ENDINGS = (".json", ".csv", ".npz", ".parquet")
AWKWARD = [
    "",
    " ",
    " a",
    "a ",
    "a,b",
    'say "hi"',
    "a;b",
    "tab\there",
    "line\nbreak",
    "\r",
    "\r\n",
    "é",
    "𝒳",
    "\ufeff",
    "'",
]
texts = st.sampled_from([*AWKWARD, "nan", "0", "1", "x", "channel", "a.inputs"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)


def is_integer(label: str) -> bool:
    return label.lstrip("+-").isascii() and label.lstrip("+-").isdigit()


def alphabets(size: int) -> st.SearchStrategy[list[str] | None]:
    """Labels that a long form gives back in their order: the default, or not all integers."""
    named = st.lists(texts, min_size=size, max_size=size, unique=True)
    return st.none() | named.filter(lambda labels: not all(map(is_integer, labels)))


@st.composite
def channels(draw: st.DrawFn, name: str) -> Channel:
    n_inputs, n_outputs = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    weights = st.lists(st.integers(0, 9) | st.floats(1e-300, 1), min_size=n_outputs, max_size=n_outputs)
    rows = draw(st.lists(weights.filter(any), min_size=n_inputs, max_size=n_inputs))
    return Channel.from_rows(
        [np.array(row) / np.sum(row) for row in rows],
        name=name,
        inputs=draw(alphabets(n_inputs)),
        outputs=draw(alphabets(n_outputs)),
    )


@st.composite
def collections(draw: st.DrawFn) -> dict[str, Channel]:
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    return {name: draw(channels(name)) for name in names if name != "a.inputs" or "a" not in names}


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=60, deadline=None)
@given(written=collections())
def test_channels_come_back_to_the_bit_with_names_labels_and_order(ending, written):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"links{ending}"
        write_channels(path, written)
        found = read_channels(path)
    assert found == written
    assert list(found) == list(written)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_integer_labels_come_back_in_numeric_order(tmp_path, ending):
    path = tmp_path / f"links{ending}"
    write_channels(path, {"a": Channel.from_rows([[1, 0], [0.5, 0.5]], inputs=["10", "9"], outputs=["1", "0"])})
    found = read_channels(path)["a"]
    np.testing.assert_array_equal(found.W, [[0.5, 0.5], [0, 1]])
    assert (found.inputs, found.outputs) == (("9", "10"), ("0", "1"))


csv_like = st.lists(st.sampled_from([*'0123456789.,;\t\n\r" xypabc-\ufeff', "channel,x,y,p\n", "nan", "1e999"])).map(
    lambda parts: "".join(parts).encode()
)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["rows", "inputs", "a"]), inner),
)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=150, deadline=None)
@given(
    data=st.binary() | csv_like, options=st.fixed_dictionaries({"normalize": st.booleans(), "transpose": st.booleans()})
)
def test_arbitrary_bytes_are_read_or_refused(ending, data, options):
    read_or_refused(ending, data, options)


@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=200, deadline=None)
@given(content=json_like)
def test_arbitrary_json_is_read_or_refused(content):
    for document in (
        content,
        {"channels": content},
        {"channels": {"a": content}},
        {"channels": {"a": {"rows": content}}},
    ):
        read_or_refused(".json", json.dumps(document).encode(), {})


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_file_is_read_or_refused(ending, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"whole{ending}"
    if not path.exists():
        write_channels(path, {"a": Channel.from_rows([[0.5, 0.5], [0.25, 0.75]], inputs=["s", "t"])})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read_or_refused(ending, bytes(content[: data.draw(st.integers(0, len(content)))]), {})


def read_or_refused(ending: str, data: bytes, options: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"fuzz{ending}"
        path.write_bytes(data)
        with contextlib.suppress(BestChannelError):
            assert read_channels(path, **options)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"PK\x03\x04\x14\0\0\0\x08\0", b"PK\x05\x06" + bytes(18)]
)
def test_file_of_another_kind_is_refused_in_one_line(tmp_path, ending, content):
    path = tmp_path / f"links{ending}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"links\{ending}: ") as refusal:
        read_channels(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_missing_file_is_a_missing_file(tmp_path, ending):
    with pytest.raises(MissingFileError, match=rf"none\{ending}: there is no such file"):
        read_channels(tmp_path / f"none{ending}")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"\n \r\n"])
def test_empty_file_is_refused(tmp_path, ending, content):
    path = tmp_path / f"links{ending}"
    path.write_bytes(content)
    with pytest.raises(InputError, match="the file is empty"):
        read_channels(path)


def test_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="this is a folder, and a file is required"):
        read_channels(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_file_is_refused(tmp_path):
    path = tmp_path / "links.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        read_channels(path)


def test_path_with_nul_is_refused():
    with pytest.raises(InputError, match="no path of a file"):
        read_channels("a\0.json")
    with pytest.raises(InputError, match="no path of a file"):
        write_channels("a\0.json", {"a": Channel.from_rows([[1]])})


def test_unknown_ending_is_refused_with_the_known_ones(tmp_path):
    path = tmp_path / "links.pdf"
    path.write_bytes(b"%PDF")
    message = r"the ending must be one of .csv, .*.parquet, .npz, .*.json.*; it is '.pdf'"
    with pytest.raises(InputError, match=message):
        read_channels(path)
    with pytest.raises(InputError, match=message):
        write_channels(path, {"a": Channel.from_rows([[1]])})


def test_ending_may_have_capitals(tmp_path):
    path = tmp_path / "LINKS.CSV"
    path.write_text("1,0\n0,1\n")
    assert list(read_channels(path)) == ["LINKS"]


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_columns_are_refused_where_there_are_none(tmp_path, ending):
    path = tmp_path / f"links{ending}"
    write_channels(path, {"a": Channel.from_rows([[1]])})
    with pytest.raises(InputError, match=r"columns belongs to rows with names above them"):
        read_channels(path, columns={"x": "sent"})


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("text", ["a\0", "\ud800"])
def test_text_that_not_every_format_holds_is_not_written(tmp_path, ending, text):
    path = tmp_path / f"links{ending}"
    for channels_ in ({text: Channel.from_rows([[1]])}, {"a": Channel.from_rows([[1]], outputs=[text])}):
        with pytest.raises(InputError, match="must be Unicode text without NUL"):
            write_channels(path, channels_)
    assert list(tmp_path.iterdir()) == []


def test_no_channels_are_not_written(tmp_path):
    with pytest.raises(InputError, match="at least one channel"):
        write_channels(tmp_path / "links.json", {})


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_failed_write_keeps_the_old_file_and_leaves_nothing_beside_it(tmp_path, monkeypatch, failing):
    path = tmp_path / "links.json"
    old = {"a": Channel.from_rows([[1]], name="a")}
    write_channels(path, old)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(InputError, match=r"links.json: the file cannot be written \(No space left on device\)"):
        write_channels(path, {"b": Channel.from_rows([[1]])})
    assert list(tmp_path.iterdir()) == [path]
    assert read_channels(path) == old


def test_writing_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match="there is no folder to write it into"):
        write_channels(tmp_path / "none" / "links.json", {"a": Channel.from_rows([[1]])})


def test_writing_through_a_link_keeps_the_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    write_channels(link, {"a": Channel.from_rows([[1]])})
    assert link.is_symlink()
    assert list(read_channels(target)) == ["a"]
