"""A run on disk: one SQLite file.

The contract: what `Store.append` has returned from survives a crash of the process or of the machine;
what it has not is absent, never half there. Entries are added and never changed. One process writes, and
any number of others read what is there without being waited for. A file is either a whole run or empty,
as a crash while it was begun may leave it; an empty file is no run, and one may be begun in it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bestchannel.compiled import logger
from bestchannel.errors import BestChannelError, InputError
from bestchannel.runs.history import Entry, History, Record
from bestchannel.runs.settings import Settings
from bestchannel.runs.sqlite_file import Kind, NotWrittenError, connected, is_empty, make_durable, transaction

try:
    import fcntl
except ImportError:  # no such locks here: the number of an entry, which occurs once, has to do
    fcntl = None  # type: ignore[assignment]

PATIENCE_S = 60.0
"""How long a sitting waits for another, which may have to compile kernels on a busy machine, and SQLite for others."""

BRIEFLY_S = 3.0
"""How long who may go on for days waits for another such; and when a sitting that waits longer says so."""

RUN = Kind(
    "run",
    application_id=0x62436852,  # "bChR"
    added={
        1: (
            "CREATE TABLE run (settings TEXT NOT NULL)",
            """CREATE TABLE log (
            number INTEGER PRIMARY KEY, kind TEXT NOT NULL, request INTEGER NOT NULL, content TEXT NOT NULL,
            seal TEXT NOT NULL
        )""",
            "CREATE TRIGGER log_is_kept BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
            "CREATE TRIGGER log_stays BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
        ),
        2: ("CREATE TABLE times (number INTEGER PRIMARY KEY, written TEXT NOT NULL)",),
    },
)


class InUseError(BestChannelError, OSError):
    """A run that another process writes to."""


class Store:
    """A run that this process, and no other, writes to."""

    def __init__(self, path: Path, connection: sqlite3.Connection, history: History) -> None:
        self.path = path
        self.history = history
        self._connection = connection

    def append(self, *records: Record) -> None:
        """Put the records on disk as the next entries, all or none."""
        entries = self.history.next_entries(*records)
        rows = [(e.number, e.kind, e.request, e.content, e.seal) for e in entries]
        with RUN.speaking(self.path), transaction(self._connection):
            RUN.upgrade(self._connection)
            try:
                self._connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
                self._connection.executemany("INSERT INTO times VALUES (?, ?)", [(e.number, e.time) for e in entries])
            except sqlite3.IntegrityError:
                raise InUseError(f"{self.path}: another process has written to this run meanwhile; try again") from None
        for entry in entries:
            self.history.add(entry)


def read(path: str | os.PathLike[str]) -> History:
    """What the run holds now. Nobody is kept waiting by it, not even the writer."""
    with _reading(Path(path)) as connection:
        return _history(connection)


def copied(path: str | os.PathLike[str]) -> bytes:
    """The file of the run as it stands at one moment, whoever writes to it."""
    with _reading(Path(path)) as connection:
        _settings(connection)  # refuses what is no run
        return connection.serialize()


@contextmanager
def begun(path: str | os.PathLike[str], settings: Settings) -> Iterator[Store]:
    """A new run; a file that is there already is left alone."""
    with _writer(Path(path), os.O_CREAT, BRIEFLY_S) as connection:
        with RUN.speaking(Path(path)):
            if not is_empty(connection):
                raise InputError("the file exists; choose another name, or go on with it (`bestchannel run ask`)")
        yield _begin(Path(path), connection, settings)


@contextmanager
def opened(path: str | os.PathLike[str], patience_s: float = BRIEFLY_S) -> Iterator[Store]:
    """A run that exists, once no other process writes to it; after `patience_s` seconds that is refused."""
    with _writer(Path(path), 0, patience_s) as connection:
        yield _open(Path(path), connection)


@contextmanager
def begun_or_opened(path: str | os.PathLike[str], settings: Settings) -> Iterator[Store]:
    """A run with these settings: the one in the file, or else a new one."""
    with _writer(Path(path), os.O_CREAT, BRIEFLY_S) as connection:
        with RUN.speaking(Path(path)):
            empty = is_empty(connection)
        if empty:
            yield _begin(Path(path), connection, settings)
            return
        store = _open(Path(path), connection)
        with RUN.speaking(store.path):
            store.history.settings.refuse_other(settings)
        yield store


def _begin(path: Path, connection: sqlite3.Connection, settings: Settings) -> Store:
    """Write the settings: in one transaction, so that a crash leaves an empty file or a run."""
    with RUN.speaking(path), transaction(connection):
        RUN.create(connection)
        connection.execute("INSERT INTO run VALUES (?)", (settings.text(),))
    return _open(path, connection)


def _open(path: Path, connection: sqlite3.Connection) -> Store:
    with RUN.speaking(path):
        history = _history(connection)
        make_durable(connection)
    return Store(path, connection, history)


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """What the run is about, without its log."""
    with _reading(Path(path)) as connection:
        return _settings(connection)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees one moment of the run."""
    try:
        with RUN.speaking(path):
            os.stat(path)  # SQLite would only say that it cannot open a file that is missing
            with closing(_viewer(path)) as connection:
                connection.execute("BEGIN")
                yield connection
    except NotWrittenError as error:  # nothing was to be written: the file cannot be read
        raise InputError(str(error)) from None


def _history(connection: sqlite3.Connection) -> History:
    settings, version = _settings(connection), RUN.require(connection)
    entries = connection.execute(
        "SELECT number, kind, request, content, seal, written FROM log LEFT JOIN times USING (number) ORDER BY number"
        if version > 1
        else "SELECT number, kind, request, content, seal FROM log ORDER BY number"
    )
    return History(settings, (Entry(*row) for row in entries))


def _settings(connection: sqlite3.Connection) -> Settings:
    if is_empty(connection):
        raise InputError("the file is empty, and a run is required; `bestchannel run new` begins one")
    RUN.require(connection)
    found = connection.execute("SELECT settings FROM run").fetchall()
    if len(found) != 1:
        raise InputError("the settings of the run are damaged; restore the file from a copy")
    return Settings.parse(found[0][0])


@contextmanager
def _writer(path: Path, flags: int, patience_s: float) -> Iterator[sqlite3.Connection]:
    with _lock(path, flags, patience_s):
        with RUN.speaking(path):
            connection = connected(path, "mode=rw", PATIENCE_S)
        with closing(connection):
            yield connection


@contextmanager
def _lock(path: Path, flags: int, patience_s: float) -> Iterator[None]:
    """Keep other writers out until the end, or until this process dies."""
    with RUN.speaking(path):
        descriptor = os.open(path, os.O_RDWR | flags, 0o666)
    try:
        _wait_for(descriptor, path, patience_s)
        yield
    finally:
        os.close(descriptor)  # after SQLite is done: closing a file drops the locks that this process has on it


def _wait_for(descriptor: int, path: Path, patience_s: float) -> None:
    began, notice = time.monotonic(), BRIEFLY_S
    while fcntl and not _taken(descriptor):
        waited = time.monotonic() - began
        if waited > patience_s:
            raise InUseError(
                f"{path}: another process writes to this run; wait until it ends"
                " (`bestchannel run status` may look meanwhile)"
            )
        if waited > notice:
            logger.warning("%s: another process writes to this run; waiting for it, at most %g s", path, patience_s)
            notice = patience_s
        time.sleep(0.02)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _viewer(path: Path) -> sqlite3.Connection:
    """A connection that reads. Where the folder cannot be written to, nobody writes to the run either."""
    connection = connected(path, "mode=ro", PATIENCE_S)
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        connection.close()
        if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists():
            raise
        return connected(path, "immutable=1", PATIENCE_S)
    return connection
