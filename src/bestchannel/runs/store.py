"""A run on disk: one SQLite file.

The contract: what `Store.append` has returned from survives a crash of the process or of the machine;
what it has not is absent, never half there. Entries are added and never changed. One process writes, and
any number of others read what is there without being waited for. A file is either a whole run or empty,
as a crash while it was begun may leave it; an empty file is no run, and one may be begun in it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import numpy as np

from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.process import logger
from bestchannel.runs.history import LIMIT, Entry, History, Record
from bestchannel.runs.settings import Settings
from bestchannel.runs.sqlite_file import Kind, NotWrittenError, connected, is_empty, make_durable, transaction

try:
    import fcntl
except ImportError:  # no such locks here: the number of an entry, which occurs once, has to do
    fcntl = None  # type: ignore[assignment]

PATIENCE_S = 60.0  # how long a sitting waits for another, which may think on a busy machine, and SQLite for others
BRIEFLY_S = 3.0  # how long who may go on for days waits for another such; and when a sitting that waits longer says so
MOST_LOG = 2**22  # bytes of SQLite's log of what was written last, after which that is put into the file itself
Stamp = tuple[int, int, int, int] | None
"""By which it shows whether somebody else has replaced a file or written to it; None where there is none."""

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


class ReplacedError(MissingFileError):
    """A run whose file was moved, deleted or overwritten while it was open."""


class Store:
    """A run that this process, and no other, writes to.

    SQLite does not notice when another file is copied over this one, and would write into that. Here it changes the
    file only where it is told to (`_put_log_into_file`), so that whatever else does is seen.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, file: int, history: History) -> None:
        self.path, self.history = path, history
        self._connection, self._file = connection, file
        self._log = path.with_name(f"{path.name}-wal")
        self._filing, self._closed = threading.Lock(), False
        self._left = _stamp(path), _digest(self._file)
        self._log_left = _stamp(self._log)

    def in_place(self) -> bool:
        """Whether the file is as this process has left it, whatever its date; any thread may ask."""
        with self._filing:
            (stamp, digest), now = self._left, _stamp(self.path)
            if now == stamp:
                return True
            if not _same_file(now, stamp) or self._closed or _digest(self._file) != digest:
                return False
            self._left = now, digest
            return True

    def limit(self, max_senses: int | None) -> None:
        """Let the run spend at most so many senses; None leaves the limit as it is."""
        refuse_limit(max_senses, self.history.senses)
        if max_senses is not None and max_senses != self.history.max_senses:
            self.append((LIMIT, 0, int(max_senses)))

    def append(self, *records: Record) -> None:
        """Put the records on disk as the next entries, all or none."""
        entries = self.history.next_entries(*records)
        self._refuse_other_file()
        with RUN.errors_naming(self.path), transaction(self._connection):
            RUN.upgrade(self._connection)
            try:
                _insert(self._connection, entries)
            except sqlite3.IntegrityError:
                raise InUseError(f"{self.path}: another process has written to this run meanwhile; try again") from None
        self._refuse_other_file()
        for entry in entries:
            self.history.add(entry)
        self._log_left = _stamp(self._log)
        if self._log_left and self._log_left[-1] > MOST_LOG:
            self._put_log_into_file()

    def close(self, reader: sqlite3.Connection) -> None:
        """Let go of the file.

        SQLite's log stays beside a file that is not this one any more, and whoever opened that would read both: what it
        has is put into the file of this run, wherever that is now, unless it was overwritten, and the log is deleted.
        The reader is closed last then: the last one to be closed would put the log into the file, and it cannot write.
        """
        in_place = self.in_place()
        if not in_place:
            if not _same_file(_stamp(self.path), self._left[0]):
                with suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if _same_file(_stamp(self._log), self._log_left):
                for ending in ("-wal", "-shm"):
                    self.path.with_name(f"{self.path.name}{ending}").unlink(missing_ok=True)
        for connection in (reader, self._connection) if in_place else (self._connection, reader):
            connection.close()
        self._closed = True
        if in_place:
            self._left = _stamp(self.path), b""

    def _refuse_other_file(self) -> None:
        if not self.in_place():
            raise ReplacedError(
                f"{self.path}: the file of the run was moved, deleted or overwritten while it was open, and nothing"
                " more is written to it; open it again to go on with what it holds now"
            )

    def _put_log_into_file(self) -> None:
        """Let SQLite empty its log into the file, unless somebody reads from the log just now, or the disk is full."""
        with self._filing, RUN.errors_naming(self.path):
            self._connection.execute("PRAGMA busy_timeout = 0")
            with suppress(sqlite3.Error):  # what the log has is on disk, wherever it stays
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute(f"PRAGMA busy_timeout = {PATIENCE_S * 1000:.0f}")
            self._left = _stamp(self.path), _digest(self._file)


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
def opened(
    file: str | os.PathLike[str],
    settings: Settings | None = None,
    *records: Record,
    wait_s: float = BRIEFLY_S,
    is_new: bool = False,
) -> Iterator[Store]:
    """The run in the file, once no other process writes to it; after `wait_s` seconds that is refused.

    It is begun there, with these records, where settings are given and the file is empty; `is_new` refuses other files.
    """
    path = Path(file)
    with ExitStack() as until_then:
        with RUN.errors_naming(path):
            descriptor = os.open(path, os.O_RDWR | (0 if settings is None else os.O_CREAT), 0o666)
        # after SQLite is done: closing a file drops the locks that this process has on it
        until_then.callback(os.close, descriptor)
        _lock(descriptor, path, wait_s)
        with RUN.errors_naming(path):
            connection = until_then.enter_context(closing(connected(path, "mode=rw", PATIENCE_S)))
            if settings is not None and is_empty(connection):
                with transaction(connection):  # one, so that a crash leaves an empty file or a run
                    RUN.create(connection)
                    connection.execute("INSERT INTO run VALUES (?)", (settings.text(),))
                    _insert(connection, History(settings).next_entries(*records))
            elif is_new:
                raise InputError("the file exists; choose another name, or go on with it (`bestchannel run ask`)")
            history = _history(connection)
            make_durable(connection)
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            store = Store(path, connection, descriptor, history)
            if settings is not None:
                history.settings.refuse_other(settings)
            # a reader, by which SQLite's log can be kept out of a file that is copied over this one
            reader = connected(path, "mode=ro", PATIENCE_S)
            reader.execute("SELECT count(*) FROM log").fetchall()
            until_then.callback(store.close, reader)
        yield store


def _insert(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    for e in entries:
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", (e.number, e.kind, e.request, e.content, e.seal))
        connection.execute("INSERT INTO times VALUES (?, ?)", (e.number, e.time))


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _same_file(one: Stamp, other: Stamp) -> bool:
    return one is not None and other is not None and one[:2] == other[:2]


def _digest(file: int) -> bytes:
    """Of what is on disk; the file is not closed."""
    digest = hashlib.sha256()
    os.lseek(file, 0, os.SEEK_SET)
    while block := os.read(file, 2**20):
        digest.update(block)
    return digest.digest()


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """What the run is about, without its log."""
    with _reading(Path(path)) as connection:
        return _settings(connection)


def refuse_limit(max_senses: object, spent: int = 0) -> None:
    """Refuse a limit that is none, or that the run has passed."""
    whole = isinstance(max_senses, int | np.integer) and not isinstance(max_senses, bool)
    if max_senses is not None and (not whole or max_senses < spent):  # type: ignore[operator]
        raise InputError(f"max_senses must be a whole number >= {spent}, what the run has spent; it is {max_senses!r}")


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees one moment of the run."""
    try:
        with RUN.errors_naming(path):
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
    rows = connection.execute("SELECT settings FROM run").fetchall()
    if len(rows) != 1:
        raise InputError("the settings of the run are damaged; restore the file from a copy")
    return Settings.parse(rows[0][0])


def _lock(descriptor: int, path: Path, wait_s: float) -> None:
    """Keep other writers out until the file is closed, or until this process dies."""
    began, notice = time.monotonic(), BRIEFLY_S
    while fcntl:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        waited = time.monotonic() - began
        if waited > wait_s:
            raise InUseError(
                f"{path}: another process writes to this run; wait until it ends"
                " (`bestchannel run status` may look meanwhile)"
            )
        if waited > notice:
            logger.warning("%s: another process writes to this run; waiting for it, at most %g s", path, wait_s)
            notice = wait_s
        time.sleep(0.02)


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
