"""`bestchannel estimate COUNTS`: the capacities of the channels of a recording, and which is the best."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from bestchannel.cli import options, terminal
from bestchannel.cli.reading import Reading
from bestchannel.cli.record_files import record_of, refuse_options_for_counts
from bestchannel.counts import LabelledCounts
from bestchannel.disk import errors_naming
from bestchannel.errors import InputError
from bestchannel.intervals import ChannelEstimate, Estimate
from bestchannel.intervals import estimate as estimated
from bestchannel.intervals.verdict import sentence, statements
from bestchannel.promises import in_words, several
from bestchannel.runs.results import from_document
from bestchannel.runs.sensed_channels import MOST_COUNTS, told_counts

MOST_ROWS = 40
"""A longer table shows the best channels only."""


@terminal.verb
@options.with_groups
def estimate(
    counts: Annotated[
        list[Path],
        typer.Argument(help="Files of counts or trials, a folder of them, or - for standard input.", **options.FILE),
    ],
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = None,
    *,
    reading: Reading,
    no_checks: options.NoChecks = False,
    design: options.Design = None,
    rank: options.Rank = False,
    input_distribution: options.InputDistribution = None,
    json: options.Json = False,
) -> None:
    """Estimate capacities from counts of what was sent and received, with proved intervals, and judge which is largest.

    A file has rows channel,x,y,count, or channel,x,y with one row per sense (a trial log), or lines (input, output)
    as leakiEst's, or is a matrix of counts (one row per input), or holds such matrices (.npz, .mat, .json). Of several
    files each is a channel, called as the file, unless its rows have a column channel.
    Measured outputs (RSSI, IQ points, LLRs) are cut into --bins. What a policy has sensed (RUN.db, RESULT.json) is
    read too, as an adaptive design. Exit code 3 where the counts do not decide.
    """
    sensed = record_of(counts[0]) if len(counts) == 1 and counts[0].is_file() else None
    if sensed:
        refuse_options_for_counts(counts[0], reading.given())
        read = _sensed_by_a_policy(counts[0], sensed[0], design)
    else:
        read = reading.counts(counts, order=not no_checks)
    with terminal.progress("estimate") as progress:
        result = estimated(
            read,
            delta=delta,
            epsilon=0.0 if epsilon is None else epsilon,
            checks=not no_checks,
            design="adaptive" if sensed else (design or options.DesignChoice.fixed).value,
            rank=rank,
            input_distribution=options.parse_distribution(input_distribution),
            progress=progress,
        )
    if json:
        terminal.note_warnings(result.checks.warnings if result.checks else ())
        terminal.print_json(_as_json(result))
    else:
        _show(result)
    if not result.verdict.decided:
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _sensed_by_a_policy(path: Path, document: Any, design: options.DesignChoice | None) -> dict[str, LabelledCounts]:
    """The counts of a run or a result, whose numbers of senses a policy has chosen by looking at outputs."""
    with errors_naming(path):
        if design is options.DesignChoice.fixed:
            raise InputError("a policy chose its senses by looking at outputs; leave --design out, or write adaptive")
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


def _as_json(result: Estimate) -> dict[str, Any]:
    document = {"unit": "bits", "guarantee": result.guarantee, **asdict(result)}
    for channel in document["channels"]:  # whoever reads one of its keys finds null where it is withheld
        channel["asymptotic"] = channel["asymptotic"] or dict.fromkeys(("capacity", "lower", "upper"))
    return document


def _show(result: Estimate) -> None:
    channels = sorted(result.channels, key=lambda channel: -channel.capacity)
    shown = channels if len(channels) <= MOST_ROWS else channels[: MOST_ROWS // 2]
    places = {rank.name: rank for rank in result.order.ranks} if result.order else {}
    table = Table(box=None, pad_edge=False)
    table.add_column("channel", overflow="fold")
    last = "rank" if places else "less bias"  # both do not fit into 80 columns
    for heading in ("size", "senses", result.quantity, "proved", "approximate", last):
        table.add_column(heading, justify="right", no_wrap=True)
    for channel in shown:
        approximate = channel.asymptotic
        table.add_row(
            terminal.name(channel.name, bold=channel.name == result.verdict.best),
            f"{channel.n_inputs}×{channel.n_outputs}",
            f"{channel.senses:,}",
            f"{channel.capacity:.4f}",
            f"{channel.lower:.4f} … {channel.upper:.4f}",
            f"{approximate.lower:.4f} … {approximate.upper:.4f}" if approximate else "withheld",
            places[channel.name].words if places else _less_bias(channel),
        )
    terminal.show_table(table)
    if len(shown) < len(channels):
        terminal.note(f"the {len(shown)} best of {several(len(channels), 'channel')}; --json has them all")
    for reason in sorted({c.withheld for c in channels if c.withheld}):
        terminal.note(f"approximate intervals are withheld: {reason}")
    for text in statements(result.verdict, len(channels), result.epsilon, result.delta):
        terminal.say(text)
    if not result.verdict.decided and result.asymptotic_verdict is not None:
        words = sentence(result.asymptotic_verdict, len(channels), result.epsilon)
        terminal.say(f"not proved, by the approximate intervals: {words}")
    _say_why_decided(result)
    if result.order:
        terminal.say(
            f"order: {len(result.order.settled):,} of {several(result.order.pairs, 'pair')} are settled, all at once"
        )
    for text in terminal.fewer_warnings(result.checks.warnings if result.checks else ()):
        terminal.say(text)
    _say_binned(result)
    for text in in_words(result.guarantee, between="\n").splitlines():
        terminal.say(text)


def _say_why_decided(result: Estimate) -> None:
    """Say why a best channel is named though its interval, or its rank, leaves others possible."""
    if result.verdict.best is None or result.epsilon or len(result.channels) == 1:
        return
    best = result[result.verdict.best]
    if any(channel.upper >= best.lower for channel in result.channels if channel is not best):
        terminal.say(
            "intervals overlap, and yet the best is proved: comparing two channels proves more than two intervals"
        )
    if result.order and any(rank.last > 1 for rank in result.order.ranks if rank.name == best.name):
        terminal.say(
            "its rank is not settled, and yet the best is proved: naming it takes less proof than the whole order"
        )


def _less_bias(channel: ChannelEstimate) -> str:
    return "" if channel.corrected is None else f"{channel.corrected:.4f}"


def _say_binned(result: Estimate) -> None:
    """Say of measured outputs what their bins mean, and what it took to choose them."""
    binnings = [channel.binning for channel in result.channels if channel.binning]
    if not binnings:
        return
    terminal.say(
        "outputs are bins: a capacity is a lower bound of that of the measured outputs, and the verdict is about the"
        " binned channels"
    )
    aside = sum(binning.set_aside for binning in binnings)
    if aside:
        share = aside / (aside + sum(channel.senses for channel in result.channels))
        terminal.say(
            f"{several(aside, 'other sense')} ({100 * share:.2g} %) chose the edges, and were used for nothing else"
        )
