"""How files are read: as the options say that every verb with data has, and those that hold a record or an estimate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from msgspec import Struct, ValidationError, convert

from bestchannel.channels import Channel
from bestchannel.channels.families import named_family
from bestchannel.cli import options, terminal
from bestchannel.cli.options import DesignChoice, flag, option
from bestchannel.counts import JointTrials, LabelledCounts, read_channels, read_counts, read_joint_trials
from bestchannel.counts.data_files import files_of
from bestchannel.counts.frames import labelled_counts
from bestchannel.counts.labelled_counts import hint_about_bins
from bestchannel.counts.quantisation import SET_ASIDE, Binning, Bins
from bestchannel.disk import errors_naming, opened
from bestchannel.errors import CountsFoundError, InputError, JointTrialsFoundError
from bestchannel.json_text import json_of
from bestchannel.promises import several

if TYPE_CHECKING:
    from bestchannel.report.provenance import Provenance
    from bestchannel.runs import Replay

SQLITE, HTML = b"SQLite format 3\0", b"<!doctype html"  # what every file of a run, and every report, begins with
_FOR_COUNTS, _FOR_CHANNELS = ("outputs", "bins", "set_aside"), ("normalize",)
"""Options that say nothing about known channels, and about counts."""

_NOT_FOR_JOINT = ("transpose", "form", "channel_axis", "normalize", "bins", "set_aside")

BY_TIME = "the senses are taken in the order of the column time, which is not that of the rows"


@dataclass(frozen=True)
class Reading:
    """How files are to be read."""

    columns: str | None = option(
        None,
        "What the columns of rows are called, as channel=link,x=sent,y=got,count=n (or p=prob, time=t); of rows without"
        " a header, what they are, as x,y or channel,x,y. With --design joint also trial=item, and * stands for the"
        " names of channels, as x=truth,y=pred_*.",
    )
    transpose: bool = flag("The columns of the matrices, or y of the rows, are the inputs.", "--transpose")
    form: str | None = option(None, "rows or matrix, where a text may be either.")
    channel_axis: str | None = option(None, "first or last: the axis of a stack along which the channels are.")
    normalize: bool = flag("Of probabilities: divide rows that do not sum to 1 by their sum.", "--normalize")
    outputs: str | None = option(None, "Of counts: the outputs that each channel can give, as 0,1,2; seen or not.")
    bins: str | None = option(
        None,
        "Of trial logs: cut measured outputs into so many bins, or at edges as --bins=-1,0,1; none: numbers are"
        " labels.",
    )
    set_aside: float | None = option(
        None,
        "Senses of every input that choose the edges of --bins and nothing else; below 1 a share of them."
        f" {SET_ASIDE} unless given.",
    )

    def channels(self, paths: Sequence[Path]) -> dict[str, Channel]:
        """The known channels in the files."""
        self._refuse(_FOR_COUNTS, "counts and trial logs, and this verb takes the probabilities of known channels")
        families, files = [path for path in paths if _is_family(path)], [p for p in paths if not _is_family(p)]
        named = {str(path): named_family(str(path)) for path in families}
        if len(named) < len(families):
            raise InputError("each channel must be named once; one of a family is named twice")
        if not files:
            self._refuse(None, f"files, and {families[0]} is none")
            return named
        with terminal.progress("reading channels"):
            read = read_channels(files, normalize=self.normalize, **self._of_all())
        if twice := named.keys() & read.keys():
            raise InputError(f"each channel must be named once; {min(twice)} is named twice")
        return named | read

    def counts(self, paths: Sequence[Path], *, order: bool) -> dict[str, LabelledCounts]:
        """The counts in the files, with the order of the senses if it is known and wanted."""
        self._refuse(_FOR_CHANNELS, "probabilities, and these are counts")
        with terminal.progress("bytes read") as progress:
            read = read_counts(paths, **self._of_all(), **self._of_logs(), order=order, progress=progress)
        if any(content.by_time for content in read.values()):
            terminal.note(BY_TIME)
        for content in read.values():
            hint = hint_about_bins(content.name, content.outputs) if content.inferred_outputs else None
            if hint and self.bins is None:
                terminal.note(hint)
        return read

    def counts_or_trials(
        self, paths: Sequence[Path], design: DesignChoice | None, groups: str | None, *, order: bool
    ) -> dict[str, LabelledCounts] | JointTrials:
        """The counts in the files, or the trials that all channels answer, in designs that take these."""
        if design is not DesignChoice.joint:
            try:
                return self.counts(paths, order=order)
            except JointTrialsFoundError:
                if design is not DesignChoice.shared:
                    raise
        self._refuse(_NOT_FOR_JOINT, "other files, and these are trials that all channels answer")
        with terminal.progress("reading trials"):
            trials = read_joint_trials(paths, outputs=self._declared(), columns=self._names(), groups=groups)
        for name, n in trials.missing.items():
            if n:
                terminal.note(f'channel "{name}" has no answer in {n:,} of {several(len(trials.y), "trial")}')
        return trials

    def guessed(self, paths: Sequence[Path]) -> dict[str, Channel]:
        """The channels in the files; of counts, their relative frequencies."""
        if self.normalize or not all(path.is_file() or path.is_dir() for path in paths):  # a pipe is read once
            return self.channels(paths)
        try:
            return self.channels(paths)
        except InputError as error:
            try:
                pilot = self.counts(paths, order=False)
            except InputError as other:
                counted = isinstance(error, CountsFoundError) or options.given(self).keys() & {*_FOR_COUNTS}
                raise (other if counted else error) from None
        names = ", ".join(path.name for path in paths)
        terminal.note(f"{names} has counts: the answer is for channels that are exactly as this pilot found them")
        with errors_naming(paths[0]):
            return {name: _frequencies(counts) for name, counts in pilot.items()}

    def replay(self, paths: Sequence[Path]) -> Replay:
        """The recording in the files."""
        from bestchannel.runs import Replay  # deferred: most verbs have no run

        self._refuse(_FOR_CHANNELS, "known channels (--simulate), and this is a log")
        logs, files = self._of_logs(), tuple(files_of(paths))
        return Replay(files, columns=self._names(), form=self.form, transpose=self.transpose, **logs)

    def _of_all(self) -> dict[str, Any]:
        arrays = {"form": self.form, "transpose": self.transpose, "channel_axis": self.channel_axis}
        return {"columns": self._names(), **arrays}

    def _names(self) -> dict[str, str] | list[str] | None:
        return None if self.columns is None else _columns(self.columns)

    def _of_logs(self) -> dict[str, Any]:
        aside = SET_ASIDE if self.set_aside is None else self.set_aside
        whole = int(aside) if aside >= 1 and float(aside).is_integer() else aside
        bins = None if self.bins is None else _bins(self.bins)
        return {"outputs": self._declared(), "bins": bins, "set_aside": whole}

    def _declared(self) -> list[str] | None:
        return None if self.outputs is None else [label.strip() for label in self.outputs.split(",")]

    def _refuse(self, keys: Iterable[str] | None, what: str) -> None:
        written = options.given(self)
        if names := options.as_typed(name for name in written if keys is None or name in keys):
            raise InputError(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} for {what}; leave it out")


def _is_family(path: Path) -> bool:
    """Whether a text names a channel of a family, known or not, and no file."""
    return re.fullmatch(r"[a-z]+:[^/\\]*", str(path)) is not None and not path.exists()


def _columns(text: str) -> dict[str, str] | list[str]:
    """channel=link,x=sent as a mapping from our names to the file's; x,y as the names of columns that have none."""
    if "=" not in text:
        return [part.strip() for part in text.split(",")]
    pairs = [part.partition("=") for part in text.split(",")]
    for ours, sign, _ in pairs:
        if not sign or not ours.strip():
            raise InputError(f"--columns must look like channel=link,x=sent,y=got; it is {text!r}")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def _bins(text: str) -> Bins:
    """8 as a number of bins, -1,0,1 as edges, none as it is; a comma after a single edge tells it from a number."""
    if text.strip() == "none":
        return "none"
    parts = text.strip().removesuffix(",").split(",")
    try:
        if parts == [text.strip()] and float(text).is_integer():
            return int(float(text))
        return [float(part) for part in parts]
    except (ValueError, OverflowError):
        raise InputError(f"--bins must be a number as 8, edges as --bins=-1,0,1, or none; it is {text!r}") from None


def _frequencies(counts: LabelledCounts) -> Channel:
    for letter, senses in zip(counts.inputs, counts.counts.sum(axis=1).tolist(), strict=True):
        if not senses:
            raise InputError(
                f'a pilot must have sensed every input; input {letter} of channel "{counts.name}" has none'
            )
    W = counts.counts / counts.counts.sum(axis=1, keepdims=True)
    return Channel.from_rows(W, name=counts.name, inputs=counts.inputs, outputs=counts.outputs, normalize=True)


@dataclass(frozen=True)
class Record:
    """The record of an identification, as JSON, and what its file knows of its origin."""

    document: Any
    origin: Provenance

    stated: ClassVar[Mapping[str, Any]] = {"design": "adaptive"}
    """What the file says itself of how its counts are to be judged."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the data being as supposed."""
        return self.origin.warnings

    def counts(self) -> dict[str, LabelledCounts]:
        """The counts with their labels; a record that contradicts itself is refused."""
        from bestchannel.policies.transcript import MOST_COUNTS, from_document, told_counts
        from bestchannel.report.summary import require_consistent

        result = from_document(self.document)
        require_consistent(result)
        counts = {}
        for labels, table in zip(result.audit.channels, told_counts(result), strict=True):
            name = str(labels.key)
            if not 0 < table.sum() <= MOST_COUNTS:
                raise InputError(
                    f"channel {name} was sensed {table.sum():,} times, and estimates take 1 to 2^53 senses; see report"
                )
            inferred = result.audit.inferred_outputs
            counts[name] = LabelledCounts(name, table.astype(np.int64), labels.inputs, labels.outputs, inferred)
        return counts


class PrintedChannel(Struct):
    """A channel of an estimate as it was printed."""

    name: str
    counts: list[list[int]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    binning: Binning | None


class PrintedEstimate(Struct):
    """What `estimate --json` printed: counts, and what was asked of them. What else it states need not be believed."""

    channels: tuple[PrintedChannel, ...]
    inferred_outputs: bool
    delta: float = 0.05
    epsilon: float = 0.0
    design: str = "fixed"
    question: Any = None
    input_distribution: Any = None  # and what else `estimate` checks
    order: Any = None
    checks: Any = None

    @property
    def stated(self) -> dict[str, Any]:
        """As of a `Record`."""
        said = {key: getattr(self, key) for key in ("delta", "epsilon", "design", "question", "input_distribution")}
        return {**said, "rank": self.order is not None}

    @property
    def warnings(self) -> tuple[str, ...]:
        """As of a `Record`."""
        from bestchannel.report.provenance import warnings_in

        return warnings_in(self.checks)

    def counts(self) -> dict[str, LabelledCounts]:
        """The counts that the estimate was made from, with their labels."""
        if self.design == "joint":
            raise InputError(
                "this estimate is from trials that all channels answered, and has their counts alone; give the file of"
                " the trials, with --design joint"
            )
        counts = {}
        for c in self.channels:
            table = labelled_counts({c.name: c.counts})[c.name].counts
            if table.shape != (len(c.inputs), len(c.outputs)) or c.name in counts:
                raise InputError(f"channel {c.name!r} occurs twice, or its letters are not those of its counts")
            counts[c.name] = LabelledCounts(c.name, table, c.inputs, c.outputs, self.inferred_outputs, c.binning)
        return counts


def held_in(paths: Sequence[Path]) -> Record | PrintedEstimate | None:
    """The record or the estimate that a single file holds; None of files that hold something else, as rows."""
    if len(paths) != 1 or not paths[0].is_file():
        return None
    with errors_naming(paths[0]):
        with opened(paths[0]) as source:
            head: bytes = source.head(100)
            start = head.lstrip().lower()
            data = source.content() if start.startswith((HTML, b"{")) else b""
        if head.startswith(SQLITE):
            from bestchannel import runs  # deferred, as all that few files need
            from bestchannel.policies.transcript import as_document
            from bestchannel.report.provenance import origin_of

            run = runs.view(paths[0])
            return Record(json.loads(json.dumps(as_document(run.outcome()))), origin_of(run, paths[0]))
        if start.startswith(HTML):
            from bestchannel.report.page import record_in
            from bestchannel.report.provenance import Provenance

            return Record(record_in(data), Provenance())
        if b'"audit"' in data or b'"asymptotic_verdict"' in data:  # counts are not parsed here, but where they are read
            document = json_of(data)
            if isinstance(document, dict) and "audit" in document:
                return Record(document, _of_source(document))
            if isinstance(document, dict) and "channels" in document and isinstance(document.get("verdict"), dict):
                return _printed(document)
    return None


def _of_source(document: Mapping[str, Any]) -> Provenance:
    """What a result says of who answered; a file may say anything."""
    from bestchannel.report.provenance import Provenance, warnings_in

    source = document["source"] if isinstance(document.get("source"), Mapping) else {}
    kind, path, seed = str(source.get("kind", "")), str(source.get("path") or ""), source.get("seed")
    known = seed if type(seed) is int and 0 <= seed < 10**40 else None
    return Provenance(source=kind, data=path, seed=known, warnings=warnings_in(document.get("checks")))


def _printed(document: Mapping[str, Any]) -> PrintedEstimate:
    try:
        return convert(document, PrintedEstimate)
    except ValidationError as error:
        raise InputError(
            f"this must be what `bestchannel estimate --json` printed, with its counts; it is not ({error}); give the"
            " file of counts in its place"
        ) from None
