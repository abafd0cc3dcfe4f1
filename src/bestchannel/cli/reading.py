"""How files are read, as the options say that every verb with data has: one set for all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel.channels import Channel
from bestchannel.channels.families import named_family
from bestchannel.cli import terminal
from bestchannel.counts import LabelledCounts, read_channels, read_counts
from bestchannel.counts.data_files import files_of
from bestchannel.counts.quantisation import SET_ASIDE, Bins
from bestchannel.counts.soft_outputs import hint_about_bins
from bestchannel.disk import errors_naming
from bestchannel.errors import CountsFoundError, InputError
from bestchannel.runs import Replay

_FOR_COUNTS, _FOR_CHANNELS = ("outputs", "bins", "set_aside"), ("normalize",)
"""Options that say nothing about known channels, and about counts."""


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

    def given(self) -> list[str]:
        """The options that the command has, as it has them."""
        return [f"--{key.replace('_', '-')}" for key, value in vars(self).items() if value not in (None, False)]

    def channels(self, paths: Sequence[Path]) -> dict[str, Channel]:
        """The known channels in the files."""
        self._refuse(_FOR_COUNTS, "counts and trial logs, and this verb takes the probabilities of known channels")
        families, files = [path for path in paths if _is_family(path)], [p for p in paths if not _is_family(p)]
        found = {str(path): named_family(str(path)) for path in families}
        if len(found) < len(families):
            raise InputError("each channel must be named once; one of a family is named twice")
        if not files:
            self._refuse(vars(self), f"files, and {families[0]} is none")
            return found
        with terminal.progress("reading channels"):
            read = read_channels(files, normalize=self.normalize, **self._anyway())
        if twice := found.keys() & read.keys():
            raise InputError(f"each channel must be named once; {min(twice)} is named twice")
        return found | read

    def counts(self, paths: Sequence[Path], *, order: bool) -> dict[str, LabelledCounts]:
        """The counts in the files, with the order of the senses if it is known and wanted."""
        self._refuse(_FOR_CHANNELS, "probabilities, and these are counts")
        with terminal.progress("bytes read") as progress:
            found = read_counts(paths, **self._anyway(), **self._of_logs(), order=order, progress=progress)
        if any(content.by_time for content in found.values()):
            terminal.note("the senses are taken in the order of the column time, which is not that of the rows")
        for content in found.values():
            hint = hint_about_bins(content.name, content.outputs) if content.inferred_outputs else None
            if hint and self.bins is None:
                terminal.note(hint)
        return found

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
                counted = isinstance(error, CountsFoundError) or self._written(_FOR_COUNTS)
                raise (other if counted else error) from None
        names = ", ".join(path.name for path in paths)
        terminal.note(f"{names} has counts: the answer is for channels that are exactly as this pilot found them")
        with errors_naming(paths[0]):
            return {name: _frequencies(counts) for name, counts in pilot.items()}

    def replay(self, paths: Sequence[Path]) -> Replay:
        """The recording in the files."""
        self._refuse(_FOR_CHANNELS, "known channels (--simulate), and this is a log")
        return Replay(
            tuple(files_of(paths)),
            self.outputs,
            self.columns,
            self.bins,
            self._of_logs()["set_aside"],
            self.form,
            self.transpose,
        )

    def _anyway(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("transpose", "columns", "form", "channel_axis")}

    def _of_logs(self) -> dict[str, Any]:
        aside = SET_ASIDE if self.set_aside is None else self.set_aside
        return {"outputs": self.outputs, "bins": self.bins, "set_aside": aside}

    def _written(self, keys: Iterable[str]) -> list[str]:
        return [name for name in self.given() if name.removeprefix("--").replace("-", "_") in keys]

    def _refuse(self, keys: Iterable[str], what: str) -> None:
        if names := self._written(keys):
            raise InputError(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} for {what}; leave it out")


def _is_family(path: Path) -> bool:
    """Whether a text names a channel of a family, known or not, and no file."""
    return re.fullmatch(r"[a-z]+:[^/\\]*", str(path)) is not None and not path.exists()


def describes_reading(
    columns: Annotated[
        str | None,
        typer.Option(
            help="What the columns of rows are called, as channel=link,x=sent,y=got,count=n (or p=prob, time=t);"
            " of rows without a header, what they are, as x,y or channel,x,y."
        ),
    ] = None,
    transpose: Annotated[
        bool, typer.Option("--transpose", help="The columns of the matrices, or y of the rows, are the inputs.")
    ] = False,
    form: Annotated[str | None, typer.Option(help="rows or matrix, where a text may be either.")] = None,
    channel_axis: Annotated[
        str | None, typer.Option(help="first or last: the axis of a stack along which the channels are.")
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Of probabilities: divide rows that do not sum to 1 by their sum.")
    ] = False,
    outputs: Annotated[
        str | None, typer.Option(help="Of counts: the outputs that each channel can give, as 0,1,2; seen or not.")
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(
            help="Of trial logs: cut measured outputs into so many bins, or at edges as --bins=-1,0,1; none: numbers"
            " are labels.",
            show_default=False,
        ),
    ] = None,
    set_aside: Annotated[
        float | None,
        typer.Option(
            help=f"Senses of every input that choose the edges of --bins and nothing else; below 1 a share of them."
            f" {SET_ASIDE} unless given.",
            show_default=False,
        ),
    ] = None,
) -> Reading:
    """The way of reading that these options describe."""
    return Reading(
        transpose=transpose,
        columns=parse_columns(columns),
        form=form,
        channel_axis=channel_axis,
        normalize=normalize,
        outputs=parse_outputs(outputs),
        bins=parse_bins(bins),
        set_aside=parse_set_aside(set_aside),
    )


def parse_columns(text: str | None) -> dict[str, str] | list[str] | None:
    """channel=link,x=sent as a mapping from our names to the file's; x,y as the names of columns that have none."""
    if text is None:
        return None
    if "=" not in text:
        return [part.strip() for part in text.split(",")]
    pairs = [part.partition("=") for part in text.split(",")]
    for ours, sign, _ in pairs:
        if not sign or not ours.strip():
            raise InputError(f"--columns must look like channel=link,x=sent,y=got; it is {text!r}")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def parse_bins(text: str | None) -> Bins:
    """8 as a number of bins, -1,0,1 as edges, none as it is; a comma after a single edge tells it from a number."""
    if text is None or text.strip() == "none":
        return None if text is None else "none"
    parts = text.strip().removesuffix(",").split(",")
    try:
        if parts == [text.strip()] and float(text).is_integer():
            return int(float(text))
        return [float(part) for part in parts]
    except (ValueError, OverflowError):
        raise InputError(f"--bins must be a number as 8, edges as --bins=-1,0,1, or none; it is {text!r}") from None


def parse_set_aside(number: float | None) -> float | None:
    """A whole number of senses, or a share below 1."""
    return int(number) if number is not None and number >= 1 and number.is_integer() else number


def parse_outputs(text: str | None) -> list[str] | None:
    """0,1,lost as labels."""
    return None if text is None else [label.strip() for label in text.split(",")]


def _frequencies(counts: LabelledCounts) -> Channel:
    for letter, senses in zip(counts.inputs, counts.counts.sum(axis=1).tolist(), strict=True):
        if not senses:
            raise InputError(
                f'a pilot must have sensed every input; input {letter} of channel "{counts.name}" has none'
            )
    W = counts.counts / counts.counts.sum(axis=1, keepdims=True)
    return Channel.from_rows(W, name=counts.name, inputs=counts.inputs, outputs=counts.outputs, normalize=True)
