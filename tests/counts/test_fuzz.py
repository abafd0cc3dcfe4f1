"""Whatever bytes a file holds, a reader gives data or one of the library's own refusals."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from bestchannel.counts import read_channels, read_counts, read_trials, text_log
from bestchannel.errors import BestChannelError
from tests.counts import mutations
from tests.counts.attack import attacked

TEXT = ["csv", "tsv", "txt"]
ENDINGS = [*TEXT, "json", "npz", "mat", "parquet"]
COUNTS = np.array([[9, 1], [2, 8]])
ROWS = {"channel": ["q", "q", "r"], "x": ["0", "1", "0"], "y": ["a", "b", "a"], "count": [3, 4, 5]}


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def mat(**variables):
    buffer = io.BytesIO()
    savemat(buffer, variables)
    return buffer.getvalue()


def parquet(columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


SOUND = {
    "lines": ("csv", b"channel,x,y,count\nq,0,0,9\nq,0,1,1\nq,1,0,2\nq,1,1,8\n"),
    "log": ("tsv", "channel\tx\ty\nq\t0\té\nq\t1\t\"a b\"\nr\t0\t1\n".encode()),
    "matrix": ("csv", b",cat,dog\nkitten,9,1\npuppy,2,8\n"),
    "probabilities": ("csv", b"channel,x,y,p\nq,0,0,0.9\nq,0,1,0.1\nq,1,1,1\n"),
    "pairs": ("txt", b"// leakiEst\n(1, 2)\n(2, 2)\n((1,2), a)\n"),
    "json": ("json", b'{"channels": {"q": [[9, 1], [2, 8]], "r": {"rows": [[1]], "inputs": ["a"]}}}'),
    "npz": ("npz", npz(q=COUNTS)),
    "npz log": ("npz", npz(**{name: np.array(values) for name, values in ROWS.items()})),
    "mat": ("mat", mat(q=COUNTS, r={"s": COUNTS})),
    "parquet": ("parquet", parquet(ROWS)),
}  # fmt: skip
PIECES = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\r", b"\n", b",", b";", b"\t", b"(", b")", b"//", b"-1", b"1e999",
          b"nan", b"NaN", b"9" * 400, b"x,y\n", b"\\ud800", b"{", b"[", b"\x1f\x8b\x08", b"PK\x03\x04", b"PAR1",
          "\u2028".encode(), b" " * 50, b"a" * 5000]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@st.composite
def damaged(draw, data):
    """Sound bytes with some replaced, removed, repeated or put between."""
    content = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = draw(st.integers(start, min(start + 30, len(content))))
        content[start:stop] = draw(st.sampled_from(PIECES) | st.binary(max_size=8) | st.just(content[start:stop] * 2))
    return bytes(content)


def refusal_of(read, path, **options):
    """The sentence with which the file is refused, or None."""
    try:
        read(path, **options)
    except BestChannelError as error:
        return str(error)
    return None


def try_all(folder, ending, data, **options):
    """Read the file in every way; only a refusal of ours may come out."""
    path = folder / f"data.{ending}"
    path.write_bytes(data)
    for read in (read_counts, read_trials, read_channels):
        refusal = refusal_of(read, path, **({} if read is read_channels else options))
        assert refusal is None or (refusal.startswith(f"{path}: ") and "\n" not in refusal)


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.binary(max_size=200))
@example(b"")
@example(b"\0" * 100)
@example(b"\xff\xfex\0,\0y\0")
def test_random_bytes_are_refused_in_one_sentence(folder, ending, data):
    try_all(folder, ending, data)


@pytest.mark.parametrize("kind", SOUND)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_files_are_read_or_refused_in_one_sentence(folder, kind, data):
    ending, sound = SOUND[kind]
    try_all(folder, ending, data.draw(damaged(sound)), outputs=data.draw(st.sampled_from([None, ["0", "1", "a", "b"]])))


@pytest.mark.parametrize("ending", TEXT)
@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=12),
    st.sampled_from(["x,y\n", "x,y,count\n", "(0,0)\n"]),
)
def test_damaged_long_logs_are_read_or_refused_in_one_sentence(folder, ending, parts, header):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_log, "BLOCK", 256)
        try_all(folder, ending, header.encode() + b"".join(parts))


@given(
    st.dictionaries(
        st.sampled_from(["channel", "x", "y", "count", "p", ""]) | st.text(max_size=5), st.text(max_size=5), max_size=3
    )
)
def test_columns_of_any_name_are_found_or_refused(folder, columns):
    path = folder / "data.csv"
    path.write_bytes(SOUND["lines"][1])
    for read in (read_counts, read_trials):
        refusal = refusal_of(read, path, columns=columns)
        assert refusal is None or refusal.startswith(f"{path}: ")


@pytest.mark.parametrize("kind", SOUND)
def test_sound_files_are_read(folder, kind):
    ending, data = SOUND[kind]
    path = folder / f"sound.{ending}"
    path.write_bytes(data)
    assert read_channels(path) if kind == "probabilities" else read_counts(path)


def test_an_attack_with_other_files_and_other_names_finds_nothing_silent(tmp_path):
    """The small version of `python -m tests.counts.attack 50000 1000 4`."""
    attack = attacked(files=400, commands=15, seed=5, folder=tmp_path)
    assert attack.found == []
    assert attack.outcomes["read"] > 100
    assert attack.outcomes["damaged, refused"] > 100


def test_mutated_files_of_every_format_neither_crash_nor_take_too_much():
    """The small version of `python -m tests.counts.mutations 50000 1 2`."""
    campaign = mutations.Campaign(files=250, seed=5).run(workers=1)
    assert campaign.found == []
    assert campaign.outcomes["files"] == 250
    assert campaign.outcomes["refused"] > 100
    assert campaign.outcomes["read"] > 10
