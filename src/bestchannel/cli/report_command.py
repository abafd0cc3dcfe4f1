"""`bestchannel report RUN.db|RESULT.json|COUNTS`: an identification, or counts, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel.cli import options, terminal
from bestchannel.cli.reading import Reading
from bestchannel.cli.record_files import printed_counts, printed_estimate, record_of, refuse_options_for_counts
from bestchannel.counts import LabelledCounts
from bestchannel.disk import errors_naming, regular, write_bytes
from bestchannel.errors import InputError
from bestchannel.intervals import Estimate, estimate
from bestchannel.report.provenance import Provenance, warnings_in
from bestchannel.runs.results import from_document
from bestchannel.runs.settings import refuse_wishes


@terminal.verb
@options.with_groups
def report(
    source: Annotated[
        list[Path],
        typer.Argument(
            help="A run (RUN.db), what identify or estimate --json printed, or files of counts, or a folder of them.",
            **options.FILE,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.", readable=False)] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option(help="What the report is called.")] = None,
    note: Annotated[str | None, typer.Option(help="What the report says about itself.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Of counts: the largest probability of a wrong answer.", show_default="0.05")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Of counts: accept a channel within this many bits.", show_default="0")
    ] = None,
    design: options.Design = None,
    rank: options.Rank = False,
    input_distribution: options.InputDistribution = None,
    *,
    reading: Reading,
    no_checks: options.NoChecks = False,
    json: options.Json = False,
) -> None:
    """Draw an identification, or counts, as one HTML file that opens without a network.

    The verdict and its guarantee, capacities with intervals, how candidates fell, evidence against
    threshold, where the senses went, the channels, the lower bound, and how to reproduce it. A run
    that has not ended is drawn as it stands; counts are whatever `estimate` reads. The record of an
    identification is inside, so that `bestchannel verify report.html` can check it.
    """
    for path in source:
        if output.exists() and path.exists() and output.samefile(path):
            raise InputError(f"{output}: the report would replace the file that it is drawn from; choose another -o")
    with ExitStack() as opened:
        files = [opened.enter_context(regular(path)) for path in source]
        found = record_of(files[0]) if len(files) == 1 and not files[0].is_dir() else None
        about = Provenance() if found is None else found[1]
        about = _completed(about, files, output, title, note)
        promised: dict[str, Any] = {
            "delta": delta,
            "epsilon": epsilon,
            "design": design and design.value,
            "rank": rank or None,
        }
        promised["input_distribution"] = options.parse_distribution(input_distribution)
        given = {key: value for key, value in promised.items() if value is not None}
        printed = printed_estimate(files[0]) if len(files) == 1 and files[0].is_file() else None
        for_counts = reading.given() + ["--no-checks"] * no_checks
        if found is not None:
            refuse_options_for_counts(files[0], [f"--{key.replace('_', '-')}" for key in given] + for_counts)
            data, outcome = _of_record(files[0], found[0], about)
        elif printed is not None:
            refuse_options_for_counts(files[0], for_counts)
            data, outcome = _of_printed(files[0], printed, given, about)
        else:
            counts = reading.counts(files, order=not no_checks)
            data, outcome = _of_counts(counts, given, about)
    with errors_naming(output):
        write_bytes(output, data.encode())
    if json:
        terminal.print_json({"report": str(output), "bytes": len(data.encode()), **outcome})
    else:
        terminal.say(str(output))


def _completed(
    about: Provenance, source: Sequence[Path], output: Path, title: str | None, note: str | None
) -> Provenance:
    """What the command says, in addition to what the file says."""
    about = replace(
        about,
        title=about.title if title is None else title,
        note=about.note if note is None else note,
        report=output.name,
        drawn=datetime.now(UTC),
        data=about.data or ", ".join(path.name for path in source),
        more=about.more or (("drawn from", ", ".join(path.name for path in source)),),
    )
    refuse_wishes(about.title, about.note, None)
    return about


def _of_record(path: Path, document: Any, about: Provenance) -> tuple[str, dict[str, Any]]:
    from bestchannel.report.page import page  # deferred: the other verbs need not wait for it

    with errors_naming(path), terminal.progress("drawing the report"):
        result = from_document(document)
        best = None if result.best is None else str(result.best)
        return page(result, origin=about), {"best": best, "decided": result.decided, "senses": result.senses}


def _of_counts(
    counts: dict[str, LabelledCounts], promised: dict[str, Any], about: Provenance
) -> tuple[str, dict[str, Any]]:
    with terminal.progress("estimate") as progress:
        found = estimate(counts, **promised, progress=progress)
    warnings = tuple(found.checks.warnings) if found.checks else ()
    return _drawn(found, replace(about, source="counts", warnings=warnings))


def _of_printed(
    path: Path, document: dict[str, Any], promised: dict[str, Any], about: Provenance
) -> tuple[str, dict[str, Any]]:
    """The estimate again, from the counts that it holds: what else a file states need not be believed."""
    with errors_naming(path):
        counts = printed_counts(document)
        stated = {"delta": document.get("delta", 0.05), "epsilon": document.get("epsilon", 0.0)}
        stated |= {"design": document.get("design", "fixed"), "rank": document.get("order") is not None}
        stated |= {"input_distribution": document.get("input_distribution")}
        with terminal.progress("estimate") as progress:
            found = estimate(counts, **(stated | promised), progress=progress)
    return _drawn(found, replace(about, source="counts", warnings=warnings_in(document.get("checks"))))


def _drawn(found: Estimate, about: Provenance) -> tuple[str, dict[str, Any]]:
    from bestchannel.report.page import counts_page  # deferred: the other verbs need not wait for it

    senses = sum(channel.senses for channel in found.channels)
    with terminal.progress("drawing the report"):
        shown = counts_page(found, origin=about)
    return shown, {"best": found.best, "decided": found.decided, "senses": senses}
