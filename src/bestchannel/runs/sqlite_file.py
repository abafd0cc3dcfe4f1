"""A SQLite file of ours: how runs and the journals of studies are opened, recognised, written and refused.

A transaction that has been committed survives a crash of the process or of the machine (write-ahead log, synchronous
= FULL); one that has not is absent, never half there.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from bestchannel.display import on_one_line
from bestchannel.errors import BestChannelError, InputError, MissingFileError

PASSING = {  # what SQLite says of a file that may be in order: busy, full, not permitted
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}


class NotWrittenError(BestChannelError, OSError):
    """A file that cannot be written to now: the disk is full, or writing is not permitted. What it holds is safe."""


LARGEST_VALUE = 2**28  # bytes of one value in a file: what is larger is refused before there is memory for it
Schema = frozenset[tuple[str, str, str, str | None]]
"""Tables, triggers and whatever else a database has: type, name, table, definition."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it is called, the number in its header by which others know it, and what it holds.

    `added` has, for each version that is read, what makes that version of the one before.
    """

    noun: str
    application_id: int
    added: Mapping[int, tuple[str, ...]]

    @property
    def version(self) -> int:
        """The version that is written."""
        return max(self.added)

    def create(self, connection: sqlite3.Connection) -> None:
        """Make the tables, within the caller's transaction."""
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        self.upgrade(connection)

    def upgrade(self, connection: sqlite3.Connection, to: int | None = None) -> None:
        """Make an earlier version the present one, or that one, within the caller's transaction."""
        old, new = _version(connection), to or self.version
        for version in sorted(self.added):
            for statement in self.added[version] if old < version <= new else ():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {new}")

    def require(self, connection: sqlite3.Connection) -> int:
        """The version of the file; one of another kind or version is refused, and one with anything else in it.

        A foreign trigger could take back what is written, and a view could show what nobody wrote.
        """
        if connection.execute("PRAGMA application_id").fetchone() != (self.application_id,):
            raise InputError(f"the file must be a {self.noun} of bestchannel; it is another database")
        version = _version(connection)
        if version not in self.added:
            reads = " and ".join(map(str, self.added))
            raise InputError(
                f"the {self.noun} has version {version}, and this program reads version {reads};"
                " use the version of bestchannel that wrote it"
            )
        for kind, name, *_ in sorted(_schema(connection) ^ self._schemas[version], key=str):
            raise InputError(
                f"the file must hold what a {self.noun} of bestchannel holds, and nothing else; it differs in the"
                f" {kind} {name[:80]!r}; restore it from a copy"
            )
        return version

    @cached_property
    def _schemas(self) -> dict[int, Schema]:
        """What SQLite says of each version that we make."""
        schemas = {}
        for version in self.added:
            with closing(sqlite3.connect(":memory:")) as connection:
                self.upgrade(connection, version)
                schemas[version] = _schema(connection)
        return schemas

    @contextmanager
    def errors_naming(self, path: Path) -> Iterator[None]:
        """Say in a sentence that names the file what we, SQLite or the system object to."""
        try:
            yield
        except InputError as error:
            raise InputError(on_one_line(f"{path}: {error}")) from None
        except BestChannelError:  # a sentence that names the file already
            raise
        except FileNotFoundError:
            raise MissingFileError(f"{path}: there is no such file or folder") from None
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in PASSING:
                raise NotWrittenError(
                    f"{path}: the {self.noun} cannot be used now ({error}); what it holds is safe"
                ) from None
            raise InputError(
                on_one_line(
                    f"{path}: the file must be a whole {self.noun} of bestchannel; it is not ({error}); restore it from"
                    " a copy"
                )
            ) from None
        except OSError as error:
            raise InputError(f"{path}: the file cannot be used ({error.strerror})") from None
        except ValueError as error:  # a NUL in the path
            raise InputError(f"{str(path)!r} is no path of a file ({error})") from None


def connected(path: Path, query: str, patience_s: float) -> sqlite3.Connection:
    """A connection, opened as the query of its address says, that waits so long for others."""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise InputError("a file is required; this is a folder, a pipe or a device")
    address = f"file:{quote(os.path.abspath(path))}?{query}"
    connection = sqlite3.connect(address, uri=True, timeout=patience_s, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def make_durable(connection: sqlite3.Connection) -> None:
    """Let what is committed be on disk; readers see the last commit and are never waited for."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was written, or what was begun was cut off and is taken back."""
    return connection.execute("PRAGMA page_count").fetchone() == (0,)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written within, or nothing."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _schema(connection: sqlite3.Connection) -> Schema:
    return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
