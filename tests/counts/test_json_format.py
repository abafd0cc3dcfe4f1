"""Channels in JSON files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bestchannel.channels import Channel
from bestchannel.counts import json_format, read_channels, read_counts, write_channels
from bestchannel.errors import InputError


def read(tmp_path: Path, text: str, **options):
    path = tmp_path / "links.json"
    path.write_text(text, encoding="utf-8")
    return read_channels(path, **options)


def test_channels_are_named_rows(tmp_path):
    channels = read(tmp_path, '\ufeff{"channels": {"b": [[1, 0], [0.5, 0.5]], "a": [[1]]}, "origin": "lab 3"}')
    assert list(channels) == ["b", "a"]
    np.testing.assert_array_equal(channels["b"].W, [[1, 0], [0.5, 0.5]])


def test_labels_are_read_with_the_rows(tmp_path):
    channel = read(tmp_path, '{"channels": {"a": {"rows": [[1, 0]], "inputs": [3], "outputs": ["low", "high"]}}}')["a"]
    assert (channel.inputs, channel.outputs) == (("3",), ("low", "high"))


def test_transpose_moves_the_rows_and_keeps_the_labels(tmp_path):
    text = '{"channels": {"a": {"rows": [[1, 0.5, 0.5], [0, 0.5, 0.5]], "outputs": ["low", "high"]}}}'
    channel = read(tmp_path, text, transpose=True)["a"]
    np.testing.assert_array_equal(channel.W, [[1, 0], [0.5, 0.5], [0.5, 0.5]])
    assert channel.outputs == ("low", "high")


def test_default_labels_are_written_as_plain_rows(tmp_path):
    path = tmp_path / "links.json"
    write_channels(path, {"a": Channel.from_rows([[0.25, 0.75]]), "é": Channel.from_rows([[1]], outputs=["?"])})
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "channels": {"a": [[0.25, 0.75]], "é": {"rows": [[1.0]], "outputs": ["?"]}}
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"channels": {"a": [[1]], "a": [[1]]}}', "must occur once in an object; 'a' occurs more often"),
        ('{"channels": {"a": [[0.5, 0.5], [1, NaN]]}}', 'row x=1, column y=1 of channel "a" must be .*; it is nan'),
        ('{"channels": {"a": [[Infinity]]}}', 'row x=0, column y=0 of channel "a" must be .*; it is inf'),
        ('{"channels": {"a": [[1e999]]}}', 'row x=0, column y=0 of channel "a" must be .*; it is inf'),
        ('{"channels": {"a": [[1, null]]}}', 'row x=0, column y=1 of channel "a" must be a number; it is None'),
        ('{"channels": {"a": [[0.5, "0.5"]]}}', "column y=1 of channel \"a\" must be a number; it is '0.5'"),
        ('{"channels": {"a": [[0.0, true]]}}', 'column y=1 of channel "a" must be a number; it is True'),
        ('{"channels": {"a": [[1, 0], [1]]}}', 'row x=1 of channel "a" must have 2 entries like row x=0; it has 1'),
        ('{"channels": {"a": [1, 0]}}', 'channel "a" must be a matrix'),
        ('{"channels": {"a": {"rows": [[1]], "input": ["s"]}}}', "must have the keys rows .*; it has rows, input"),
        ('{"channels": {"a": {"rows": [[1]], "inputs": "s"}}}', 'inputs of channel "a" must be a list of texts'),
        ('{"channels": {"a": {"rows": [[1]], "inputs": ["s", "t"]}}}', 'inputs of channel "a" must have 1 label;'),
        ('{"channels": {"\\ud800": [[1]]}}', "must be Unicode text"),
        ('{"channels": {}}', "at least one channel"),
        ('{"channels": [{"name": "a"}]}', '"channels" must be an object of names and rows'),
        ("[]", 'must be a JSON object with the key "channels", records .*; it is'),
        ('{"channels": {"a": [[1]]', "line 1, column 25 is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"channels": {"a": [[' + "1" * 5000 + "]]}}", "a number in the file cannot be read"),
    ],
)
def test_refusal_names_the_file_and_the_place(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"links\.json: .*{message}"):
        read(tmp_path, text)


@pytest.mark.parametrize("read", [read_counts, read_channels])
@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_lines_of_json_without_a_record_are_refused_in_a_sentence(read, content, tmp_path):
    path = tmp_path / "empty.ndjson"
    path.write_text(content)
    with pytest.raises(InputError, match="there must be records; there is none"):
        read(path)


def test_json_of_very_many_documents_is_sent_to_jsonl(tmp_path, monkeypatch):
    monkeypatch.setattr(json_format, "MOST_DOCUMENTS", 3)
    path = tmp_path / "many.json"
    path.write_text('{"x": 0, "y": 1}\n' * 5)
    with pytest.raises(InputError, match=r"at most 3 lines; it has more \(name it \.jsonl\)"):
        read_counts(path)
