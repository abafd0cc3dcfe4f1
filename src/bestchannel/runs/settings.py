"""What a run is about, written when it is begun and never changed: its channels, its policy, and what answers it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any

from msgspec import convert, to_builtins
from msgspec.json import decode
from msgspec.structs import asdict

from bestchannel.channels import Channel
from bestchannel.counts.data_files import read_joint_trials
from bestchannel.counts.labelled_counts import Columns
from bestchannel.counts.quantisation import SET_ASIDE, Bins
from bestchannel.errors import InputError, MissingFileError
from bestchannel.json_text import shortened
from bestchannel.policies import ChannelLabels, Policy, Supply, make_policy
from bestchannel.policies.catalogue import policy_class
from bestchannel.process import Progress
from bestchannel.promises import several
from bestchannel.record import RunChannel, RunRecord
from bestchannel.sensing import JointRecording, Recording, Simulator

LABORATORY: Mapping[str, Any] = {"kind": "laboratory"}  # the source of a run whose requests people answer
BY_THEMSELVES = SIMULATION, RECORDING = "simulation", "recording"  # the kinds of source that need nobody to answer
RECORDED = "recorded"  # under which a source says how many senses of every input it has, where they are limited
LONGEST = {"title": 200, "note": 4000}  # letters of what people call a run and say about it


class Settings(RunRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is about, and the policy that follows from it."""

    @staticmethod
    def of(
        policy: Policy,
        channels: Sequence[ChannelLabels] | None,
        source: Mapping[str, Any],
        inferred_outputs: bool = False,
        **wishes: Any,
    ) -> Settings:
        """The settings that make such a policy, told nothing yet; one that they do not make again is refused.

        Channels without labels are numbered.
        """
        channels = channels or [ChannelLabels.numbered(j, alphabet) for j, alphabet in enumerate(policy.alphabets)]
        policy.limit(_supply(source))
        name, first = policy.reference(), policy.ask()
        if policy.steps:
            told = several(len(policy.steps), "answer")
            raise InputError(f"a run requires a policy that was told nothing yet; this one has {told}")
        if policy.paired is not None:
            raise InputError(
                f"a run holds senses of one channel at a time, and the policy {name} asks for shots; identify without a"
                " run, or choose adaptive"
            )
        if name.startswith("__main__:"):
            raise InputError(f"a run requires a policy that other programs can import; put {name} into a module")
        named = (replace(of, key=of.key if isinstance(of.key, int | str) else str(of.key)) for of in channels)
        settings = Settings(
            channels=tuple(RunChannel(**vars(labels)) for labels in named),
            policy=name,
            delta=policy.delta,
            epsilon=policy.epsilon,
            options=policy.options,
            source=dict(source),
            inferred_outputs=inferred_outputs,
            **wishes,
        )
        again = settings.new_policy()
        if type(again) is not type(policy) or again.ask() != first:
            raise InputError(f"the policy {name} made again from its options must ask the same; it asks something else")
        return settings

    @property
    def labels(self) -> tuple[ChannelLabels, ...]:
        """The channels, as policies and sensors know them."""
        return tuple(ChannelLabels(**asdict(channel)) for channel in self.channels)

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel."""
        return [(len(channel.inputs), len(channel.outputs)) for channel in self.channels]

    @property
    def supply(self) -> Supply:
        """What there is to be sensed, where the source is a recording."""
        return _supply(self.source)

    @property
    def answers_itself(self) -> bool:
        """Whether the source needs nobody to answer."""
        return self.source["kind"] in BY_THEMSELVES

    def new_policy(self) -> Policy:
        """The policy, told nothing yet but what there is to be sensed."""
        try:
            accuracy = {"epsilon": self.epsilon} if "epsilon" in policy_class(self.policy).option_names() else {}
            policy = make_policy(self.policy, self.alphabets, delta=self.delta, **accuracy, **self.options)
            policy.limit(self.supply)
            return policy
        except (InputError, TypeError) as error:  # of damaged settings even the names may be wrong
            raise InputError(f"the policy of the run cannot be made: {error}") from error

    def text(self) -> str:
        """The settings as JSON."""
        return json.dumps(to_builtins(self), allow_nan=False)

    @staticmethod
    def parse(text: str) -> Settings:
        """The settings that `text` wrote, or an `InputError`."""
        try:
            settings = decode(text, type=Settings)
            if not isinstance(settings.source["kind"], str):
                raise ValueError("the kind of the source must be a text")
            if len({channel.key for channel in settings.channels}) < len(settings.channels):
                raise ValueError("no two channels may have the same name")
            settings.supply.refuse_other(settings.alphabets)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"the settings of the run are damaged ({error!r}); restore the file from a copy") from None
        return settings

    def refuse_other(self, other: Settings) -> None:
        """Refuse settings that are not these: a run answers one question."""
        theirs = other._comparable()
        for key, value in self._comparable().items():
            if theirs.get(key) != value:
                raise InputError(
                    f"the run was begun with {key} {shortened(value)}, and now it is {shortened(theirs.get(key))};"
                    " use these settings, or another file for another run"
                )

    def _comparable(self) -> dict[str, Any]:
        """What must not change, by what it is called; a recording may move to another path."""
        content: dict[str, Any] = json.loads(self.text())
        source = content.pop("source")
        # what a recording has is in its content, which is compared; checks of it may have been left out
        for key in ("path", "warnings", RECORDED):
            source.pop(key, None)
        source["senses"] = source.pop("kind")
        return content | source


def refuse_wishes(title: str, note: str, largest_request: int | None) -> None:
    """Refuse a title, a note or a largest request that cannot be one."""
    for key, text in (("title", title), ("note", note)):
        if len(text) > LONGEST[key] or not text.replace("\n", "" if key == "note" else "\0").isprintable():
            raise InputError(f"the {key} must be at most {LONGEST[key]} visible letters; it is {text[:40]!r}")
    if largest_request is not None and (type(largest_request) is not int or largest_request < 1):
        raise InputError(f"the largest request must be a whole number >= 1; it is {largest_request!r}")


def _supply(source: Mapping[str, Any]) -> Supply:
    recorded = source.get(RECORDED)
    return Supply(each=None if recorded is None else tuple(map(tuple, recorded)))


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
    columns: Columns | str
    bins: Bins = None
    set_aside: int | float = SET_ASIDE  # how many senses, or which part of them
    form: str | None = None
    transpose: bool = False
    joint: bool = False  # trials that all channels answered

    def sensor(self, progress: Progress | None = None) -> Recording | JointRecording:
        """The recording at its beginning; `progress` is told how many bytes of how many are read."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        if options.pop("joint"):
            return JointRecording(read_joint_trials(self.trials, outputs=self.outputs, columns=self.columns))
        return Recording.from_file(options.pop("trials"), **options, progress=progress)

    def record(self, run: Path) -> dict[str, Any]:
        """What the run stores: the path as seen from its own folder, so that both can move, and the content's hash."""
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
    if not settings.answers_itself:
        raise InputError(f"{run}: only a simulated or replayed run goes on by itself; this is a {kind} run")
    try:
        return _simulation(settings) if kind == SIMULATION else _replay(settings.source, run.absolute().parent)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{run}: the source of the run is damaged ({error!r}); restore the file from a copy") from None


def _simulation(settings: Settings) -> Simulation:
    seed, rows = settings.source["seed"], settings.source["rows"]
    if type(seed) is not int or seed < 0:
        raise ValueError("the seed must be a whole number")
    channels = {
        labels.key: Channel.from_rows(W, name=str(labels.key), inputs=labels.inputs, outputs=labels.outputs)
        for labels, W in zip(settings.labels, rows, strict=True)
    }
    return Simulation(channels, seed)


def _replay(stored: Mapping[str, Any], folder: Path) -> Replay:
    paths, hashes = ([of] if isinstance(of, str) else of for of in (stored["path"], stored["sha256"]))
    trials = [folder / path for path in paths]
    for path, sha256 in zip(trials, hashes, strict=True):
        if _sha256(path) != sha256:
            raise InputError(f"{path}: the recording must be as it was when the run was begun; it has changed")
    return convert({**stored, "trials": trials}, Replay)


def _sha256(path: Path) -> str:
    """The hash of a file: not of a pipe or a device, which may never end and does not give its content twice."""
    try:
        if str(path) == "-" or not S_ISREG(path.stat().st_mode):
            wanted = "a run reads its recording again when it goes on, so that this must be a file"
            raise InputError(f"{path}: {wanted}; it is a folder, a pipe or a device (write what it gives into a file)")
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read ({error})") from None
