"""A real Dask scheduler and real workers, each a process of its own on loopback, to be killed at will."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


class DaskProcesses:
    """A scheduler with `workers` workers of one thread each; `address` is where it listens.

    A worker that has a nanny is a child of the process that was started, and the nanny replaces it when it dies.
    """

    def __init__(self, workers, folder, port=0, nanny=False):
        self.folder, self.nanny = Path(folder), "--nanny" if nanny else "--no-nanny"
        self.workers = []
        (self.folder / "scheduler.json").unlink(missing_ok=True)
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard",
            "--scheduler-file", self.folder / "scheduler.json",
        )  # fmt: skip
        self.address = self._announced_address()
        for _ in range(workers):
            self.start_worker()

    def _announced_address(self):
        """What the scheduler writes into its file as soon as it listens."""
        while self.scheduler.poll() is None:
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # not yet, or half written
                return json.loads((self.folder / "scheduler.json").read_text())["address"]
            time.sleep(0.05)
        raise RuntimeError("the scheduler ended before it listened")

    def start_worker(self, **environment):
        """One more worker, which is not awaited: the scheduler hands it work when it is there."""
        worker = self._start(
            "dask_worker", self.address, "--nthreads", 1, self.nanny, "--no-dashboard", "--memory-limit", 0,
            "--death-timeout", 60, "--local-directory", self.folder, **environment,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def kill_worker(self):
        """End the oldest worker as the kernel ends one that is out of memory, and start another."""
        victim = self.workers.pop(0)
        victim.kill()
        victim.wait()
        self.start_worker()

    def _start(self, program, *arguments, **environment):
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": path} | environment,
        )

    def end(self):
        """End whatever is left, by its id."""
        for process in [*self.workers, self.scheduler]:
            process.send_signal(signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def dask_processes(workers, nanny=False):
    """The same, ended at the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = DaskProcesses(workers, folder, nanny=nanny)
        try:
            yield started
        finally:
            started.end()
