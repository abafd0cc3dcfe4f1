"""Files that hold an identification (a run, the JSON of a result, a report with its record inside), or an estimate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bestchannel.counts import LabelledCounts
from bestchannel.counts.frames import labelled_counts
from bestchannel.counts.quantisation import Binning
from bestchannel.disk import errors_naming, opened, read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import json_of

if TYPE_CHECKING:
    from bestchannel.report.provenance import Provenance

SQLITE, HTML = b"SQLite format 3\0", b"<!doctype html"  # what every file of a run, and every report, begins with


def record_of(path: Path) -> tuple[Any, Provenance] | None:
    """The record in the file, as JSON, and what the file knows of its origin; None where it holds something else."""
    with errors_naming(path):
        head = _head(path)
        if head.startswith(SQLITE):
            return _of_run(path)
        if not head.startswith((HTML, b"{")):
            return None
        data = read_bytes(path)
        if head.startswith(HTML):
            from bestchannel.report.page import record_in  # deferred, as all that few files need
            from bestchannel.report.provenance import Provenance

            return record_in(data), Provenance()
        if b'"audit"' in data:  # counts are not parsed here, but where they are read
            document = json_of(data)
            if isinstance(document, dict) and "audit" in document:
                return document, _of_source(document)
    return None


def _head(path: Path) -> bytes:
    """How a file begins, in small letters if it is a text; a pipe gives its content once, to whoever reads counts."""
    if path.is_fifo():
        return b""
    with opened(path) as source:
        head: bytes = source.head(100)
    return head if head.startswith(SQLITE) else head.lstrip().lower()


def _of_run(path: Path) -> tuple[Any, Provenance]:
    from bestchannel import runs
    from bestchannel.report.provenance import origin_of
    from bestchannel.runs.results import as_document

    run = runs.view(path)
    return json.loads(json.dumps(as_document(run.outcome()))), origin_of(run, path)


def _of_source(document: Mapping[str, Any]) -> Provenance:
    """What a result says of who answered; a file may say anything."""
    from bestchannel.report.provenance import Provenance, warnings_in

    source, warnings = document.get("source"), warnings_in(document.get("checks"))
    if not isinstance(source, Mapping):
        return Provenance(warnings=warnings)
    seed = source.get("seed")
    return Provenance(
        source=str(source.get("kind", "")),
        data=str(source.get("path", "")),
        seed=seed if type(seed) is int and 0 <= seed < 10**40 else None,
        warnings=warnings,
    )


def sensed_counts(document: Any) -> dict[str, LabelledCounts]:
    """The counts in a record, with their labels."""
    from bestchannel.runs.results import MOST_COUNTS, from_document, told_counts

    result = from_document(document)
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


def refuse_options_for_counts(path: Path, names: Sequence[str]) -> None:
    """Refuse options, by their names, that say how counts are to be read or judged: the file has a record."""
    if names:
        are = "is an option" if len(names) == 1 else "are options"
        raise InputError(
            f"{path}: {', '.join(names)} {are} for files of counts, and this is a result, which says itself what was"
            " sensed and promised; leave out what is for counts"
        )


def printed_estimate(path: Path) -> dict[str, Any] | None:
    """What `estimate --json` printed; None where the file holds something else."""
    with errors_naming(path):
        if not _head(path).startswith(b"{") or b'"asymptotic_verdict"' not in (data := read_bytes(path)):
            return None
        document = json_of(data)
    is_one = isinstance(document, dict) and isinstance(document.get("verdict"), dict) and "channels" in document
    return document if is_one else None


def printed_counts(document: Mapping[str, Any]) -> dict[str, LabelledCounts]:
    """The counts that an estimate was made from, with their labels, or an `InputError`."""
    try:
        counts = {channel["name"]: _printed_channel(channel, document) for channel in document["channels"]}
        if len(counts) < len(document["channels"]):
            raise ValueError("two channels have one name")
        return counts
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"this must be what `bestchannel estimate --json` printed, with its counts; it is not ({error!r}); give the"
            " file of counts in its place"
        ) from None


def _printed_channel(channel: Mapping[str, Any], document: Mapping[str, Any]) -> LabelledCounts:
    name, binning = channel["name"], channel["binning"]
    table = labelled_counts({name: channel["counts"]})[name].counts
    inputs, outputs = tuple(channel["inputs"]), tuple(channel["outputs"])
    if table.shape != (len(inputs), len(outputs)) or not all(isinstance(x, str) for x in (*inputs, *outputs)):
        raise ValueError(f"the letters of channel {name!r} are not those of its counts")
    cut = None if binning is None else Binning(**{**binning, "edges": tuple(map(tuple, binning["edges"]))})
    return LabelledCounts(name, table, inputs, outputs, bool(document["inferred_outputs"]), cut)
