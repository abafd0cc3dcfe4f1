"""Channels in NumPy archives."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from bestchannel.channels import Channel
from bestchannel.counts import read_channels, read_counts, write_channels
from bestchannel.errors import InputError


def read(tmp_path: Path, **arrays):
    path = tmp_path / "links.npz"
    np.savez(path, **arrays)
    return read_channels(path)


def test_each_array_is_a_channel(tmp_path):
    channels = read(tmp_path, b=np.eye(2), a=np.array([[0.25, 0.75]], dtype=">f4"))
    assert list(channels) == ["b", "a"]
    np.testing.assert_array_equal(channels["a"].W, [[0.25, 0.75]])


def test_stack_is_numbered_channels(tmp_path):
    channels = read(tmp_path, channels=np.full((12, 3, 2), 0.5), **{"channels.outputs": np.array(["u", "v"])})
    assert list(channels) == [str(i) for i in range(12)]
    assert (channels["11"].W.shape, channels["11"].outputs) == ((3, 2), ("u", "v"))


def test_vectors_named_after_a_channel_are_its_labels(tmp_path):
    channel = read(tmp_path, **{"a": np.eye(2), "a.inputs": np.array([1, 2]), "a.outputs": np.array(["u", "v"])})["a"]
    assert (channel.inputs, channel.outputs) == (("1", "2"), ("u", "v"))


def test_numbered_channels_of_one_size_are_written_as_a_stack(tmp_path):
    path = tmp_path / "links.npz"
    write_channels(path, {name: Channel.from_rows(np.eye(2)) for name in ("0", "1", "2")})
    with np.load(path) as archive:
        assert archive.files == ["channels"]
    assert list(read_channels(path)) == ["0", "1", "2"]


def test_names_that_are_arguments_of_savez_survive(tmp_path):
    path = tmp_path / "links.npz"
    channels = {name: Channel.from_rows(np.eye(2), name=name) for name in ("file", "allow_pickle", "arr_0", "a/b", "")}
    write_channels(path, channels)
    assert read_channels(path) == channels


def test_transpose_applies_to_each_array(tmp_path):
    path = tmp_path / "links.npz"
    np.savez(path, a=np.array([[1, 0.5], [0, 0.5]]))
    np.testing.assert_array_equal(read_channels(path, transpose=True)["a"].W, [[1, 0], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.array([{}])}, "must be an array of numbers or texts; it has dtype object"),
        ({"a": np.ones(2)}, 'channel "a" must be a matrix'),
        ({"a": np.array([["u"]])}, 'channel "a" must (be a|hold real) number'),
        ({"a": np.array([[1j]])}, 'channel "a" must hold real numbers'),
        (
            {"a": np.eye(2), "a.inputs": np.array([0.5, 1.5])},
            'labels "a.inputs" must be texts; they have dtype float64',
        ),
        ({"channels": np.ones((1, 1, 1)), "0": np.eye(2)}, 'the channel "0" must occur once; it occurs twice'),
        ({"channels": np.ones((0, 1, 1))}, "at least one channel"),
        ({"a": np.array([[3, 5]])}, 'channel "a" looks like counts'),
    ],
)
def test_refusal_names_the_file_and_the_array(tmp_path, arrays, message):
    with pytest.raises(InputError, match=rf"links\.npz: .*{message}"):
        read(tmp_path, **arrays)


def test_archive_of_other_files_is_refused(tmp_path):
    path = tmp_path / "links.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match=r"an \.npz archive of plain arrays"):
        read_channels(path)


def test_two_arrays_of_one_name_are_refused(tmp_path):
    path = tmp_path / "links.npz"
    write_channels(path, {"a": Channel.from_rows(np.eye(2))})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a", archive.read("a.npy"))
    with pytest.raises(InputError, match="each array must have its own name; 2 arrays have 1 names"):
        read_channels(path)


def test_labels_that_would_overwrite_a_channel_are_refused(tmp_path):
    channels = {"a": Channel.from_rows([[1]], inputs=["s"]), "a.inputs": Channel.from_rows([[1]])}
    with pytest.raises(InputError, match=r'the name of another channel, "a\.inputs"'):
        write_channels(tmp_path / "links.npz", channels)


def test_texts_beyond_unicode_are_refused_in_a_sentence(tmp_path):
    texts = np.array(["ab", "cd"])
    texts.view(np.uint32)[1] = 0x110000
    path = tmp_path / "texts.npz"
    np.savez(path, **{"q": np.eye(2, dtype=int), "q.inputs": texts})
    with pytest.raises(InputError, match="must hold Unicode; it holds a number that is no character"):
        read_counts(path)
