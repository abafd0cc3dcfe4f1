"""The runs of a folder, `NAME.db` each: those that are open are hosted, the others are read.

What changes a run may wait for its file, so the event loop calls it in another thread; what only looks does not wait.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bestchannel import runs
from bestchannel.disk import read_bytes, write_bytes
from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.policies import ChannelLabels, make_policy
from bestchannel.policies.catalogue import POLICIES
from bestchannel.runs.alphabets import channel_labels
from bestchannel.runs.run import OPEN
from bestchannel.runs.settings import Settings
from bestchannel.service.hosted_run import FAILED, HostedRun, Snapshot, snapshot_of
from bestchannel.service.messages import NewRun

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MOST_RUNS = 1000
"""Of a folder: creation is refused beyond."""

MOST_CELLS = 2**22
"""Of all channels of a run that is created over the network, inputs times outputs."""

RETRY_S = 30.0
"""After which a run that could not be opened, as another program wrote to it, is tried again."""

log = logging.getLogger(__name__)

Stamp = tuple[int, int]
"""When a file was written to, in nanoseconds, and its size."""


@dataclass(frozen=True)
class Resting:
    """A run that is not hosted: it has ended, answers itself, or cannot be read."""

    stamp: Stamp
    settings: Settings | None
    snapshot: Snapshot
    until: float = math.inf

    def holds(self, stamp: Stamp) -> bool:
        """Whether the run need not be read again."""
        return self.stamp == stamp and time.monotonic() < self.until


class RunFolder:
    """What the service serves."""

    def __init__(self, folder: Path, lease_s: float, changed: Callable[[], None]) -> None:
        folder = folder.absolute()
        self.folder, self.hosted = folder, dict[str, HostedRun]()
        self._lease_s, self._changed = lease_s, changed
        self._resting: dict[str, Resting] = {}
        self._lock = threading.RLock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder of the runs cannot be made ({error.strerror})") from None
        self._paused_file = folder / ".paused.json"
        self._paused = _names_in(self._paused_file)

    def without_paths(self, text: str) -> str:
        """A sentence without where the folder is, which is nobody's business."""
        return text.replace(f"{self.folder}{os.sep}", "")

    def names(self) -> list[str]:
        """The runs that there are, in the order of their names."""
        return sorted(path.stem for path in self.folder.glob("*.db") if NAME.fullmatch(path.stem) and path.is_file())

    def path(self, name: str) -> Path:
        """The file of a run, which must be there."""
        if NAME.fullmatch(name) and (path := self.folder / f"{name}.db").is_file():
            return path
        raise MissingFileError(f"there is no run {name[:64]!r}")

    def open_all(self) -> None:
        """Host what is open; a run that cannot be is left alone."""
        for name in self.names():
            self.look(name)

    def close(self) -> None:
        """Let go of every run; what was offered is on disk before."""
        with self._lock:
            for hosted in self.hosted.values():
                hosted.stop()
            self.hosted.clear()

    def create(self, wish: NewRun) -> None:
        """Begin a run; on return it is on disk and hosted."""
        if not NAME.fullmatch(wish.name):
            raise InputError("the name of a run must have letters, digits, '.', '_' and '-' alone, 64 at most")
        if wish.policy not in POLICIES:
            raise InputError(f"the policy must be one of {', '.join(POLICIES)}; it is {wish.policy!r}")
        if len(self.names()) >= MOST_RUNS:
            raise InputError(f"the folder has {MOST_RUNS:,} runs, and takes no more; move some of them elsewhere")
        parties = _parties(wish)
        alphabets = [labels.alphabet for labels in parties]
        policy = make_policy(wish.policy, alphabets, delta=wish.delta, epsilon=wish.epsilon)
        path = self.folder / f"{wish.name}.db"
        with self._lock:
            self.let_go_of_ended()  # also of a run whose file, and with it the name, is gone
            if os.path.lexists(path):
                raise InputError(f"there is a run {wish.name!r} already; choose another name")
            with runs.begin(path, policy, parties, max_senses=wish.max_senses):
                pass
            self._note_paused(wish.name, False)  # as an earlier run of this name may have been
            self.look(wish.name)

    def look(self, name: str) -> tuple[Settings | None, Snapshot]:
        """What a run is about and where it stands; one that is open and not hosted yet is, from now on."""
        if hosted := self.hosted.get(name):
            return hosted.settings, hosted.snapshot
        stamp = _stamp(self.path(name))
        known = self._resting.get(name)
        if known is None or not known.holds(stamp):
            with self._lock, self._hosting(name):
                pass
        if hosted := self.hosted.get(name):
            return hosted.settings, hosted.snapshot
        if known := self._resting.get(name):
            return known.settings, known.snapshot
        raise MissingFileError(f"there is no run {name!r} any more")

    def let_go_of_ended(self) -> int:
        """Close the files of hosted runs that have nothing more to ask, or are no longer where they were; how many."""
        with self._lock:
            ended = {
                name: hosted
                for name, hosted in self.hosted.items()
                if hosted.snapshot.state not in (OPEN, FAILED) or not hosted.in_place()
            }
            for name, hosted in ended.items():
                self._let_go(name, hosted)
            return len(ended)

    def limit(self, name: str, max_senses: int) -> None:
        """Let a run spend at most so many senses; it goes on where it may."""
        self._change(name, lambda run: run.limit(max_senses))

    def end(self, name: str) -> None:
        """Let a run spend nothing more: its limit becomes what it has spent."""
        self._change(name, lambda run: run.limit(run.history.senses))

    def pause(self, name: str, paused: bool) -> None:
        """Lend nothing more of a run, or go on; on return that is on disk."""
        self.path(name)
        with self._lock:
            self._note_paused(name, paused)
            if name in self.hosted:
                self.hosted[name].paused = paused
        self._changed()

    def is_paused(self, name: str) -> bool:
        """Whether the owner has paused it."""
        return name in self._paused

    def last_activity(self, name: str) -> float:
        """When its file was last written to, in seconds since 1970."""
        path = self.path(name)
        with suppress(FileNotFoundError):  # there is a log beside it while it is written to
            return max(path.stat().st_mtime, path.with_name(f"{path.name}-wal").stat().st_mtime)
        return _stamp(path)[0] / 1e9

    def _note_paused(self, name: str, paused: bool) -> None:
        if paused != self.is_paused(name):
            self._paused ^= {name}
            write_bytes(self._paused_file, json.dumps(sorted(self._paused)).encode())

    def _change(self, name: str, change: Callable[[runs.LaboratoryRun], None]) -> None:
        self.path(name)
        with self._lock, self._hosting(name) as hosted:
            if hosted is None:
                raise InputError(f"the run {name} cannot be changed here; {self._resting[name].snapshot.error}")
            hosted.ask(change).result()

    @contextmanager
    def _hosting(self, name: str) -> Iterator[HostedRun | None]:
        """The run, hosted; afterwards it is let go of unless it is open. None where it cannot be written to."""
        hosted = self.hosted.get(name)
        if hosted is None:
            hosted = self._started(name)
        yield hosted
        if hosted is not None and hosted.snapshot.state not in (OPEN, FAILED):
            self._let_go(name, hosted)
        self._changed()

    def _started(self, name: str) -> HostedRun | None:
        path = self.path(name)
        stamp = _stamp(path)
        try:
            if runs.answers_itself(path):
                run = runs.view(path)
                self._resting[name] = Resting(stamp, run.settings, snapshot_of(run, "it answers itself"))
                return None
            hosted = HostedRun(name, path, self._changed, self._lease_s)
            hosted.paused = self.is_paused(name)
            hosted.start().result()
        except BestChannelError as error:
            self._resting[name] = Resting(stamp, None, Snapshot.failed(str(error)), time.monotonic() + RETRY_S)
            return None
        self.hosted[name] = hosted
        return hosted

    def _let_go(self, name: str, hosted: HostedRun) -> None:
        hosted.stop()
        del self.hosted[name]
        self._resting.pop(name, None)
        if hosted.in_place():
            self._resting[name] = Resting(_stamp(hosted.path), hosted.settings, hosted.snapshot)
        else:
            said = "its file was moved, deleted or overwritten; what is there now is served as it is"
            log.warning("run replaced", extra={"fields": {"run": name, "why": said}})


def _parties(wish: NewRun) -> list[ChannelLabels]:
    cells = sum(len(letters.inputs) * len(letters.outputs) for letters in wish.channels.values())
    if cells > MOST_CELLS:
        raise InputError(f"the channels of a run have at most {MOST_CELLS:,} pairs of letters; these have {cells:,}")
    return [
        channel_labels(name, list(letters.inputs), list(letters.outputs)) for name, letters in wish.channels.items()
    ]


def _names_in(path: Path) -> set[str]:
    """The names of runs that a file lists; none where there is no file."""
    if not path.exists():
        return set()
    try:
        names = json.loads(read_bytes(path))
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{path}: the file must hold the names of the paused runs as a list in JSON; mend or delete it"
        )
    return set(names)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except FileNotFoundError:
        raise MissingFileError(f"there is no run {path.stem!r} any more") from None
    return found.st_mtime_ns, found.st_size
