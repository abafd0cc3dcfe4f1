"""Kill runs at random moments and hold what is left against a run that nobody killed.

`python -m tests.journeys.crash 300 [SEED]` kills processes of `identify --run`, `run resume` and `run tell` 300 times
(SIGKILL; a process that ended before does not count) and prints what it found as JSON. A child is a fork of this
process, which has everything imported: kills then fall into the work rather than into imports.
"""

import contextlib
import io
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bestchannel import runs
from bestchannel.channels import bsc
from bestchannel.cli import app, identify
from bestchannel.counts import write_channels
from bestchannel.policies.transcript import as_document
from tests.runs.steady import Steady

CHANNELS = {"cable": bsc(0.1), "radio": bsc(0.12), "relay": bsc(0.11)}

CUT_OFF = sqlite3.SQLITE_READONLY_ROLLBACK
"""What a reader is told of a file whose beginning was cut off: the next writer takes it back."""


class Child:
    """The command line in a process of its own, whose stderr and acknowledgements are kept in a file."""

    def __init__(self, arguments, folder):
        self.log = folder / "child.log"
        self.log.write_text("")
        self.pid = os.fork()
        if self.pid == 0:
            self._work([str(argument) for argument in arguments])

    def _work(self, arguments):
        try:
            log = os.open(self.log, os.O_WRONLY | os.O_APPEND)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(log, 2)
            identify.watched = lambda parties: acknowledging(log)
            app(arguments)
        except SystemExit as end:
            os._exit(end.code or 0)
        except BaseException as error:
            os.write(log, f"Traceback: {error!r}\n".encode())
        os._exit(70)

    def kill_after(self, seconds):
        """Whether it was alive to be killed."""
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(self.pid, 0)[1])

    def code(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def said(self):
        return self.log.read_text()


@contextlib.contextmanager
def acknowledging(log):
    """In place of the progress display: writes a line for every answer that the policy was told."""
    yield lambda status: os.write(log, b"acknowledged\n")


def entries(path):
    """The log of a run, seals and random states included; none where a crash left no run."""
    if not path.exists() or path.stat().st_size == 0:
        return []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            return connection.execute("SELECT number, kind, request, content, seal FROM log ORDER BY number").fetchall()
        except sqlite3.OperationalError as error:
            check(error.sqlite_errorcode == CUT_OFF, f"the log cannot be read: {error}")
            return []


def answers(log):
    return sum(kind == "told" for _, kind, *_ in log)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Arena:
    """One kind of run that is killed again and again until it ends, and then compared."""

    def __init__(self, folder, rng):
        self.folder, self.rng, self.found = folder, rng, Counter()

    def kill(self, verb, arguments, latest):
        """Start the verb and kill it somewhere; its child."""
        child = Child(arguments, self.folder)
        alive = child.kill_after(self.rng.uniform(0.2 * latest, latest))
        self.found[verb if alive else "ended before"] += 1
        check("Traceback" not in child.said(), child.said())
        return child

    def timed(self, arguments):
        start = time.monotonic()
        child = Child(arguments, self.folder)
        code = child.code()
        check(code == 0, f"{arguments} ended with {code}: {child.said()}")
        return time.monotonic() - start


class Simulated(Arena):
    """`identify --run`, then `run resume` until the end."""

    def round(self, number, most):
        channels = self.folder / "channels.json"
        whole, path = self.folder / f"whole{number}.db", self.folder / f"killed{number}.db"

        def begin(run):
            return [
                "identify",
                "--simulate",
                channels,
                "--policy",
                Steady.reference(),
                "--seed",
                number,
                "--run",
                run,
                "--json",
            ]

        duration, idle = self.timed(begin(whole)), self.timed(begin(whole))
        latest = idle + (duration - idle) / 6
        reference, kills = entries(whole), 0
        while kills < most and answers(entries(path)) < Steady.requests:
            before = answers(entries(path))
            verb = "resume" if entries(path) and self.rng.random() < 0.7 else "identify"
            arguments = ["run", "resume", path] if verb == "resume" else begin(path)
            child = self.kill(verb, arguments, latest)
            kills += 1
            left = entries(path)
            check(left == reference[: len(left)], "the log is not the beginning of the whole one")
            known = before if verb == "resume" else 0  # `identify` begins anew, and is told again what the log has
            check(answers(left) >= known + child.said().count("acknowledged"), "an acknowledged answer is lost")
            check(answers(left) >= before, "an answer is lost")
        self.timed(begin(path))
        check(entries(path) == reference, "the log is not the whole one")
        check(as_document(runs.read_run(path)) == as_document(runs.read_run(whole)), "another verdict")
        self.found["runs compared"] += 1


class Laboratory(Arena):
    """`run tell`, each killed and repeated until it is acknowledged."""

    def round(self, number, most):
        whole, path = self.folder / f"whole-lab{number}.db", self.folder / f"killed-lab{number}.db"
        sensor, n = runs.Simulation(CHANNELS, number).sensor(), 12
        for file in (whole, path):
            with runs.begin(file, Steady(sensor.alphabets, delta=0.1), sensor.parties):
                pass
        duration = 0.0
        for i in range(1, n + 1):
            counts = sensor(runs.view(whole).ask())
            sheet = self._sheet(counts, sensor.parties)
            duration = self.timed(self._tell(whole, sheet, i))
            for _ in range(self.rng.randint(1, max(1, 2 * most // n))):
                before = answers(entries(path))
                child = self.kill("tell", self._tell(path, sheet, i), duration)
                left = answers(entries(path))
                check(left >= before, "an answer is lost")
                check(left <= i, "an answer is counted twice")
                check("has the answer" not in child.said() or left == i, "an acknowledged answer is lost")
            self.timed(self._tell(path, sheet, i))
            check(answers(entries(path)) == i, "the answer is not there")
        check(entries(path) == entries(whole), "the logs differ")
        self.found["runs compared"] += 1

    def _tell(self, path, sheet, number):
        return ["run", "tell", path, sheet, "--request", number]

    def _sheet(self, counts, parties):
        sheet = self.folder / "answer.json"
        rows = [
            {"channel": parties[j].key, "x": str(x), "y": str(y), "count": int(table[x, y])}
            for j, table in counts.items()
            for x in range(2)
            for y in range(2)
        ]
        sheet.write_text(json.dumps({"counts": rows}))
        return sheet


def warm_up(folder):
    """Load what the verbs load when they are first used, so that kills fall into their work."""
    write_channels(folder / "channels.json", CHANNELS)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run = ["--policy", Steady.reference(), "--run", str(folder / "warm.db")]
        app(["identify", "--simulate", str(folder / "channels.json"), *run], standalone_mode=False)


VERBS = ("identify", "resume", "tell")


def main(kills, seed=0):
    """Kill so often, and every verb at least once: where a kill falls is a matter of the machine's speed."""
    Steady.requests = 120
    rng = random.Random(seed)
    found, start, number = Counter(), time.monotonic(), seed * 1000
    with tempfile.TemporaryDirectory() as folder:
        warm_up(Path(folder))
        arenas = [Simulated(Path(folder), rng), Laboratory(Path(folder), rng)]
        while sum(found[verb] for verb in VERBS) < kills or not all(found[verb] for verb in VERBS):
            number += 1
            for arena in arenas:
                arena.round(number, 15)
            found = sum((arena.found for arena in arenas), Counter())
    killed = sum(found[verb] for verb in VERBS)
    return {"killed": killed, **found, "seconds": round(time.monotonic() - start, 1)}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
