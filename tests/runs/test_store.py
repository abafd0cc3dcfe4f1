"""The contract of the file of a run: whole or empty, one writer, readers that nobody waits for, damage that is noticed."""

import contextlib
import os
import random
import shutil
import sqlite3
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from bestchannel import BestChannelError, InputError, runs
from bestchannel.errors import MissingFileError
from bestchannel.runs import store
from bestchannel.runs.settings import Replay
from tests.runs.steady import RIGHT, WRONG, Steady


def answered(path, n):
    with runs.open_run(path) as run:
        for _ in range(n):
            run.tell(run.ask().number, {0: RIGHT, 1: WRONG})


def in_a_process_that_dies(path, n):
    """Answer n requests, and end without closing anything."""
    pid = os.fork()
    if pid == 0:
        try:
            with runs.open_run(path) as run:
                for number in range(1, n + 1):
                    run.tell(number, {0: RIGHT, 1: WRONG})
                os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_header_says_what_the_file_is(lab):
    with sqlite3.connect(lab) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (store.RUN.application_id,)
        assert connection.execute("PRAGMA user_version").fetchone() == (store.RUN.version,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_closed_run_is_one_file(lab):
    answered(lab, 3)
    assert [path.name for path in lab.parent.iterdir()] == ["lab.db"]


@pytest.mark.parametrize("statement", ["DELETE FROM log WHERE number = 2", "UPDATE log SET content = '1'"])
def test_log_refuses_to_forget(statement, lab):
    answered(lab, 2)
    with sqlite3.connect(lab) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)


def test_second_writer_gets_a_clear_answer_and_readers_do_not_wait(lab, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE_S", 0.1)
    with runs.open_run(lab) as first:
        with (
            pytest.raises(runs.InUseError, match="another process writes to this run; wait until it ends"),
            runs.open_run(lab),
        ):
            pass
        first.tell(1, {0: RIGHT, 1: WRONG})
        assert runs.read_run(lab).senses == 4
    answered(lab, 1)


def test_a_sitting_waits_for_another_as_long_as_a_busy_machine_takes(lab, monkeypatch, caplog):
    first, now = contextlib.ExitStack(), 0.0
    first.enter_context(runs.open_run(lab)).tell(1, {0: RIGHT, 1: WRONG})

    def sleep(seconds):
        nonlocal now
        now += 1.0
        if now == 40:
            first.close()

    monkeypatch.setattr(store, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    with runs.open_run(lab) as second:
        assert second.ask().number == 2
    assert "another process writes to this run; waiting for it, at most 60 s" in caplog.text


def test_reader_in_the_middle_of_reading_does_not_stop_the_writer(lab):
    reader = sqlite3.connect(f"file:{lab}?mode=ro", uri=True, isolation_level=None)
    with runs.open_run(lab) as run:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM log").fetchone()
        for number in range(1, 20):
            run.tell(number, {0: RIGHT, 1: WRONG})
        assert reader.execute("SELECT count(*) FROM log").fetchone() == before
    reader.close()
    assert len(runs.read_run(lab).audit.steps) == 19


def test_reader_sees_what_a_writer_that_died_had_written(lab):
    in_a_process_that_dies(lab, 1)
    assert lab.with_name("lab.db-wal").stat().st_size > 0
    assert runs.read_run(lab).senses == 4
    answered(lab, 1)
    assert runs.read_run(lab).senses == 8


def test_empty_file_is_no_run_and_one_may_be_begun_in_it(tmp_path):
    path = tmp_path / "lab.db"
    path.touch()
    with pytest.raises(InputError, match=r"lab\.db: the file is empty, and a run is required"):
        runs.view(path)
    with runs.begin(path, Steady([(2, 2)] * 2, delta=0.1)) as run:
        assert run.ask().number == 1


def test_missing_file_is_missing(tmp_path):
    for reading in (runs.read_run, runs.view, runs.resume):
        with pytest.raises(MissingFileError, match="there is no such file or folder"):
            reading(tmp_path / "none.db")
    with pytest.raises(MissingFileError), runs.open_run(tmp_path / "none.db"):
        pass
    with pytest.raises(MissingFileError), runs.begin(tmp_path / "none" / "lab.db", Steady([(2, 2)], delta=0.1)):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"channel,x,y,count\n", b"SQLite format 3\0", b"\0" * 5000, b"x" * 5000])
def test_other_file_is_refused_and_left_alone(content, tmp_path):
    path = tmp_path / "lab.db"
    path.write_bytes(content)
    for using in (
        runs.view,
        lambda p: runs.open_run(p).__enter__(),
        lambda p: runs.begin(p, Steady([(2, 2)], delta=0.1)).__enter__(),
    ):
        with pytest.raises(InputError, match=r"lab\.db: the file "):
            using(path)
    assert path.read_bytes() == content


def test_other_database_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("CREATE TABLE log (a)")
    with pytest.raises(InputError, match="must be a run of bestchannel; it is another database"):
        runs.view(tmp_path / "lab.db")


def test_run_of_a_later_version_is_refused(lab):
    with sqlite3.connect(lab) as connection:
        connection.execute("PRAGMA user_version = 3")
    with pytest.raises(InputError, match="the run has version 3, and this program reads version 1 and 2; use the"):
        runs.view(lab)


@pytest.mark.parametrize("path", ["a\0b", "", "/"])
def test_path_that_is_none_is_refused(path):
    with pytest.raises(BestChannelError):
        runs.view(path)
    with pytest.raises(BestChannelError), runs.open_run(path):
        pass


def changed(data, rng):
    """The file cut short, or with a few bytes replaced, or with a piece zeroed as by a page that was never written."""
    kind, at = rng.choice(["cut", "bytes", "zeros"]), rng.randrange(len(data))
    if kind == "cut":
        return data[:at]
    if kind == "zeros":
        return data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :]
    torn = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        torn[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(torn)


def test_torn_file_is_refused_in_one_sentence_or_is_a_run_that_holds_only_what_was_told(lab):
    answered(lab, 20)
    whole, data = store.read(lab), lab.read_bytes()
    rng, sentences = random.Random(1), []
    for _ in range(400):
        lab.write_bytes(changed(data, rng))
        try:
            found = runs.view(lab).history
        except BestChannelError as error:
            sentences.append(str(error))
        else:
            assert [a.counts[1].tolist() for a in found.answers.values()] == [WRONG.tolist()] * len(found.answers)
            assert found.requests.keys() <= whole.requests.keys()
        for suffix in ("-wal", "-shm"):
            lab.with_name(f"lab.db{suffix}").unlink(missing_ok=True)
    assert len(sentences) > 100
    assert not any("\n" in sentence for sentence in sentences)


def test_lost_wal_leaves_the_beginning_of_the_log(lab):
    in_a_process_that_dies(lab, 5)
    for suffix in ("-wal", "-shm"):
        lab.with_name(f"lab.db{suffix}").unlink()
    assert runs.view(lab).ask().number == 1
    answered(lab, 1)


def test_torn_wal_leaves_a_beginning_of_the_log(lab):
    in_a_process_that_dies(lab, 20)
    wal, shm = (lab.with_name(f"lab.db{suffix}") for suffix in ("-wal", "-shm"))
    rng, main, data, lengths = random.Random(2), lab.read_bytes(), wal.read_bytes(), set()
    for _ in range(60):
        shm.unlink(missing_ok=True)
        lab.write_bytes(main)
        wal.write_bytes(changed(data, rng))
        found = runs.view(lab).history.answers
        assert [answer.counts[1].tolist() for answer in found.values()] == [WRONG.tolist()] * len(found)
        lengths.add(len(found))
    assert len(lengths) > 5


def test_run_in_a_folder_that_cannot_be_written_to_can_be_read(lab):
    answered(lab, 2)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "lab.db"
        shutil.copy(lab, copy)
        os.chmod(folder, 0o555)
        pid = os.fork()
        if pid == 0:
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)  # nothing is forbidden to root
                os._exit(runs.view(copy).outcome().senses)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.chmod(folder, 0o755)
    assert status == 8


def tell(run):
    run.tell(run.ask().number, {0: RIGHT, 1: WRONG})


def test_file_that_was_copied_over_an_open_run_is_noticed_and_left_as_it_is(lab, tmp_path):
    backup = tmp_path / "backup.db"
    shutil.copy(lab, backup)
    answered(lab, 2)
    with runs.open_run(lab) as run:
        tell(run)
        shutil.copyfile(backup, lab)
        with pytest.raises(store.ReplacedError, match="moved, deleted or overwritten while it was open"):
            tell(run)
    assert lab.read_bytes() == backup.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.db", "lab.db"]
    answered(lab, 1)
    assert len(runs.view(lab).outcome().audit.steps) == 1


def test_other_file_in_the_place_of_an_open_run_gets_nothing_of_it_and_the_run_keeps_all(lab, tmp_path):
    other = tmp_path / "other.db"
    shutil.copy(lab, other)
    with runs.open_run(lab) as run:
        tell(run)
        lab.rename(tmp_path / "moved.db")
        other.rename(lab)
        with pytest.raises(store.ReplacedError, match="moved, deleted or overwritten"):
            tell(run)
    assert len(runs.view(tmp_path / "moved.db").outcome().audit.steps) == 1
    assert len(runs.view(lab).outcome().audit.steps) == 0


def test_another_date_is_no_other_file(lab):
    with runs.open_run(lab) as run:
        tell(run)
        os.utime(lab, (1, 1))
        tell(run)
        shutil.copyfile(lab, lab.with_name("same.db"))
        shutil.copyfile(lab.with_name("same.db"), lab)
        tell(run)
    assert len(runs.view(lab).outcome().audit.steps) == 3


def test_log_of_sqlite_is_put_into_the_file_now_and_then_and_the_run_goes_on(lab, monkeypatch):
    monkeypatch.setattr(store, "MOST_LOG", 20_000)
    log, sizes = lab.with_name("lab.db-wal"), []
    with runs.open_run(lab) as run:
        for _ in range(30):
            tell(run)
            sizes.append(log.stat().st_size)
    assert 0 in sizes
    assert max(sizes) < 40_000
    assert len(runs.view(lab).outcome().audit.steps) == 30


def test_run_is_never_there_without_the_limit_that_it_was_begun_with(tmp_path, monkeypatch):
    def full(self, *records):
        raise runs.NotWrittenError("no space left")

    path = tmp_path / "lab.db"
    monkeypatch.setattr(store.Store, "append", full)
    with pytest.raises(runs.NotWrittenError), runs.begin(path, Steady([(2, 2)] * 2, delta=0.1), max_senses=7):
        pass
    assert store.read(path).max_senses == 7


class Full:
    """A connection to a file that cannot grow: the log of SQLite cannot be put into it."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, statement, *values):
        if "wal_checkpoint" in statement:
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(statement, *values)

    def __enter__(self):
        return self._connection.__enter__()

    def __exit__(self, *raised):
        return self._connection.__exit__(*raised)

    def close(self):
        self._connection.close()


def test_answer_that_is_on_disk_is_told_though_the_log_of_sqlite_cannot_be_put_into_the_file(lab, monkeypatch):
    monkeypatch.setattr(store, "MOST_LOG", 1)
    with runs.open_run(lab) as run:
        monkeypatch.setattr(run.store, "_connection", Full(run.store._connection))
        for number in (1, 2, 3):
            run.tell(number, {0: RIGHT, 1: WRONG})
        assert run.ask().number == 4
    assert len(runs.view(lab).outcome().audit.steps) == 3


def test_name_that_no_file_can_have_is_refused_in_a_sentence():
    replay = Replay([Path("a" * 5000)], None, None)
    with pytest.raises(InputError, match="the file cannot be read"):
        replay.record(Path("run.db"))
