"""A SQLite file of ours: how runs and the journals of studies are opened, recognised, written and refused.

A transaction that has been committed survives a crash of the process or of the machine (write-ahead log, synchronous
= FULL); one that has not is absent, never half there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bestchannel.errors import BestChannelError, InputError, MissingFileError

PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
"""What SQLite says of a file that may be in order: busy, full, not permitted."""


class NotWrittenError(BestChannelError, OSError):
    """A file that cannot be written to now: the disk is full, or writing is not permitted. What it holds is safe."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it is called, the number in its header by which others know it, and its tables."""

    noun: str
    application_id: int
    version: int
    tables: tuple[str, ...]

    def create(self, connection: sqlite3.Connection) -> None:
        """Make the tables, within the caller's transaction."""
        for statement in self.tables:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        connection.execute(f"PRAGMA user_version = {self.version}")

    def require(self, connection: sqlite3.Connection) -> None:
        """Refuse a file of another kind or version."""
        if connection.execute("PRAGMA application_id").fetchone() != (self.application_id,):
            raise InputError(f"the file must be a {self.noun} of bestchannel; it is another database")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != self.version:
            raise InputError(
                f"the {self.noun} has version {version}, and this program reads version {self.version};"
                " use the version of bestchannel that wrote it"
            )

    @contextmanager
    def speaking(self, path: Path) -> Iterator[None]:
        """Say in a sentence that names the file what we, SQLite or the system object to."""
        try:
            yield
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
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
                f"{path}: the file must be a whole {self.noun} of bestchannel; it is not ({error}); restore it from a"
                " copy"
            ) from None
        except OSError as error:
            raise InputError(f"{path}: the file cannot be used ({error.strerror})") from None
        except ValueError as error:  # a NUL in the path
            raise InputError(f"{str(path)!r} is no path of a file ({error})") from None


def connected(path: Path, query: str, patience_s: float) -> sqlite3.Connection:
    """A connection, opened as the query of its address says, that waits so long for others."""
    address = f"file:{quote(os.path.abspath(path))}?{query}"
    return sqlite3.connect(address, uri=True, timeout=patience_s, isolation_level=None)


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
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
