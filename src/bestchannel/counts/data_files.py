"""Channels, counts and trials in files: which formats there are, and what is read from any of them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bestchannel.channels import Channel
from bestchannel.counts import array_files, json_format, matrix_text, table_files, text_log
from bestchannel.counts.joint_records import COUNTS, joint_trials_of
from bestchannel.counts.joint_trials import JointTrials
from bestchannel.counts.labelled_counts import (
    NO_ORDER,
    Columns,
    Combinations,
    Hints,
    LabelledCounts,
    RowBlock,
    Trials,
    by_name,
    refuse_text,
)
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.quantisation import NOT_SENSES, SET_ASIDE, Bins, MeasuredOutputs
from bestchannel.counts.table import Table
from bestchannel.disk import PACKED, OpenFile, errors_naming, name_of, opened, write_bytes
from bestchannel.errors import InputError
from bestchannel.process import Progress


@dataclass(frozen=True)
class Format:
    """What files of one format can hold, and how it is read and written; None where they cannot.

    `table` gives the rows below names of columns, for "count", "p" or "joint", or None for a file of `matrices`, whose
    numbers are counts or are not; `log` the rows of long logs by blocks, where these are no table first. `texts` are
    those that a file is made of, or the one that is named; `render` is what such a file holds.
    """

    table: Callable[[OpenFile, Hints, str], Table | None] = lambda *_: None
    matrices: Callable[[OpenFile, Hints, bool], list[NamedMatrix]] = lambda *_: []
    render: Callable[[Mapping[str, Channel]], bytes] | None = None
    log: Callable[[OpenFile, Hints, Combinations], Iterator[RowBlock] | None] | None = None
    texts: Callable[[OpenFile, str | None], list[OpenFile]] | None = None

    def table_of(self, source: OpenFile, hints: Hints, use: str) -> Table | None:
        """The table in the file; where it has none, nobody can say what columns are called."""
        table = self.table(source, hints, use)
        if table is None and hints.columns is not None:
            kind = f"none are read from this {source.ending} file"
            raise InputError(f"columns belongs to rows with names above them; {kind}")
        return table

    def rows_of(self, source: OpenFile, hints: Hints, seen: Combinations) -> Iterator[RowBlock] | None:
        """The rows of a log; None where the file holds matrices."""
        if self.log:
            return self.log(source, hints, seen)
        table = self.table_of(source, hints, "count")
        return None if table is None else table.log(seen, source.name, hints.columns)


_TEXT = Format(matrix_text.read_table, matrix_text.read_matrices, log=text_log.read_log)
_JSON = Format(json_format.read_table, json_format.read_matrices)
_ARROW = Format(table_files.read_table)
FORMATS = {
    ".csv": replace(_TEXT, render=matrix_text.render),
    **dict.fromkeys((".tsv", ".txt", ".dat", ".log"), _TEXT),
    ".parquet": replace(_ARROW, render=table_files.render),
    ".npz": Format(array_files.read_table, array_files.read_archive, array_files.render),
    ".npy": Format(matrices=array_files.read_array),
    ".mat": Format(array_files.read_table, array_files.read_variables),
    ".json": replace(_JSON, render=json_format.render),
    **dict.fromkeys(json_format.LINES, _JSON),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _ARROW),
    ".xlsx": replace(_TEXT, texts=table_files.sheets),
}
"""Every format by the ending of its files."""

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]  # a file, a folder, or several of them
_SHEET = re.compile(r"(.+\.xlsx)#(.+)", re.IGNORECASE)  # how one sheet of a workbook is named


def read_channels(
    path: Paths,
    *,
    normalize: bool = False,
    transpose: bool = False,
    columns: Columns = None,
    form: str | None = None,
    channel_axis: str | None = None,
) -> dict[str, Channel]:
    """The channels of a file by name, in the order of the file, with its labels; errors are those of `read_counts`.

    Parameters
    ----------
    path, transpose, form, channel_axis
        As in `read_counts`.
    normalize
        Divide each row by its sum instead of refusing a sum other than 1.
    columns
        What the columns of a long form are called, as {"channel": "link", "x": "sent", "y": "got", "p": "probability"};
        of a text without a header, what they are, as ["x", "y", "p"].

    Returns
    -------
    dict
        Of `Channel`, by name.

    Raises
    ------
    InputError, MissingFileError, MissingExtraError
        As in `read_counts`; the message names the file, the channel, the row and the value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "links.json")
    ...     _ = path.write_text('{"channels": {"cable": [[0.9, 0.1], [0.1, 0.9]]}}')
    ...     read_channels(path)
    {'cable': Channel('cable', 2 inputs, 2 outputs)}
    """
    hints = Hints(columns, transpose, form, channel_axis)
    files = files_of(path)
    found: list[Channel] = []
    with _naming(files[0], len(files) == 1):
        for file in files:
            with _naming(file, len(files) > 1), _opened(file) as (sources, format):
                for source in sources:
                    table = format.table_of(source, hints, "p")
                    of_rows = table and table.matrices(source.name, hints)
                    matrices = of_rows or format.matrices(source, hints, False)
                    found += [matrix.upright(transpose).channel(normalize=normalize) for matrix in matrices]
        return by_name(found)


def write_channels(path: str | os.PathLike[str], channels: Mapping[str, Channel]) -> None:
    """Write the channels in the format that the ending of the path names, at once or not at all.

    Reading gives them back to the bit, except that .csv and .parquet give labels that are
    all integers in numeric order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_channels(f"{folder}/links.csv", {"link": Channel.from_rows([[0.9, 0.1], [0.2, 0.8]])})
    ...     read_channels(f"{folder}/links.csv")
    {'link': Channel('link', 2 inputs, 2 outputs)}
    """
    path = Path(path)
    with errors_naming(path):
        if not channels:
            raise InputError("a file must hold at least one channel; none was given")
        for name, channel in channels.items():
            refuse_text(name, channel.inputs, channel.outputs)
        render = _format_of(path.suffix.lower()).render
        if render is None:
            endings = ", ".join(ending for ending, format in FORMATS.items() if format.render)
            raise InputError(f"channels are written to {endings}; the ending is {path.suffix!r}")
        write_bytes(path, render(channels))


def read_counts(
    path: Paths,
    *,
    outputs: Sequence[str] | None = None,
    transpose: bool = False,
    columns: Columns = None,
    bins: Bins = None,
    set_aside: float = SET_ASIDE,
    form: str | None = None,
    channel_axis: str | None = None,
    order: bool = True,
    progress: Progress | None = None,
) -> dict[str, LabelledCounts]:
    r"""The counts in a file by channel, in the order of the file.

    Rows have the columns x, y and perhaps channel and count; without count a row is one sense, without channel all
    rows are one channel, named after the file. Rows of one (channel, x, y) add up; what has no row counts 0.

    Parameters
    ----------
    path
        The file; its ending says what it holds. "-" is standard input, whose first bytes say it. Several files, or a
        folder of them, hold the channels of all: one that its file does not name is called as the file, and one that
        the rows of several files name is joined. A folder of .parquet files is one table in parts; book.xlsx#SHEET is
        one sheet of a workbook.
    outputs
        The outputs that every channel can give, seen or not.
    transpose
        That the columns of the matrices, or y of rows, are the inputs.
    columns
        What the columns of rows are called, as {"channel": "link", "x": "sent", "y": "got", "count": "n", "time": "t"};
        of a text without a header, what they are, as ["x", "y"].
    bins
        Where outputs are measured values: how many bins they are cut into, or the edges, as in `quantise`; "none" says
        that numbers are labels. Without it, outputs that look measured are refused.
    set_aside
        The share, or the number, of the senses of every input that choose the edges, as in `quantise`.
    form
        "rows" or "matrix", where a text can be read as either.
    channel_axis
        "first" or "last": which axis of a stack of matrices counts the channels, where its shape does not tell.
    order
        Keep the order of the senses too where a row is one, two bytes per sense; `estimate` then checks that the
        channel is one and the same throughout. It is that of a column time, where there is one.
    progress
        Called with (bytes read, bytes in all).

    Returns
    -------
    dict[str, LabelledCounts]
        `counts` of shape (n_inputs, n_outputs) with the labels of both; `estimate` takes it.

    Raises
    ------
    InputError
        Where the file holds no counts; the message names the file, the line and the value.
    MissingFileError, MissingExtraError
        Where there is no such file (a `FileNotFoundError` too), or where it is read by a package that is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "counts.csv")
    ...     _ = path.write_text("channel,x,y,count\ncable,0,0,9\ncable,0,1,1\ncable,1,1,10\n")
    ...     read_counts(path)["cable"].counts.tolist()
    [[9, 1], [0, 10]]
    """
    hints = Hints(columns, transpose, form, channel_axis)
    if _to_be_cut(bins):
        trials = _trials(path, hints, outputs, bins, set_aside, progress)
        return {content.name: content for content in trials.labelled_counts()}
    seen = Combinations(outputs, numbers_are_labels=bins is not None, transpose=transpose)
    contents = _Contents(path, hints, seen, progress)
    with contents.named():
        counted = seen.counted(contents.rows(), order=order)
        counted += [matrix.upright(transpose).counts(seen.declared) for matrix in contents.matrices]
        return by_name(counted)


def read_trials(
    path: Paths,
    *,
    outputs: Sequence[str] | None = None,
    transpose: bool = False,
    columns: Columns = None,
    bins: Bins = None,
    set_aside: float = SET_ASIDE,
    form: str | None = None,
    progress: Progress | None = None,
) -> Trials:
    r"""The trials of a log in their order, one row per sense: text or Parquet with columns x, y, perhaps channel.

    The order is that of a column time, where there is one, otherwise that of the rows. Text may also have lines
    `(input, output)`.

    Parameters
    ----------
    path, outputs, transpose, columns, bins, set_aside, form, progress
        As in `read_counts`.

    Returns
    -------
    Trials
        The outputs of every input of every channel, in the order of the log; `Recording` takes it.

    Raises
    ------
    InputError, MissingFileError, MissingExtraError
        As in `read_counts`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("channel,x,y\ncable,0,0\ncable,1,1\ncable,0,1\n")
    ...     read_trials(path).outputs[0][0].tolist()
    [0, 1]
    """
    # matrices are no trials, along whichever axis
    return _trials(path, Hints(columns, transpose, form, "first"), outputs, bins, set_aside, progress)


def read_joint_trials(
    path: Paths, *, outputs: Sequence[str] | None = None, columns: Columns = None, groups: str | None = None
) -> JointTrials:
    r"""The trials of a file that several channels answer, a row per answer or a row per trial.

    Parameters
    ----------
    path
        One file, in any format with named columns: trial,channel,x,y with a row per answer; or a row per trial with
        its input x and the answers y_NAME of every channel, or with an input x_NAME for each. An answer that is blank
        or missing did not come.
    outputs
        As in `read_counts`.
    columns
        What the columns are called, as {"trial": "item", "x": "truth", "y": "pred_*"}, in which * stands for the names
        of channels; others are passed over then.
    groups
        The column that names groups of trials, where trials of different groups alone are independent.

    Returns
    -------
    JointTrials
        `estimate` takes it, with `design="joint"` or `design="shared"`.

    Raises
    ------
    InputError, MissingFileError, MissingExtraError
        As in `read_counts`; and where a trial has two answers or two inputs of one channel.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("trial,x,y_svm,y_tree\n0,cat,cat,dog\n1,dog,dog,\n2,dog,dog,dog\n")
    ...     read_joint_trials(path).missing
    {'svm': 0, 'tree': 1}
    """
    files = files_of(path)
    with _naming(files[0], len(files) == 1), _opened(files[0]) as (sources, format):
        if len(files) > 1 or len(sources) > 1:
            raise InputError(
                "trials that all channels answer must be in one file, and on one sheet of a workbook, which is named"
                f" as {files[0].stem}.xlsx#SHEET; there are {max(len(files), len(sources))}"
            )
        table = format.table_of(sources[0], Hints(columns), "joint")
        if table is None:
            raise InputError(COUNTS)
        return joint_trials_of(table, columns, groups, outputs)


def _trials(
    path: Paths, hints: Hints, outputs: Sequence[str] | None, bins: Bins, set_aside: float, progress: Progress | None
) -> Trials:
    cut = _to_be_cut(bins)
    as_labels = Combinations(outputs, numbers_are_labels=bins is not None, transpose=hints.transpose)
    measured = MeasuredOutputs(transpose=hints.transpose)
    contents = _Contents(path, hints, measured if cut else as_labels, progress)
    with contents.named():
        if not cut:
            return as_labels.trials(contents.rows(NO_ORDER))
        if outputs is not None:
            raise InputError(
                "bins are the outputs, so that outputs cannot be declared beside them; give one of the two"
            )
        return measured.quantised(contents.rows(NOT_SENSES), bins, set_aside)


class _Contents:
    """What files hold, one after the other: rows that `seen` numbers, and matrices."""

    def __init__(self, path: Paths, hints: Hints, seen: Combinations, progress: Progress | None) -> None:
        self._files, self._hints, self._seen, self._progress = files_of(path), hints, seen, progress
        self.matrices: list[NamedMatrix] = []

    def named(self) -> AbstractContextManager[None]:
        """Let refusals begin with the file, if there is but one."""
        return _naming(self._files[0], len(self._files) == 1)

    def rows(self, no_matrices: str = "") -> Iterator[RowBlock]:
        """The rows of all logs; matrices are kept, or refused with the reason."""
        sizes = [file.stat().st_size if file.is_file() else 0 for file in self._files]
        for k, file in enumerate(self._files):
            done = partial(self._report, sum(sizes[:k]), sum(sizes)) if self._progress else None
            with _naming(file, len(self._files) > 1):
                yield from self._rows_of(file, no_matrices, done)
        stems = Counter(name_of(file) for file in self._files)
        for stem in self._seen.channel_names():
            if stems[stem] > 1:
                raise InputError(
                    f'{stems[stem]} files are called "{stem}", and a channel that its file does not name is called as'
                    " the file; give them different names, or their rows a column channel"
                )

    def _report(self, before: int, total: int, here: int, size: int) -> None:
        """Progress within one of several files as that within all."""
        if self._progress:
            self._progress(before + here, max(total, before + size))

    def _rows_of(self, file: Path, no_matrices: str, progress: Progress | None) -> Iterator[RowBlock]:
        if file.is_dir():
            yield from table_files.read_parts(file, self._hints, self._seen, progress)
            return
        with _opened(file) as (sources, format):
            found = []
            for source in sources:
                source.progress = progress
                log = format.rows_of(source, self._hints, self._seen)
                if log is None:
                    found += format.matrices(source, self._hints, True)
                elif len(sources) > 1:
                    raise InputError(
                        f'rows must be on one sheet; {len(sources)} have content, and "{source.name}" has rows;'
                        f" name the one that is meant after the file, as {file.stem}.xlsx#{source.name}, or save each"
                        " sheet as a .csv file, and give all of these"
                    )
                else:
                    yield from log
            if found and no_matrices:
                raise InputError(no_matrices)
            self.matrices += found


def files_of(path: Paths) -> list[Path]:
    """The files that are meant: a folder is one of Parquet, or stands for the files in it, by name."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not given:
        raise InputError("there must be a file; none is given")
    files: list[Path] = []
    for path in map(Path, given):
        inside = [file for file in path.rglob("*") if _is_data(file.relative_to(path)) and file.is_file()]
        # a folder of .parquet files is a table in parts, or nothing, of which its reader speaks
        whole = all(file.suffix == ".parquet" for file in inside)
        files += [path] if whole else sorted(inside, key=table_files.natural)
    return files


def _is_data(file: Path) -> bool:
    """Whether a file in a folder is one to be read: its ending is known; _ and . begin the names of notes."""
    ending = Path(file.stem).suffix if file.suffix.lower() in PACKED else file.suffix
    return ending.lower() in FORMATS and not any(part.startswith((".", "_")) for part in file.parts)


def _to_be_cut(bins: Bins) -> bool:
    """Whether outputs are numbers to be cut into bins."""
    if isinstance(bins, str) and bins != "none":
        raise InputError(f'bins must be a number, edges or "none"; it is {bins!r}')
    return bins is not None and not isinstance(bins, str)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[list[OpenFile], Format]]:
    """The file, or the texts that it is made of, or the one that its name says, and its format."""
    named = None if path.exists() else _SHEET.fullmatch(str(path))
    with opened(Path(named[1]) if named else path) as source:
        format = _format_of(source.ending)
        if format.texts:
            yield format.texts(source, named[2] if named else None), format
            return
        printed = format.log and json_format.PRINTED.match(text_log.shown_text(source.head(text_log.HEAD)))
        yield [source], FORMATS[".json"] if printed else format


def _naming(file: Path, wanted: bool) -> AbstractContextManager[None]:
    """Let every refusal inside begin with the file, if that is wanted."""
    return errors_naming(file) if wanted else nullcontext()


def _format_of(ending: str) -> Format:
    if ending not in FORMATS:
        raise InputError(
            f"the ending must be one of {', '.join(FORMATS)}; it is {ending!r}; unpack it, or save it as one of these,"
            " or give what it holds to bestchannel.estimate"
        )
    return FORMATS[ending]
