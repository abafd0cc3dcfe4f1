"""`bestchannel report` and `verify`: what was identified as one HTML file, and checked again with code of its own."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bestchannel import verification
from bestchannel.cli import options, terminal, verbs
from bestchannel.cli.reading import Reading, printed_counts, printed_estimate, record_of, refuse_options_for_counts
from bestchannel.counts import JointTrials, LabelledCounts
from bestchannel.disk import errors_naming, read_bytes, regular, write_bytes
from bestchannel.errors import InputError
from bestchannel.intervals import Estimate, estimate
from bestchannel.json_text import json_of
from bestchannel.policies import Identification
from bestchannel.policies.catalogue import policy_class
from bestchannel.policies.transcript import from_document
from bestchannel.report.provenance import Provenance, warnings_in
from bestchannel.runs.settings import refuse_wishes
from bestchannel.verification.verdict import TRUSTED

STATED = {"delta": 0.05, "epsilon": 0.0, "design": "fixed", "question": None, "input_distribution": None}
"""What an estimate promises, as it was printed, and what holds where it does not say it."""


@verbs.verb("Example: bestchannel report RESULT.json -o report.html")
def report(
    source: list[Path] = options.argument(
        "A run (RUN.db), what identify or estimate --json printed, or files of counts, or a folder of them."
    ),
    output: Path = options.file(Path("report.html"), "The HTML file to write.", "--output", "-o", show_default=True),
    title: str | None = options.option(None, "What the report is called."),
    note: str | None = options.option(None, "What the report says about itself."),
    delta: float | None = options.option(
        None, "Of counts: the largest probability of a wrong answer.", show_default="0.05"
    ),
    epsilon: float | None = options.option(
        None, "Of counts: accept a channel within this many bits.", show_default="0"
    ),
    design: options.DesignChoice | None = options.DESIGN,
    groups: str | None = options.GROUPS,
    rank: bool = options.RANK,
    input_distribution: str | None = options.INPUT_DISTRIBUTION,
    *,
    reading: Reading,
    no_checks: bool = options.NO_CHECKS,
    json: bool = options.JSON,
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
    promised: dict[str, Any] = {
        "delta": delta,
        "epsilon": epsilon,
        "design": design and design.value,
        "rank": rank or None,
        "input_distribution": options.parse_distribution(input_distribution),
    }
    promised = {key: value for key, value in promised.items() if value is not None}
    for_counts = reading.given() + ["--no-checks"] * no_checks + ["--groups"] * (groups is not None)
    with ExitStack() as opened:
        files = [opened.enter_context(regular(path)) for path in source]
        only = files[0] if len(files) == 1 and not files[0].is_dir() else None
        record = only and record_of(only)
        printed = None if record or not only else printed_estimate(only)
        about, names = record[1] if record else Provenance(), ", ".join(path.name for path in files)
        about = replace(
            about,
            title=about.title if title is None else title,
            note=about.note if note is None else note,
            report=output.name,
            drawn=datetime.now(UTC),
            data=about.data or names,
            more=about.more or (("drawn from", names),),
        )
        refuse_wishes(about.title, about.note, None)
        if only and (record or printed):
            refuse_options_for_counts(only, [f"--{key.replace('_', '-')}" for key in promised if record] + for_counts)
            opened.enter_context(errors_naming(only))
        result: Identification | Estimate
        if record:
            result = from_document(record[0])
        else:  # an estimate is made again from the counts that it holds: what else a file states need not be believed
            counts: dict[str, LabelledCounts] | JointTrials
            if printed:
                if printed.get("design") == "joint":
                    raise InputError(
                        "this estimate is from trials that all channels answered, and has their counts alone; give the"
                        " file of the trials, with --design joint"
                    )
                stated = {key: printed.get(key, unsaid) for key, unsaid in STATED.items()}
                promised = stated | {"rank": printed.get("order") is not None} | promised
                counts, warnings = printed_counts(printed), warnings_in(printed.get("checks"))
            else:
                counts, warnings = reading.counts_or_trials(files, design, groups, order=not no_checks), ()
            with terminal.progress("estimate") as progress:
                result = estimate(counts, **promised, progress=progress)
            if result.checks and not printed:
                warnings = tuple(result.checks.warnings)
            about = replace(about, source="counts", warnings=warnings)
        from bestchannel.report.page import page  # deferred: `verify` need not wait for it

        with terminal.progress("drawing the report"):
            data = page(result, origin=about).encode()
    with errors_naming(output):
        write_bytes(output, data)
    best = None if result.best is None else str(result.best)
    senses = sum(c.senses for c in result.channels) if isinstance(result, Estimate) else result.senses
    document = {"report": str(output), "bytes": len(data), "best": best, "decided": result.decided, "senses": senses}
    terminal.answer(document, str(output), json=json)


@verbs.verb("Example: bestchannel identify --simulate links.json --json > result.json; bestchannel verify result.json")
def verify(
    result: Path = options.argument("What identify --json printed, a run, or a report."),
    policy: str | None = options.option(
        None, "Import this policy of another package, package.module:Class, to check its record.", "--policy"
    ),
    json: bool = options.JSON,
) -> None:
    """Check again that a record proves what it claims.

    Its evidence is found from its counts and stakes by code that shares nothing with the policies. Then the policy is
    told the answers once more: what it asks and stakes must be what the record has. Exit code 3 where the record does
    not hold, with one sentence that says what fails and where, and where another revision of the policy chose the bets,
    so that they are taken on trust. An undecided record claims how near to the best a channel is, or nothing.
    """
    with regular(result) as file, terminal.progress("checking the record"):
        record, others = record_of(file), [] if policy is None else [policy_class(policy)]
        with errors_naming(result), terminal.progress("steps checked") as progress:
            document = json_of(read_bytes(file)) if record is None else record[0]
            verdict = verification.verify(document, policies=others, progress=progress)
    words = f"valid: {verdict.claim}" if verdict.valid else f"not valid: {verdict.failure}"
    if verdict.choices == TRUSTED:
        words = f"on trust: {verdict.claim}; {verdict.failure}"
    terminal.answer(asdict(verdict), words, json=json, certified=verdict.valid)
