"""Whatever stands in files and options: a sentence and an exit code, never a traceback, never a damaged run.

Most examples are what a laboratory would write with a cell or two changed; the others are anything.
"""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bestchannel import runs
from bestchannel.cli import app
from bestchannel.runs import store
from tests.runs.steady import Steady

ALPHABETS = {"cable": {"inputs": ["a", "b"], "outputs": ["u", "v"]}, "radio": {"inputs": ["a"], "outputs": ["u", 7]}}
WORD = st.sampled_from(
    ["cable", "radio", "a", "b", "u", "v", "", "0", "1", "-1", "1e3", "nan", "9" * 30, "é", "\x1b[31m"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.integers() | st.floats() | WORD | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORD | st.just("counts"), inner, max_size=4),
    max_leaves=12,
)
KEYS = ["channel", "x", "y", "count"]


@st.composite
def rows(draw):
    """The rows of a true answer to a request of `Steady`, often changed in a place."""
    senses = [("cable", "a"), ("cable", "b"), ("radio", "a")]
    found = [
        [channel, x, draw(st.sampled_from(["u", "v"] if channel == "cable" else ["u", "7"])), 1]
        for channel, x in senses
    ]
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        row = draw(st.sampled_from(found))
        row[draw(st.integers(0, 3))] = draw(WORD | ANYTHING)
    return draw(st.permutations(found))


def as_json(found):
    return json.dumps({"counts": [dict(zip(KEYS, row, strict=True)) for row in found]}).encode()


def as_csv(found):
    text = io.StringIO()
    csv.writer(text).writerows([KEYS, *found])
    return text.getvalue().encode(errors="replace")


TELLS = st.one_of(
    st.tuples(st.just("json"), rows().map(as_json)),
    st.tuples(st.just("csv"), rows().map(as_csv)),
    st.tuples(st.just("json"), ANYTHING.map(json.dumps).map(str.encode)),
    st.tuples(st.sampled_from(["json", "csv", "parquet", "npz", "mat", "txt", "", "x"]), st.binary()),
)


@st.composite
def alphabets(draw):
    """A file of alphabets, often changed in a place."""
    found = json.loads(json.dumps(ALPHABETS))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        name = draw(st.sampled_from(list(ALPHABETS)))
        side = st.integers(-1, 3) | st.lists(WORD, max_size=3) | ANYTHING
        found[draw(WORD | st.just(name))] = draw(st.lists(side, min_size=2, max_size=2) | ANYTHING)
    return json.dumps({"channels": found}).encode()


SIZES = st.lists(
    st.tuples(WORD, st.integers(1, 3) | WORD, st.integers(1, 3) | WORD), max_size=3, unique_by=lambda r: r[0]
)
FILES = st.one_of(
    st.tuples(st.just("json"), alphabets()),
    st.tuples(st.just("csv"), SIZES.map(lambda lines: as_csv(lines).replace(b"x,y,count", b"n_inputs,n_outputs"))),
    st.tuples(st.sampled_from(["json", "csv", "txt", ""]), st.binary() | ANYTHING.map(json.dumps).map(str.encode)),
)
OPTIONS = st.one_of(
    st.sampled_from(
        [[], ["--policy", "naive", "--epsilon", "0.1"], ["--max-senses", "3"], ["--policy", Steady.reference()]]
    ),
    st.tuples(
        st.sampled_from(["--delta", "--epsilon", "--policy", "--max-senses", "--subroutine", "--input-distribution"]),
        WORD | st.sampled_from(["0.1", "naive", "best-chan-id", "0.5,0.5", "inf", "-0"]) | st.text(max_size=5),
    ),
)


def ran(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code in (0, 1, 2, 3)
    if result.exit_code == 1:
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
    return result.exit_code


def answers(path):
    return {n: {j: t.tolist() for j, t in answer.counts.items()} for n, answer in store.read(path).answers.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def open_laboratory(folder):
    path = folder / "lab.db"
    if path.exists() and runs.view(path).ask() is None:
        path.unlink()
    if not path.exists():
        (folder / "alphabets.json").write_text(json.dumps({"channels": ALPHABETS}))
        assert ran("run", "new", path, "--alphabets", folder / "alphabets.json", "--policy", Steady.reference()) == 0
    return path


@settings(max_examples=80)
@given(content=TELLS, offset=st.sampled_from([0, 0, 0, 0, 0, 1, -1, "x", 10**30]))
def test_any_tell_is_taken_or_refused_and_the_run_stays_whole(content, offset, folder):
    path, (ending, data) = open_laboratory(folder), content
    (folder / f"answer.{ending}").write_bytes(data)
    before, number = answers(path), runs.view(path).ask().number
    request = number + offset if isinstance(offset, int) else offset
    code = ran("run", "tell", path, folder / f"answer.{ending}", "--request", request)
    after = answers(path)
    complete = runs.view(path).ask() is None or runs.view(path).ask().number > number
    assert after.keys() - before.keys() == ({number} if complete else set())
    assert code == 0 or not complete
    assert before.items() <= after.items()


@settings(max_examples=80)
@given(content=FILES, options=OPTIONS)
def test_any_alphabets_and_options_make_a_whole_run_or_none(content, options, folder):
    path, (ending, data) = folder / "new.db", content
    path.unlink(missing_ok=True)
    (folder / f"alphabets.{ending}").write_bytes(data)
    code = ran("run", "new", path, "--alphabets", folder / f"alphabets.{ending}", *options)
    if code in (0, 3):
        assert ran("run", "ask", path, "--json") == code
        assert ran("run", "status", path) == 0
        assert all(labels.key and all(labels.inputs + labels.outputs) for labels in runs.view(path).settings.labels)
    else:
        assert not path.exists()


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["run", "ask", "tell", "status", "resume", "identify", "--json", "--replay"]) | WORD, max_size=6
    )
)
def test_any_words_are_answered_in_words(words):
    ran(*words)
