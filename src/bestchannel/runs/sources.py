"""What answers the requests of a run by itself, stored with the run so that it can be resumed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestchannel.channels import Channel
from bestchannel.counts.labelled_counts import Columns
from bestchannel.counts.quantisation import SET_ASIDE, Bins
from bestchannel.errors import InputError, MissingFileError
from bestchannel.policies import ChannelLabels
from bestchannel.process import Progress
from bestchannel.runs.settings import Settings
from bestchannel.sensing import Recording, Simulator

BY_THEMSELVES = SIMULATION, RECORDING = "simulation", "recording"  # the kinds of source that need nobody to answer


@dataclass(frozen=True)
class Simulation:
    """Known channels, the seed of their senses, and the file that they come from, where there is one."""

    channels: Mapping[str, Channel]
    seed: int
    file: Path | None = None

    def sensor(self, progress: Progress | None = None) -> Simulator:
        """The simulator at its beginning."""
        return Simulator(self.channels, rng=self.seed)

    def record(self, run: Path) -> dict[str, Any]:
        """What the run stores: the channels, to the last bit."""
        path = {} if self.file is None else {"path": self.file.name}
        rows = [W.W.tolist() for W in self.channels.values()]
        return {"kind": SIMULATION, "seed": self.seed, "rows": rows, **path}

    def named(self) -> dict[str, Any]:
        """What a result says of it."""
        return {"kind": SIMULATION, "seed": self.seed, "path": None if self.file is None else str(self.file)}


@dataclass(frozen=True)
class Replay:
    """Files of trials, with the options of `read_trials`."""

    trials: Sequence[Path]
    outputs: Sequence[str] | None
    columns: Columns
    bins: Bins = None
    set_aside: float = SET_ASIDE
    form: str | None = None
    transpose: bool = False

    def sensor(self, progress: Progress | None = None) -> Recording:
        """The recording at its beginning; `progress` is told how many bytes of how many are read."""
        return Recording.from_file(
            self.trials,
            outputs=self.outputs,
            columns=self.columns,
            bins=self.bins,
            set_aside=self.set_aside,
            form=self.form,
            transpose=self.transpose,
            progress=progress,
        )

    def record(self, run: Path) -> dict[str, Any]:
        """What the run stores: the path as seen from its own folder, so that both can move, and the content's hash."""
        for path in self.trials:
            if not path.is_file():
                raise InputError(
                    f"{path}: a run reads its recording again when it goes on, so that this must be a file; it is"
                    " none (write what a pipe gives into a file first)"
                )
        paths = [os.path.relpath(path, run.absolute().parent) for path in self.trials]
        hashes = [_sha256(path) for path in self.trials]
        alone = len(paths) == 1
        return {
            "kind": RECORDING,
            "path": paths[0] if alone else paths,
            "sha256": hashes[0] if alone else hashes,
            "outputs": self.outputs and list(self.outputs),
            "columns": dict(self.columns) if isinstance(self.columns, Mapping) else self.columns,
            **({} if self.bins is None else {"bins": self.bins, "set_aside": self.set_aside}),
            **({} if self.form is None else {"form": self.form}),
            **({} if not self.transpose else {"transpose": True}),
        }

    def named(self) -> dict[str, Any]:
        """What a result says of it."""
        return {"kind": RECORDING, "path": ", ".join(map(str, self.trials))}


def source_of(settings: Settings, run: Path) -> Simulation | Replay:
    """The source that the run was begun with; a recording must not have changed since."""
    kind = settings.source["kind"]
    if kind not in BY_THEMSELVES:
        raise InputError(f"{run}: only a simulated or replayed run goes on by itself; this is a {kind} run")
    try:
        return _simulation(settings) if kind == SIMULATION else _replay(settings, run)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{run}: the source of the run is damaged ({error!r}); restore the file from a copy") from None


def _simulation(settings: Settings) -> Simulation:
    stored = settings.source
    if type(stored["seed"]) is not int or stored["seed"] < 0:
        raise ValueError("the seed must be a whole number")
    pairs = zip(settings.parties, stored["rows"], strict=True)
    return Simulation({labels.key: _channel(labels, rows) for labels, rows in pairs}, stored["seed"])


def _replay(settings: Settings, run: Path) -> Replay:
    stored = settings.source
    outputs, columns = stored["outputs"], stored["columns"]
    paths, hashes = (kept if isinstance(kept, list) else [kept] for kept in (stored["path"], stored["sha256"]))
    named = columns.values() if isinstance(columns, dict) else columns or ()
    if not all(isinstance(value, str) for value in (*paths, *(outputs or ()), *named)):
        raise ValueError("the path, the outputs and the columns must be texts")
    trials = [run.absolute().parent / path for path in paths]
    for path, kept in zip(trials, hashes, strict=True):
        if _sha256(path) != kept:
            raise InputError(f"{path}: the recording must be as it was when the run was begun; it has changed")
    cut = stored.get("bins"), stored.get("set_aside", SET_ASIDE)
    return Replay(trials, outputs, columns, *cut, stored.get("form"), stored.get("transpose", False))


def _channel(labels: ChannelLabels, rows: object) -> Channel:
    return Channel.from_rows(rows, name=str(labels.key), inputs=labels.inputs, outputs=labels.outputs)


def _sha256(path: Path) -> str:
    """The hash of a file: not of a pipe or a device, which may never end and does not give its content twice."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(
                    f"{path}: a run requires its recording in a file; this is a folder, a pipe or a device"
                )
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the file cannot be read ({error})") from None
