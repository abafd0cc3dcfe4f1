"""How files are read, as the options say that every verb with data has: one set for all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestchannel.channels import Channel
from bestchannel.channels.families import named_family
from bestchannel.cli import terminal
from bestchannel.cli.options import flag, option
from bestchannel.counts import LabelledCounts, read_channels, read_counts
from bestchannel.counts.data_files import files_of
from bestchannel.counts.labelled_counts import hint_about_bins
from bestchannel.counts.quantisation import SET_ASIDE, Bins
from bestchannel.disk import errors_naming
from bestchannel.errors import CountsFoundError, InputError

if TYPE_CHECKING:
    from bestchannel.runs import Replay

_FOR_COUNTS, _FOR_CHANNELS = ("outputs", "bins", "set_aside"), ("normalize",)
"""Options that say nothing about known channels, and about counts."""

BY_TIME = "the senses are taken in the order of the column time, which is not that of the rows"


@dataclass(frozen=True)
class Reading:
    """How files are to be read; None and False where nothing is said."""

    transpose: bool
    columns: Mapping[str, str] | Sequence[str] | None
    form: str | None
    channel_axis: str | None
    normalize: bool
    outputs: Sequence[str] | None
    bins: Bins
    set_aside: float | None

    @staticmethod
    def from_options(
        columns: str | None = option(
            None,
            "What the columns of rows are called, as channel=link,x=sent,y=got,count=n (or p=prob, time=t); of rows"
            " without a header, what they are, as x,y or channel,x,y.",
        ),
        transpose: bool = flag("The columns of the matrices, or y of the rows, are the inputs.", "--transpose"),
        form: str | None = option(None, "rows or matrix, where a text may be either."),
        channel_axis: str | None = option(None, "first or last: the axis of a stack along which the channels are."),
        normalize: bool = flag("Of probabilities: divide rows that do not sum to 1 by their sum.", "--normalize"),
        outputs: str | None = option(None, "Of counts: the outputs that each channel can give, as 0,1,2; seen or not."),
        bins: str | None = option(
            None,
            "Of trial logs: cut measured outputs into so many bins, or at edges as --bins=-1,0,1; none: numbers are"
            " labels.",
        ),
        set_aside: float | None = option(
            None,
            "Senses of every input that choose the edges of --bins and nothing else; below 1 a share of them."
            f" {SET_ASIDE} unless given.",
        ),
    ) -> Reading:
        """The way of reading that these options describe."""
        return Reading(
            transpose=transpose,
            columns=None if columns is None else _columns(columns),
            form=form,
            channel_axis=channel_axis,
            normalize=normalize,
            outputs=None if outputs is None else [label.strip() for label in outputs.split(",")],
            bins=None if bins is None else _bins(bins),
            set_aside=int(set_aside) if set_aside and set_aside >= 1 and set_aside.is_integer() else set_aside,
        )

    def given(self, keys: Iterable[str] | None = None) -> list[str]:
        """The options that the command has, as it has them; of these keys, or of all."""
        written = [key for key, value in vars(self).items() if value not in (None, False)]
        return [f"--{key.replace('_', '-')}" for key in written if keys is None or key in keys]

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
            read = read_channels(files, normalize=self.normalize, **self._anyway())
        if twice := named.keys() & read.keys():
            raise InputError(f"each channel must be named once; {min(twice)} is named twice")
        return named | read

    def counts(self, paths: Sequence[Path], *, order: bool) -> dict[str, LabelledCounts]:
        """The counts in the files, with the order of the senses if it is known and wanted."""
        self._refuse(_FOR_CHANNELS, "probabilities, and these are counts")
        with terminal.progress("bytes read") as progress:
            read = read_counts(paths, **self._anyway(), **self._of_logs(), order=order, progress=progress)
        if any(content.by_time for content in read.values()):
            terminal.note(BY_TIME)
        for content in read.values():
            hint = hint_about_bins(content.name, content.outputs) if content.inferred_outputs else None
            if hint and self.bins is None:
                terminal.note(hint)
        return read

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
                counted = isinstance(error, CountsFoundError) or self.given(_FOR_COUNTS)
                raise (other if counted else error) from None
        names = ", ".join(path.name for path in paths)
        terminal.note(f"{names} has counts: the answer is for channels that are exactly as this pilot found them")
        with errors_naming(paths[0]):
            return {name: _frequencies(counts) for name, counts in pilot.items()}

    def replay(self, paths: Sequence[Path]) -> Replay:
        """The recording in the files."""
        from bestchannel.runs import Replay  # deferred: most verbs have no run

        self._refuse(_FOR_CHANNELS, "known channels (--simulate), and this is a log")
        logs = self._of_logs()
        return Replay(tuple(files_of(paths)), columns=self.columns, form=self.form, transpose=self.transpose, **logs)

    def _anyway(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("transpose", "columns", "form", "channel_axis")}

    def _of_logs(self) -> dict[str, Any]:
        aside = SET_ASIDE if self.set_aside is None else self.set_aside
        return {"outputs": self.outputs, "bins": self.bins, "set_aside": aside}

    def _refuse(self, keys: Iterable[str] | None, what: str) -> None:
        if names := self.given(keys):
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
