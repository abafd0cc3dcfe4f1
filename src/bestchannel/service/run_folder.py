"""The runs of a folder, `NAME.db` each: those that are open are hosted, the others are read.

What changes a run may wait for its file, so the event loop calls it in another thread; what only looks does not wait.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
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
from datetime import UTC, datetime
from pathlib import Path

from msgspec.json import decode
from msgspec.structs import replace

from bestchannel import runs
from bestchannel.disk import read_bytes, write_bytes
from bestchannel.errors import BestChannelError, InputError, MissingFileError
from bestchannel.policies import make_policy
from bestchannel.policies.catalogue import POLICIES
from bestchannel.record import RunStatus
from bestchannel.runs.laboratory_files import channel_labels
from bestchannel.runs.run import OPEN
from bestchannel.service.hosted_run import FAILED, HostedRun, status_of
from bestchannel.service.ledger import Labels
from bestchannel.service.messages import NAME, Change, NewRun

MOST_RUNS = 1000  # of a folder: creation is refused beyond
MOST_CELLS = 2**22  # inputs times outputs of all channels of a run that is created over the network
RETRY_S = 30.0  # after which a run that could not be opened, as another program wrote to it, is tried again

log = logging.getLogger(__name__)

Stamp = tuple[int, int]  # when a file was written to, in nanoseconds, and its size


@dataclass(frozen=True)
class ClosedRun:
    """A run that is not hosted: it has ended, answers itself, or cannot be read. It is read again `until` then."""

    stamp: Stamp
    labels: Labels | None
    status: RunStatus
    until: float = math.inf


class RunFolder:
    """What the service serves."""

    def __init__(self, folder: Path, lease_s: float, changed: Callable[[], None]) -> None:
        folder = folder.absolute()
        self.folder, self.hosted = folder, dict[str, HostedRun]()
        self._lease_s, self._changed = lease_s, changed
        self._closed: dict[str, ClosedRun] = {}
        self._lock = threading.RLock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder of the runs cannot be made ({error.strerror})") from None
        self._paused_file = file = folder / ".paused.json"
        try:
            self._paused = set(decode(read_bytes(file), type=list[str])) if file.exists() else set[str]()
        except ValueError:
            wanted = "the file must hold the names of the paused runs as a list in JSON"
            raise InputError(f"{file}: {wanted}; mend or delete it") from None

    def without_paths(self, text: str) -> str:
        """A sentence without where the folder is, which is nobody's business."""
        return text.replace(f"{self.folder}{os.sep}", "")

    def names(self) -> list[str]:
        """The runs that there are, in the order of their names."""
        return sorted(
            path.stem for path in self.folder.glob("*.db") if re.fullmatch(NAME, path.stem) and path.is_file()
        )

    def path(self, name: str) -> Path:
        """The file of a run, which must be there."""
        if re.fullmatch(NAME, name) and (path := self.folder / f"{name}.db").is_file():
            return path
        raise MissingFileError(f"there is no run {name[:64]!r}")

    def open_all(self) -> None:
        """Host what is open; a run that cannot be is left alone."""
        for name in self.names():
            self.host_or_read(name)

    def close(self) -> None:
        """Let go of every run; what was offered is on disk before."""
        with self._lock:
            for hosted in self.hosted.values():
                hosted.stop()
            self.hosted.clear()

    def create(self, wish: NewRun) -> None:
        """Begin a run; on return it is on disk and hosted."""
        if wish.policy not in POLICIES:
            raise InputError(f"the policy must be one of {', '.join(POLICIES)}; it is {wish.policy!r}")
        if len(self.names()) >= MOST_RUNS:
            raise InputError(f"the folder has {MOST_RUNS:,} runs, and takes no more; move some of them elsewhere")
        cells = sum(len(labels.inputs) * len(labels.outputs) for labels in wish.channels.values())
        if cells > MOST_CELLS:
            most = f"the channels of a run have at most {MOST_CELLS:,} pairs of letters"
            raise InputError(f"{most}; these have {cells:,}")
        channels = [channel_labels(name, list(of.inputs), list(of.outputs)) for name, of in wish.channels.items()]
        alphabets = [labels.alphabet for labels in channels]
        asked = {} if wish.question is None else {"question": wish.question}
        policy = make_policy(wish.policy, alphabets, delta=wish.delta, epsilon=wish.epsilon, **asked)
        path = self.folder / f"{wish.name}.db"
        with self._lock:
            self.close_ended()  # also of a run whose file, and with it the name, is gone
            if os.path.lexists(path):
                raise InputError(f"there is a run {wish.name!r} already; choose another name")
            with runs.begin(path, policy, channels, max_senses=wish.max_senses):
                pass
            self._note_paused(wish.name, False)  # as an earlier run of this name may have been
            self.host_or_read(wish.name)

    def alter(self, name: str, change: Change) -> None:
        """Pause a run or let it go on, limit it, or end it at what it has spent; on return that is on disk."""
        self.path(name)
        if change.paused is not None:
            with self._lock:
                self._note_paused(name, change.paused)
                if name in self.hosted:
                    self.hosted[name].paused = change.paused
            self._changed()
        if not change.end and change.max_senses is None:
            return
        with self._lock, self._hosting(name) as hosted:
            if hosted is None:
                raise InputError(f"the run {name} cannot be changed here; {self._closed[name].status.error}")
            limit = None if change.end else change.max_senses
            hosted.do(lambda run: run.limit(run.history.senses if limit is None else limit)).result()

    def host_or_read(self, name: str) -> tuple[Labels | None, RunStatus]:
        """The labels of a run and where it stands; one that is open and not hosted yet is, from now on."""
        known: HostedRun | ClosedRun | None = self.hosted.get(name)
        if known is None:
            stamp, closed = _stamp(self.path(name)), self._closed.get(name)
            if closed is None or closed.stamp != stamp or time.monotonic() >= closed.until:
                with self._lock, self._hosting(name):
                    pass
            known = self.hosted.get(name) or self._closed.get(name)
            if known is None:
                raise MissingFileError(f"there is no run {name!r} any more")
        return known.labels, known.status

    def close_ended(self) -> None:
        """Close the files of hosted runs that have nothing more to ask, or are no longer where they were."""
        with self._lock:
            ended = [hosted for hosted in self.hosted.values() if _has_ended(hosted) or not hosted.in_place()]
            for hosted in ended:
                self._close(hosted)
        if ended:  # their memory goes back to the system, so that a service stays as small as its open runs
            gc.collect()  # a run and its policy refer to each other
            with suppress(AttributeError, OSError, TypeError):
                ctypes.CDLL(None).malloc_trim(0)

    async def standing(self, name: str) -> tuple[Labels | None, RunStatus]:
        """The labels of a run and where it stands, at once where it is hosted."""
        if hosted := self.hosted.get(name):
            return hosted.labels, hosted.status
        return await asyncio.to_thread(self.host_or_read, name)

    async def statuses(self) -> list[RunStatus]:
        """Where all runs stand; sensors are heard between any two of them."""
        listed = []
        for name in await asyncio.to_thread(self.names):
            with suppress(MissingFileError):  # deleted meanwhile
                listed.append(await self.status(name))
            await asyncio.sleep(0)
        return listed

    async def status(self, name: str) -> RunStatus:
        """All that is told of a run."""
        _, status = await self.standing(name)
        hosted = self.hosted.get(name)
        asked, answered, sensors = hosted.ledger.standing(hosted.status.channels) if hosted else (0, 0, ())
        return replace(
            status,
            paused=name in self._paused,
            asked=asked,
            answered=answered,
            last_activity=datetime.fromtimestamp(self._last_written(name), UTC).isoformat(timespec="seconds"),
            sensors=sensors,
            error=self.without_paths(status.error),
        )

    def _last_written(self, name: str) -> float:
        """When the file of a run was last written to, in seconds since 1970."""
        path = self.path(name)
        with suppress(FileNotFoundError):  # there is a log beside it while it is written to
            return max(path.stat().st_mtime, path.with_name(f"{path.name}-wal").stat().st_mtime)
        return _stamp(path)[0] / 1e9

    def _note_paused(self, name: str, paused: bool) -> None:
        if paused != (name in self._paused):
            self._paused ^= {name}
            write_bytes(self._paused_file, json.dumps(sorted(self._paused)).encode())

    @contextmanager
    def _hosting(self, name: str) -> Iterator[HostedRun | None]:
        """The run, hosted; afterwards it is let go of unless it is open. None where it cannot be written to."""
        hosted = self.hosted.get(name) or self._host(name)
        yield hosted
        if hosted is not None and _has_ended(hosted):
            self._close(hosted)
        self._changed()

    def _host(self, name: str) -> HostedRun | None:
        path = self.path(name)
        stamp = _stamp(path)
        try:
            if runs.answers_itself(path):
                run = runs.view(path)
                status = status_of(run, name, "it answers itself")
                self._closed[name] = ClosedRun(stamp, Labels(run.settings.labels), status)
                return None
            hosted = HostedRun(name, path, self._changed, self._lease_s)
            hosted.paused = name in self._paused
            hosted.start().result()
        except BestChannelError as error:
            failed = RunStatus(run=name, state=FAILED, error=str(error))
            self._closed[name] = ClosedRun(stamp, None, failed, time.monotonic() + RETRY_S)
            return None
        self.hosted[name] = hosted
        return hosted

    def _close(self, hosted: HostedRun) -> None:
        hosted.stop()
        del self.hosted[hosted.name]
        self._closed.pop(hosted.name, None)
        if hosted.in_place():
            self._closed[hosted.name] = ClosedRun(_stamp(hosted.path), hosted.labels, hosted.status)
        else:
            why = "its file was moved, deleted or overwritten; what is there now is served as it is"
            log.warning("run replaced", extra={"fields": {"run": hosted.name, "why": why}})


def _has_ended(hosted: HostedRun) -> bool:
    return hosted.status.state not in (OPEN, FAILED)


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise MissingFileError(f"there is no run {path.stem!r} any more") from None
    return status.st_mtime_ns, status.st_size
