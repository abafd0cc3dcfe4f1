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
from urllib.parse import quote

from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.runs.history import Entry, History, Record
from bestchannel.runs.settings import Settings

try:
    import fcntl
except ImportError:  # no such locks here: the number of an entry, which occurs once, has to do
    fcntl = None  # type: ignore[assignment]

APPLICATION_ID = 0x62436852
"""What the header of a run says, where `file` and SQLite look: "bChR"."""

VERSION = 1
"""Of the tables below."""

PATIENCE_S = 3.0
"""How long a second writer waits for the first."""

PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
"""What SQLite says of a file that may be in order: busy, full, not permitted."""

TABLES = (
    "CREATE TABLE run (settings TEXT NOT NULL)",
    """CREATE TABLE log (
        number INTEGER PRIMARY KEY, kind TEXT NOT NULL, request INTEGER NOT NULL, content TEXT NOT NULL,
        seal TEXT NOT NULL
    )""",
    "CREATE TRIGGER log_is_kept BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
    "CREATE TRIGGER log_stays BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


class NotWrittenError(BestChannelError, OSError):
    """A run that cannot be written to now: the disk is full, or writing is not permitted. What it holds is safe."""


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
        with _speaking(self.path), _transaction(self._connection):
            self._connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
        for entry in entries:
            self.history.add(entry)


def read(path: str | os.PathLike[str]) -> History:
    """What the run holds now. Nobody is kept waiting by it, not even the writer."""
    path = Path(path)
    try:
        with _speaking(path):
            if os.stat(path).st_size == 0:
                raise InputError("the file is empty, and a run is wanted; `bestchannel run new` begins one")
            with closing(_viewer(path)) as connection:
                connection.execute("BEGIN")  # settings and log of one moment
                return _history(connection)
    except NotWrittenError as error:  # nothing was to be written: the file cannot be read
        raise InputError(str(error)) from None


@contextmanager
def begun(path: str | os.PathLike[str], settings: Settings) -> Iterator[Store]:
    """A new run; a file that is there already is left alone."""
    with _writer(Path(path), os.O_CREAT) as connection:
        with _speaking(Path(path)):
            if not _is_empty(connection):
                raise InputError("the file exists; choose another name, or go on with it (`bestchannel run ask`)")
        yield _begin(Path(path), connection, settings)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Store]:
    """A run that exists."""
    with _writer(Path(path), 0) as connection:
        yield _open(Path(path), connection)


@contextmanager
def begun_or_opened(path: str | os.PathLike[str], settings: Settings) -> Iterator[Store]:
    """A run with these settings: the one in the file, or else a new one."""
    with _writer(Path(path), os.O_CREAT) as connection:
        with _speaking(Path(path)):
            empty = _is_empty(connection)
        if empty:
            yield _begin(Path(path), connection, settings)
            return
        store = _open(Path(path), connection)
        with _speaking(store.path):
            store.history.settings.refuse_other(settings)
        yield store


def _begin(path: Path, connection: sqlite3.Connection, settings: Settings) -> Store:
    """Write the settings: in one transaction, so that a crash leaves an empty file or a run."""
    with _speaking(path), _transaction(connection):
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO run VALUES (?)", (settings.text(),))
    return _open(path, connection)


def _open(path: Path, connection: sqlite3.Connection) -> Store:
    with _speaking(path):
        history = _history(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    return Store(path, connection, history)


def _history(connection: sqlite3.Connection) -> History:
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise InputError("the file must be a run of bestchannel; it is another database")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise InputError(f"the run has version {version}, and this program reads version {VERSION}; update bestchannel")
    settings = connection.execute("SELECT settings FROM run").fetchall()
    if len(settings) != 1:
        raise InputError("the settings of the run are damaged; restore the file from a copy")
    entries = connection.execute("SELECT number, kind, request, content, seal FROM log ORDER BY number")
    return History(Settings.parse(settings[0][0]), (Entry(*row) for row in entries))


@contextmanager
def _writer(path: Path, flags: int) -> Iterator[sqlite3.Connection]:
    with _lock(path, flags):
        with _speaking(path):
            connection = sqlite3.connect(_uri(path, "mode=rw"), uri=True, timeout=PATIENCE_S, isolation_level=None)
        with closing(connection):
            yield connection


@contextmanager
def _lock(path: Path, flags: int) -> Iterator[None]:
    """Keep other writers out until the end, or until this process dies."""
    with _speaking(path):
        descriptor = os.open(path, os.O_RDWR | flags, 0o666)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while fcntl and not _taken(descriptor):
            if time.monotonic() > deadline:
                raise InUseError(
                    f"{path}: another process writes to this run; wait until it ends"
                    " (`bestchannel run status` may look meanwhile)"
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)  # after SQLite is done: closing a file drops the locks that this process has on it


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _viewer(path: Path) -> sqlite3.Connection:
    """A connection that reads. Where the folder cannot be written to, nobody writes to the run either."""
    connection = sqlite3.connect(_uri(path, "mode=ro"), uri=True, timeout=PATIENCE_S, isolation_level=None)
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        connection.close()
        if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists():
            raise
        return sqlite3.connect(_uri(path, "immutable=1"), uri=True, isolation_level=None)
    return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was written, or what was begun was cut off and is taken back."""
    return connection.execute("PRAGMA page_count").fetchone() == (0,)


def _uri(path: Path, query: str) -> str:
    return f"file:{quote(os.path.abspath(path))}?{query}"


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _speaking(path: Path) -> Iterator[None]:
    """Say in a sentence that names the file what we, SQLite or the system object to."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file or folder") from None
    except sqlite3.IntegrityError:
        raise InUseError(f"{path}: another process has written to this run meanwhile; try again") from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in PASSING:
            raise NotWrittenError(f"{path}: the run cannot be used now ({error}); what it holds is safe") from None
        raise InputError(
            f"{path}: the file must be a whole run of bestchannel; it is not ({error}); restore it from a copy"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: the file cannot be used ({error.strerror})") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"{str(path)!r} is no path of a file ({error})") from None
