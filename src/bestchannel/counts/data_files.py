"""Channels, counts and trials in files: which formats there are, and what is read from any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bestchannel.channels import Channel
from bestchannel.counts import json_format, mat_format, matrix_text, npz_format, parquet_format, text_log
from bestchannel.counts.disk import OpenFile, errors_naming, opened, write_bytes
from bestchannel.counts.labelled_counts import Columns, Combinations, LabelledCounts, RowBlock
from bestchannel.counts.long_table import NOT_A_MATRIX
from bestchannel.counts.named_matrix import NamedMatrix
from bestchannel.counts.quantisation import SET_ASIDE, Bins, MeasuredOutputs
from bestchannel.counts.trials import NO_ORDER, Trials, in_order
from bestchannel.errors import InputError
from bestchannel.progress import Progress


@dataclass(frozen=True)
class Format:
    """What files of one format can hold, and how it is read and written; None where they cannot.

    `log(source, seen, columns, progress)` gives the rows of a log, or None for a file of matrices, which
    `matrices(source, transpose)` reads. `long(source, columns, transpose)` reads channels where these may be
    rows channel, x, y, p. `render(channels)` is what such a file holds.
    """

    log: Callable[[OpenFile, Combinations, Columns, Progress | None], Iterator[RowBlock] | None] | None = None
    matrices: Callable[[OpenFile, bool], list[NamedMatrix]] | None = None
    long: Callable[[OpenFile, Columns, bool], list[NamedMatrix]] | None = None
    render: Callable[[Mapping[str, Channel]], bytes] | None = None


FORMATS = {
    ".csv": Format(text_log.read_log, matrix_text.read_matrices, matrix_text.read_long, matrix_text.render),
    ".tsv": Format(text_log.read_log, matrix_text.read_matrices),
    ".txt": Format(text_log.read_log, matrix_text.read_matrices),
    ".parquet": Format(parquet_format.read_log, None, parquet_format.read_long, parquet_format.render),
    ".npz": Format(npz_format.read_log, npz_format.read_matrices, None, npz_format.render),
    ".mat": Format(mat_format.read_log, mat_format.read_matrices),
    ".json": Format(None, json_format.read_matrices, None, json_format.render),
}
"""Every format by the ending of its files; channels are read from those that they can be written to."""

Content = TypeVar("Content", Channel, LabelledCounts)

_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")


def read_channels(
    path: str | os.PathLike[str],
    *,
    normalize: bool = False,
    transpose: bool = False,
    columns: Columns = None,
) -> dict[str, Channel]:
    """The channels of a .json, .csv, .npz or .parquet file by name, in the order of the file.

    Parameters
    ----------
    path
        The file; its ending says what it holds. "-" is no file here: pass a path.
    normalize
        Divide each row by its sum instead of refusing a sum other than 1.
    transpose
        That the columns of the matrices are the inputs.
    columns
        What the columns of a long form are called, as {"channel": "link", "x": "sent", "y": "got", "p": "probability"}.

    Returns
    -------
    dict[str, Channel]
        With the labels of the file.

    Raises
    ------
    InputError
        Where the file is not such a file; the message names the file, the channel, the row and the value.
    MissingFileError
        Where there is no such file; a `FileNotFoundError` too.
    MissingExtraError
        Where a .parquet file is read without pyarrow.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "links.json")
    ...     _ = path.write_text('{"channels": {"cable": [[0.9, 0.1], [0.1, 0.9]]}}')
    ...     read_channels(path)
    {'cable': Channel('cable', 2 inputs, 2 outputs)}
    """
    with _opened(path, channels=True) as (source, form):
        if form.long is None and columns is not None:
            raise InputError(f"columns belongs to a .csv or .parquet file; this is a {source.ending} file")
        found = form.long(source, columns, transpose) if form.long else _matrices(form, source, transpose)
        return _by_name([_upright(matrix, transpose).channel(normalize=normalize) for matrix in found])


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
            _refuse_text(name, channel.inputs, channel.outputs)
        render = _format_of(path, channels=True).render
        assert render is not None
        write_bytes(path, render(channels))


def read_counts(
    path: str | os.PathLike[str],
    *,
    outputs: Sequence[str] | None = None,
    transpose: bool = False,
    columns: Columns = None,
    bins: Bins = None,
    set_aside: float = SET_ASIDE,
    progress: Progress | None = None,
) -> dict[str, LabelledCounts]:
    r"""The counts in a text (.csv, .tsv, .txt), .parquet, .npz, .mat or .json file by channel, in its order.

    Rows have the columns x, y and perhaps channel and count; without count a row is one sense, without channel all
    rows are one channel, named after the file. Rows of one (channel, x, y) add up; what has no row counts 0.

    Parameters
    ----------
    path
        The file; its ending says what it holds.
    outputs
        The outputs that every channel can give, seen or not.
    transpose
        That the columns of the matrices are the inputs.
    columns
        What the columns of rows are called, as {"channel": "link", "x": "sent", "y": "got", "count": "n"}.
    bins
        Where outputs are measured values: how many bins they are cut into, or the edges, as in `quantise`; "none" says
        that numbers are labels. Without it, outputs that look measured are refused.
    set_aside
        The share, or the number, of the senses of every input that choose the edges, as in `quantise`.
    progress
        Called with (bytes read, bytes in all).

    Returns
    -------
    dict[str, LabelledCounts]
        `counts` of shape (n_inputs, n_outputs) with the labels of inputs and outputs; `estimate` takes it.

    Raises
    ------
    InputError
        Where the file holds no counts; the message names the file, the line and the value.
    MissingFileError
        Where there is no such file; a `FileNotFoundError` too.
    MissingExtraError
        Where a .parquet file is read without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "counts.csv")
    ...     _ = path.write_text("channel,x,y,count\ncable,0,0,9\ncable,0,1,1\ncable,1,1,10\n")
    ...     read_counts(path)["cable"].counts.tolist()
    [[9, 1], [0, 10]]
    """
    if _to_be_cut(bins):
        trials = read_trials(path, outputs=outputs, columns=columns, bins=bins, set_aside=set_aside, progress=progress)
        return {content.name: content for content in trials.labelled_counts()}
    with _opened(path) as (source, form):
        seen = Combinations(outputs, numbers_are_labels=bins is not None)
        log = _log(form, source, seen, columns, progress)
        if log is None:
            matrices = _matrices(form, source, transpose)
            return _by_name([_upright(matrix, transpose).counts(seen.declared) for matrix in matrices])
        if transpose:
            raise InputError(NOT_A_MATRIX)
        counted = seen.counted(log)
        if not counted:
            raise InputError("there must be lines after the header; there is none")
        return _by_name(counted)


def read_trials(
    path: str | os.PathLike[str],
    *,
    outputs: Sequence[str] | None = None,
    columns: Columns = None,
    bins: Bins = None,
    set_aside: float = SET_ASIDE,
    progress: Progress | None = None,
) -> Trials:
    r"""The trials of a log in their order, one row per sense: text or Parquet with columns x, y, perhaps channel.

    Parameters
    ----------
    path
        The file; text may also have lines `(input, output)`.
    outputs
        The outputs that every channel can give, seen or not.
    columns
        What the columns are called, as {"channel": "link", "x": "sent", "y": "got"}.
    bins
        Where outputs are measured values: how many bins they are cut into, or the edges, as in `quantise`; "none" says
        that numbers are labels. Without it, outputs that look measured are refused.
    set_aside
        The share, or the number, of the senses of every input that choose the edges, as in `quantise`.
    progress
        Called with (bytes read, bytes in all).

    Returns
    -------
    Trials
        The outputs of every input of every channel, in the order of the log; `Recording` takes it.

    Raises
    ------
    InputError
        Where the file is no log of trials; the message names the file, the line and the value.
    MissingFileError
        Where there is no such file; a `FileNotFoundError` too.
    MissingExtraError
        Where a .parquet file is read without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("channel,x,y\ncable,0,0\ncable,1,1\ncable,0,1\n")
    ...     read_trials(path).outputs[0][0].tolist()
    [0, 1]
    """
    with _opened(path) as (source, form):
        if _to_be_cut(bins) and outputs is not None:
            raise InputError(
                "bins are the outputs, so that outputs cannot be declared beside them; give one of the two"
            )
        seen = MeasuredOutputs() if _to_be_cut(bins) else Combinations(outputs, numbers_are_labels=bins is not None)
        log = _log(form, source, seen, columns, progress)
        if log is None:
            raise InputError(NO_ORDER)
        return seen.quantised(log, bins, set_aside) if isinstance(seen, MeasuredOutputs) else in_order(seen, log)


def _to_be_cut(bins: Bins) -> bool:
    """Whether outputs are numbers to be cut into bins."""
    if isinstance(bins, str) and bins != "none":
        raise InputError(f'bins must be a number, edges or "none"; it is {bins!r}')
    return bins is not None and not isinstance(bins, str)


@contextmanager
def _opened(path: str | os.PathLike[str], *, channels: bool = False) -> Iterator[tuple[OpenFile, Format]]:
    """The file and its format; what is refused inside names the file."""
    path = Path(path)
    with errors_naming(path), opened(path) as source:
        yield source, _format_of(path, channels=channels)


def _format_of(path: Path, *, channels: bool) -> Format:
    ending = path.suffix.lower()
    formats = {name: form for name, form in FORMATS.items() if form.render or not channels}
    endings = f"the ending must be one of {', '.join(formats)}"
    if ending in _PACKED:
        raise InputError(f"the file is packed ({ending}); unpack it first, {endings}")
    if ending not in formats:
        raise InputError(f"{endings}; it is {ending!r}")
    return formats[ending]


def _log(
    form: Format, source: OpenFile, seen: Combinations, columns: Columns, progress: Progress | None
) -> Iterator[RowBlock] | None:
    """The rows of a log, numbered by `seen` as they come; None for a file of matrices."""
    if form.log is not None:
        return form.log(source, seen, columns, progress)
    if columns is not None:
        raise InputError(f"columns belongs to rows with names above them; this is a {source.ending} file")
    return None


def _matrices(form: Format, source: OpenFile, transpose: bool) -> list[NamedMatrix]:
    assert form.matrices is not None  # what is always a log is never asked for matrices
    return form.matrices(source, transpose)


def _upright(matrix: NamedMatrix, transpose: bool) -> NamedMatrix:
    return matrix.transposed() if transpose else matrix


def _by_name(found: Sequence[Content]) -> dict[str, Content]:
    by_name: dict[str, Content] = {}
    for content in found:
        if content.name in by_name:
            raise InputError(f'the channel "{content.name}" must occur once; it occurs twice')
        _refuse_text(content.name, content.inputs, content.outputs)
        by_name[content.name] = content
    if not by_name:
        raise InputError("a file must hold at least one channel; this one holds none")
    return by_name


def _refuse_text(name: object, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuse a name or label that not every format and terminal can hold."""
    for text in (name, *inputs, *outputs):
        if not isinstance(text, str) or "\0" in text or not _is_unicode(text):
            raise InputError(f"names and labels must be Unicode text without NUL; one of channel {name!r} is {text!r}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        return False
    return True
