"""Run files that somebody has made or changed on purpose: refused in a sentence, and left as they are."""

import hashlib
import json
import os
import sqlite3

import numpy as np
import pytest

from bestchannel import InputError, runs
from bestchannel.channels import bsc
from bestchannel.runs import history, sqlite_file, store
from tests.runs.steady import RIGHT, WRONG, Steady

DAMAGED = r"lab\.db: the settings of the run are damaged"
FOREIGN = {
    "trigger that takes back what is told": (
        "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log WHERE number > 1; END",
        "trigger 't'",
    ),
    "trigger that tells more": (
        "CREATE TRIGGER t AFTER INSERT ON times BEGIN UPDATE run SET settings = ''; END",
        "'t'",
    ),
    "view": ("CREATE VIEW v AS SELECT * FROM log", "view 'v'"),
    "table": ("CREATE TABLE more (a)", "table 'more'"),
    "index": ("CREATE UNIQUE INDEX i ON log (kind)", "index 'i'"),
    "column": ("ALTER TABLE log ADD COLUMN more", "table 'log'"),
    "computed column": ("ALTER TABLE run ADD COLUMN more AS (settings || settings)", "table 'run'"),
    "no trigger": ("DROP TRIGGER log_stays", "trigger 'log_stays'"),
}


def execute(path, *statements):
    with sqlite3.connect(path, isolation_level=None) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("name", FOREIGN)
def test_file_with_anything_but_a_run_in_it_is_refused_by_readers_and_writers(name, lab):
    statement, what = FOREIGN[name]
    execute(lab, statement)
    before = lab.read_bytes()
    for using in (runs.view, runs.answers_itself, lambda path: runs.open_run(path).__enter__()):
        with pytest.raises(InputError, match=rf"lab\.db: the file must hold what a run .* it differs in the .*{what}"):
            using(lab)
    assert lab.read_bytes() == before


def test_log_that_is_a_view_is_refused(lab):
    execute(lab, "ALTER TABLE log RENAME TO entries", "CREATE VIEW log AS SELECT * FROM entries WHERE number < 2")
    with pytest.raises(InputError, match="it differs in the"):
        runs.view(lab)


def test_journal_with_a_foreign_trigger_is_refused(tmp_path):
    from bestchannel.study.journal import opened
    from tests.study.test_journal import spec_of

    with opened(tmp_path / "j.db", spec_of()):
        pass
    execute(tmp_path / "j.db", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
    with (
        pytest.raises(InputError, match=r"j\.db: the file must hold what a journal"),
        opened(tmp_path / "j.db", spec_of()),
    ):
        pass


def test_oversized_value_is_refused_before_there_is_memory_for_it(lab, monkeypatch):
    execute(lab, "UPDATE run SET settings = zeroblob(3000000)")
    monkeypatch.setattr(sqlite_file, "LARGEST_VALUE", 2_000_000)
    with pytest.raises(InputError, match=r"lab\.db: the file must be a whole run .*too big"):
        runs.view(lab)


def test_entry_that_no_file_would_hold_is_not_written(lab, monkeypatch):
    monkeypatch.setattr(history, "LARGEST_VALUE", 10)
    with runs.open_run(lab) as run, pytest.raises(InputError, match="an entry of a run has at most 10 letters"):
        run.tell(1, {0: RIGHT, 1: WRONG})
    assert runs.view(lab).ask().number == 1


def forged(path, change_settings=None, change_entries=None):
    """The run with other settings or entries, sealed as if it had been written so."""
    with sqlite3.connect(path) as connection:
        (text,) = connection.execute("SELECT settings FROM run").fetchone()
        entries = connection.execute("SELECT kind, request, content FROM log ORDER BY number").fetchall()
    connection.close()
    content = json.loads(text)
    changed = change_settings(content) if change_settings else None
    text = json.dumps(content if changed is None else changed)
    entries = change_entries(entries) if change_entries else entries
    path.unlink()
    with sqlite3.connect(path) as connection:
        store.RUN.create(connection)
        connection.execute("INSERT INTO run VALUES (?)", (text,))
        seal = hashlib.sha256(text.encode()).hexdigest()
        for number, (kind, request, content) in enumerate(entries, start=1):
            seal = hashlib.sha256(f"{seal} {number} {kind} {request} {content}".encode()).hexdigest()
            connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", (number, kind, request, content, seal))
    connection.close()


def test_forgery_that_changes_nothing_is_a_run(lab):
    forged(lab)
    assert runs.view(lab).ask().number == 1


SETTINGS = {
    "no object": lambda s: [],
    "no channels": lambda s: s.update(channels=[]),
    "channels of another kind": lambda s: s.update(channels={"a": 1}),
    "one name twice": lambda s: s["channels"][1].update(key="cable"),
    "a name that is a list": lambda s: s["channels"][1].update(key=["cable"]),
    "letters that are one text": lambda s: s["channels"][0].update(inputs="ab"),
    "letters that are numbers": lambda s: s["channels"][0].update(inputs=[0, 1]),
    "no letters": lambda s: s["channels"][0].update(outputs=[]),
    "policy": lambda s: s.update(policy=7),
    "delta": lambda s: s.update(delta="0.1"),
    "epsilon": lambda s: s.update(epsilon=[]),
    "options": lambda s: s.update(options=[["a", 1]]),
    "source": lambda s: s.update(source="laboratory"),
    "source of no kind": lambda s: s.update(source={}),
    "kind of source": lambda s: s.update(source={"kind": {}}),
    "inferred outputs": lambda s: s.update(inferred_outputs="no"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_malformed_settings_are_refused(name, lab):
    forged(lab, SETTINGS[name])
    for using in (runs.view, runs.answers_itself, lambda path: runs.open_run(path).__enter__()):
        with pytest.raises(InputError, match=DAMAGED):
            using(lab)


@pytest.mark.parametrize(
    "change",
    [lambda s: s.update(delta=7), lambda s: s.update(options={"a": 1}), lambda s: s.update(policy="none.such:Policy")],
)
def test_settings_that_make_no_policy_are_refused(change, lab):
    forged(lab, change)
    with pytest.raises(InputError, match="the policy of the run cannot be made"):
        runs.view(lab)


ENTRIES = {
    "limit that is a text": [("limit", 0, '"many"')],
    "limit that is not whole": [("limit", 0, "1.5")],
    "limit below 0": [("limit", 0, "-1")],
    "request for a channel that is not there": [("asked", 1, "[[7, [1, 1]]]")],
    "request for parts of senses": [("asked", 1, "[[0, [0.5, 1]], [1, [1, 1]]]")],
    "request below 0": [("asked", 1, "[[0, [-1, 1]], [1, [1, 1]]]")],
    "answer in parts of senses": [
        ("asked", 1, "[[0, [1, 1]], [1, [1, 1]]]"),
        ("told", 1, '{"counts": [[0, [[1.9, 0], [0, 1]]], [1, [[1, 0], [0, 1]]]], "state": null}'),
    ],
    "answer to less than was asked": [
        ("asked", 1, "[[0, [1, 1]], [1, [1, 1]]]"),
        ("told", 1, '{"counts": [[0, [[1, 0], [0, 1]]]], "state": null}'),
    ],
    "piece of a channel that is not there": [
        ("asked", 1, "[[0, [1, 1]], [1, [1, 1]]]"),
        ("pieces", 1, '[["a", 9, 0, [1, 0]]]'),
    ],
    "piece that counts twice": [
        ("asked", 1, "[[0, [1, 1]], [1, [1, 1]]]"),
        ("pieces", 1, '[["a", 0, 0, [1, 0]]]'),
        ("pieces", 1, '[["a", 0, 0, [1, 0]]]'),
    ],
    "answer that leaves a piece out": [
        ("asked", 1, "[[0, [1, 1]], [1, [1, 1]]]"),
        ("pieces", 1, '[["a", 0, 0, [0, 1]]]'),
        ("told", 1, '{"counts": [[0, [[1, 0], [0, 1]]], [1, [[1, 0], [0, 1]]]], "state": null}'),
    ],
    "entry of another kind": [("amen", 1, "[]")],
}


@pytest.mark.parametrize("name", ENTRIES)
def test_malformed_entry_is_refused(name, lab):
    forged(lab, change_entries=lambda entries: ENTRIES[name])
    with pytest.raises(InputError, match=rf"lab\.db: the log of the run is damaged at entry {len(ENTRIES[name])} "):
        runs.view(lab)


def test_time_that_is_none_is_refused(lab):
    execute(lab, "UPDATE times SET written = 'yesterday'")
    with pytest.raises(InputError, match="the log of the run is damaged at entry 1 "):
        runs.view(lab)


@pytest.fixture
def simulated(tmp_path):
    path = tmp_path / "lab.db"
    source = runs.Simulation({"a": bsc(0.1), "b": bsc(0.2)}, 1)
    policy = Steady([(2, 2)] * 2, delta=0.1)
    runs.identify_durably(source.sensor(), policy, path, source=source.record(path), max_senses=8)
    return path


def with_state(state):
    def change(entries):
        kind, number, content = entries[-1]
        assert kind == "told"
        return [*entries[:-1], (kind, number, json.dumps(json.loads(content) | {"state": state}))]

    return change


def counter_state(**changes):
    return np.random.default_rng(1).bit_generator.state | changes


@pytest.mark.parametrize(
    "state",
    [
        None,
        7,
        {},
        [],
        "PCG64",
        counter_state(bit_generator="MT19937"),
        counter_state(state={"state": -1, "inc": 1}),
        counter_state(state={"state": 1.5, "inc": 1}),
        counter_state(state={"state": 2**300, "inc": 1}),
        counter_state(has_uint32="yes"),
        counter_state(uinteger=2**40),
    ],
)
def test_malformed_random_state_is_refused(state, simulated):
    forged(simulated, change_entries=with_state(state))
    with pytest.raises(InputError, match="must have the state of the sensor's random generator"):
        runs.resume(simulated, max_senses=100)


@pytest.mark.parametrize(
    "change",
    [{"seed": "1"}, {"seed": -1}, {"rows": []}, {"rows": None}, {"rows": [[[1, 0]], [[1, 0], [0, 1]]]}, {"rows": 7}],
)
def test_malformed_simulation_is_refused(change, simulated):
    forged(simulated, lambda settings: settings["source"].update(change))
    with pytest.raises(InputError):
        runs.resume(simulated, max_senses=100)


@pytest.mark.parametrize("kind", ["/dev/zero", "/dev/tty", "pipe", "folder"])
def test_stored_path_to_what_is_no_file_is_refused_at_once(kind, simulated):
    os.mkfifo(simulated.with_name("pipe"))
    simulated.with_name("folder").mkdir()
    stored = {"kind": "recording", "path": kind, "sha256": "", "outputs": None, "columns": None}
    forged(simulated, lambda settings: settings.update(source=stored))
    with pytest.raises(InputError, match=r"so that this must be a file|cannot be read"):
        runs.resume(simulated)


@pytest.mark.parametrize("change", [{"path": 7}, {"outputs": 7}, {"columns": [1]}, {"outputs": [1]}, {"sha256": None}])
def test_malformed_recording_is_refused(change, simulated):
    simulated.with_name("trials.csv").write_text("channel,x,y\na,0,0\n")
    stored = {"kind": "recording", "path": "trials.csv", "sha256": "", "outputs": None, "columns": None} | change
    forged(simulated, lambda settings: settings.update(source=stored))
    with pytest.raises(InputError):
        runs.resume(simulated)


@pytest.mark.parametrize("what", ["/dev/zero", "/dev/null", "pipe"])
def test_run_that_is_no_file_is_refused_at_once(what, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for using in (runs.view, lambda path: runs.open_run(path).__enter__()):
        with pytest.raises(InputError, match="a file is required; this is a folder, a pipe or a device"):
            using(tmp_path / what)


def test_run_of_version_1_is_read_and_gets_times_with_the_next_answer(lab):
    execute(lab, "DROP TABLE times", "PRAGMA user_version = 1")
    assert runs.view(lab).history.began is None
    with runs.open_run(lab) as run:
        run.tell(1, {0: RIGHT, 1: WRONG})
    found = runs.view(lab).history
    assert found.told_at.keys() == {1}
    assert found.requests.keys() == {1, 2}
