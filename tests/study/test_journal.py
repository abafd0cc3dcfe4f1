"""The journal: whole pieces or nothing, one specification per file."""

import sqlite3
from dataclasses import replace

import pytest

from bestchannel import InputError
from bestchannel.study.journal import differences, opened
from bestchannel.study.monte_carlo import SimulatedRun
from bestchannel.study.spec import parse_spec

CONTENT = {
    "seed": 1,
    "runs": 10,
    "deltas": [0.1],
    "policies": [{"policy": "adaptive"}],
    "instances": [{"family": "near-tie"}],
}
RUNS = [
    SimulatedRun(0, 0, 1, True, True, True, 2**70, 3, 0.5),
    SimulatedRun(0, 1, None, False, False, True, 5, 1, 0.25),
    SimulatedRun(2, 0, 0, True, False, False, 7, 2, 0.125),
]


def spec_of(**changes):
    return parse_spec(CONTENT | changes, folder=None)


def test_what_was_added_is_read_back_by_another_connection(tmp_path):
    with opened(tmp_path / "j.db", spec_of()) as journal:
        journal.add(RUNS)
        journal.add_time(0, 2, 1.5, 2.5)
        with opened(tmp_path / "j.db", spec_of()) as viewer:
            assert viewer.runs() == RUNS
            assert viewer.first_runs() == [RUNS[0], RUNS[2]]
            assert viewer.numbers(0) == {0, 1}
            assert viewer.times() == {(0, 2): (1.5, 2.5)}


def test_run_added_twice_is_there_once(tmp_path):
    with opened(tmp_path / "j.db", spec_of()) as journal:
        journal.add(RUNS)
        journal.add(RUNS[1:])
        assert journal.runs() == RUNS


def test_piece_that_fails_half_way_leaves_nothing(tmp_path):
    with opened(tmp_path / "j.db", spec_of()) as journal:
        with pytest.raises(InputError, match=r"j\.db: the file must be a whole journal"):
            journal.add([RUNS[0], replace(RUNS[1], rounds=None)])
        assert journal.runs() == []


CHANGES = {
    "seed": ({"seed": 2}, "seed = 1, and the specification now has 2"),
    "delta": ({"deltas": [0.2]}, "deltas[0] = 0.1, and the specification now has 0.2"),
    "more deltas": ({"deltas": [0.1, 0.2]}, "deltas = [0.1], and the specification now has [0.1, 0.2]"),
    "family": ({"instances": [{"family": "near-tie", "gap": 0.5}]}, "instances[0].numbers.gap = 0.0001"),
    "option": ({"policies": [{"policy": "adaptive", "epsilon": 0.1}]}, "policies[0].options.epsilon = null"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_changed_specification_is_refused_with_the_key_and_both_values(tmp_path, change, message):
    with opened(tmp_path / "j.db", spec_of()) as journal:
        journal.add(RUNS)
    with pytest.raises(InputError) as caught, opened(tmp_path / "j.db", spec_of(**change)):
        pass
    assert str(caught.value).startswith(f"{tmp_path / 'j.db'}: these runs belong to a study with")
    assert message in str(caught.value)


def test_equal_records_have_no_differences():
    assert list(differences({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})) == []


def test_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "j.db").write_text("no database, but long enough to be looked at as one" * 10)
    with (
        pytest.raises(InputError, match="the file must be a whole journal of bestchannel"),
        opened(tmp_path / "j.db", spec_of()),
    ):
        pass


def test_journal_of_another_version_is_refused(tmp_path):
    with opened(tmp_path / "j.db", spec_of()):
        pass
    with sqlite3.connect(tmp_path / "j.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with (
        pytest.raises(InputError, match="has version 99, and this program reads version 4"),
        opened(tmp_path / "j.db", spec_of()),
    ):
        pass
