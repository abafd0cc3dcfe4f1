"""Files that hold an identification: a run, the JSON of a result, or a report with its record inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bestchannel import runs
from bestchannel.counts.frames import labelled_counts
from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.counts.quantisation import Binning
from bestchannel.disk import errors_naming, opened, read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import json_of
from bestchannel.report.provenance import Provenance, origin_of, warnings_in
from bestchannel.runs.results import as_document

SQLITE, HTML = b"SQLite format 3\0", b"<!doctype html"
"""What every file of a run, and every report, begins with."""


def record_of(path: Path) -> tuple[Any, Provenance] | None:
    """The record in the file, as JSON, and what the file knows of its origin; None where it holds something else."""
    if path.is_fifo():  # it gives its content once, to whoever reads counts
        return None
    with errors_naming(path):
        with opened(path) as source:
            head = source.head(100)
        if head.startswith(SQLITE):
            return _of_run(path)
        if not head.lstrip().lower().startswith((HTML, b"{")):
            return None
        data = read_bytes(path)
        if data[:100].lstrip().lower().startswith(HTML):
            from bestchannel.report.record_inside import record_in  # deferred: few verbs need it

            return record_in(data), Provenance()
        if b'"audit"' in data:  # counts are not parsed here, but where they are read
            document = json_of(data)
            if isinstance(document, dict) and "audit" in document:
                return document, _of_source(document)
    return None


def printed_estimate(path: Path) -> dict[str, Any] | None:
    """What `estimate --json` printed; None where the file holds something else."""
    if path.is_fifo():
        return None
    with errors_naming(path):
        with opened(path) as source:
            if not source.head(100).lstrip().startswith(b"{"):
                return None
        if b'"asymptotic_verdict"' not in (data := read_bytes(path)):
            return None
        document = json_of(data)
    is_one = isinstance(document, dict) and isinstance(document.get("verdict"), dict) and "channels" in document
    return document if is_one else None


def printed_counts(document: Mapping[str, Any]) -> dict[str, LabelledCounts]:
    """The counts that an estimate was made from, with their labels, or an `InputError`."""
    try:
        found = {channel["name"]: _printed_channel(channel, document) for channel in document["channels"]}
        if len(found) < len(document["channels"]):
            raise ValueError("two channels have one name")
        return found
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


def refuse_options_for_counts(path: Path, names: Sequence[str]) -> None:
    """Refuse options, by their names, that say how counts are to be read or judged: the file has a record."""
    if names:
        are = "is an option" if len(names) == 1 else "are options"
        raise InputError(
            f"{path}: {', '.join(names)} {are} for files of counts, and this is a result, which says itself what was"
            " sensed and promised; leave out what is for counts"
        )


def _of_run(path: Path) -> tuple[Any, Provenance]:
    run = runs.view(path)
    return json.loads(json.dumps(as_document(run.outcome()))), origin_of(run, path)


def _of_source(document: Mapping[str, Any]) -> Provenance:
    """What a result says of who answered; a file may say anything."""
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
