"""What a study has found so far, on disk: one SQLite file, to which pieces are added as a whole.

A piece that `add` has returned from survives a crash of the process or the machine; one that it has
not is absent, never half there. Adding a run twice is harmless, since a run has one outcome. The file
belongs to one specification: opening it with another is refused.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from bestchannel.errors import InputError
from bestchannel.json_text import shortened
from bestchannel.runs.sqlite_file import Kind, connected, make_durable, transaction
from bestchannel.study.monte_carlo import SimulatedRun
from bestchannel.study.spec import Spec

WAIT_S = 30.0  # how long one writer waits for another: a piece is written in far less

JOURNAL = Kind(
    "journal",
    application_id=0x62436853,  # "bChS"
    added={
        4: (
            "CREATE TABLE study (spec TEXT NOT NULL)",
            """CREATE TABLE runs (
            condition INTEGER, number INTEGER, best INTEGER, decided INTEGER NOT NULL,
            correct INTEGER NOT NULL, best_out INTEGER NOT NULL,
            senses TEXT NOT NULL,  -- may pass 64 bits
            rounds INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (condition, number)
        ) WITHOUT ROWID""",
            """CREATE TABLE times (
            source INTEGER, instance INTEGER, lower REAL NOT NULL, upper REAL NOT NULL, PRIMARY KEY (source, instance)
        ) WITHOUT ROWID""",
        )
    },
)


class Journal:
    """The runs of one study, and the characteristic times of its sets of channels."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def add(self, runs: Iterable[SimulatedRun]) -> None:
        """Store a piece, all of it or nothing."""
        rows = [(*(told := astuple(run))[:6], str(run.senses), *told[7:]) for run in runs]
        self._insert(f"INSERT INTO runs VALUES ({', '.join('?' * 9)}) ON CONFLICT DO NOTHING", rows)

    def add_time(self, source: int, instance: int, lower: float, upper: float) -> None:
        """Store the bracket of T* of one set of channels."""
        row = (source, instance, lower, upper)
        self._insert("INSERT INTO times VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [row])

    def _insert(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        with JOURNAL.errors_naming(self.path), transaction(self._connection):
            self._connection.executemany(statement, rows)

    def runs(self) -> list[SimulatedRun]:
        """Everything stored, in the order of conditions and runs."""
        return self._runs("")

    def first_runs(self) -> list[SimulatedRun]:
        """The first stored run of every condition."""
        return self._runs("WHERE (condition, number) IN (SELECT condition, MIN(number) FROM runs GROUP BY condition)")

    def _runs(self, condition: str) -> list[SimulatedRun]:
        with JOURNAL.errors_naming(self.path):
            rows = self._connection.execute(f"SELECT * FROM runs {condition} ORDER BY condition, number").fetchall()
        return [
            SimulatedRun(number, run, best, bool(decided), bool(right), bool(out), int(senses), rounds, seconds)
            for number, run, best, decided, right, out, senses, rounds, seconds in rows
        ]

    def numbers(self, condition: int) -> set[int]:
        """The runs of a condition that are stored."""
        with JOURNAL.errors_naming(self.path):
            return {n for (n,) in self._connection.execute("SELECT number FROM runs WHERE condition = ?", (condition,))}

    def times(self) -> dict[tuple[int, int], tuple[float, float]]:
        """(source, set) → bracket of T*, in senses per nat."""
        with JOURNAL.errors_naming(self.path):
            rows = self._connection.execute("SELECT * FROM times").fetchall()
        return {(source, instance): (lower, upper) for source, instance, lower, upper in rows}


@contextmanager
def opened(path: Path, spec: Spec) -> Iterator[Journal]:
    """The journal of this study, made where there is none; one of another study is refused."""
    with JOURNAL.errors_naming(path):
        connection = connected(path, "mode=rwc", WAIT_S)
    with closing(connection):
        with JOURNAL.errors_naming(path):
            with transaction(connection):
                _claim(connection, json.loads(json.dumps(asdict(spec))))
            make_durable(connection)
        yield Journal(path, connection)


def _claim(connection: sqlite3.Connection, spec: dict[str, Any]) -> None:
    """Write down whose journal this is, or find that it is ours."""
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        JOURNAL.create(connection)
        connection.execute("INSERT INTO study VALUES (?)", (json.dumps(spec),))
    JOURNAL.require(connection)
    (stored,) = connection.execute("SELECT spec FROM study").fetchone()
    for key, theirs, ours in differences(json.loads(stored), spec):
        raise InputError(
            f"these runs belong to a study with {key} = {theirs}, and the specification now has {ours};"
            " write into another folder (-o), or restore the specification"
        )


def differences(theirs: Any, ours: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """The keys in which two records differ, with both values."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in theirs | ours:
            yield from differences(theirs.get(name), ours.get(name), f"{key}.{name}" if key else name)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(left, right, f"{key}[{i}]")
    elif theirs != ours:
        yield key, shortened(theirs), shortened(ours)
