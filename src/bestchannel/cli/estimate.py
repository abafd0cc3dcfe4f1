"""`bestchannel estimate COUNTS`: the capacities of the channels of a recording, and which is the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bestchannel.cli import options, terminal, verbs
from bestchannel.cli.options import Asked
from bestchannel.cli.reading import Reading, record_of, refuse_options_for_counts, sensed_counts
from bestchannel.counts import JointTrials, LabelledCounts, combined
from bestchannel.disk import errors_naming
from bestchannel.errors import InputError
from bestchannel.intervals import ChannelEstimate, Estimate
from bestchannel.intervals import estimate as estimated
from bestchannel.intervals.verdict import sentence
from bestchannel.promises import in_words, several
from bestchannel.questions import Order


@verbs.verb("Example: bestchannel estimate counts.csv --delta 0.01 --json")
def estimate(
    counts: list[Path] = options.argument("Files of counts or trials, a folder of them, or - for standard input."),
    delta: float = options.DELTA,
    epsilon: float | None = options.EPSILON,
    *,
    asked: Asked,
    reading: Reading,
    no_checks: bool = options.NO_CHECKS,
    design: options.DesignChoice | None = options.DESIGN,
    groups: str | None = options.GROUPS,
    combine: str | None = options.option(
        None, "Of joint trials: what these channels can do together, read as one, as A,B.", metavar="CHANNELS"
    ),
    rank: bool = options.RANK,
    input_distribution: str | None = options.INPUT_DISTRIBUTION,
    json: bool = options.JSON,
) -> None:
    """Estimate capacities from counts of what was sent and received, with proved intervals, and judge which is largest.

    A file has rows channel,x,y,count, or channel,x,y with one row per sense (a trial log), or lines (input, output)
    as leakiEst's, or is a matrix of counts (one row per input), or holds such matrices (.npz, .mat, .json). Of several
    files each is a channel, called as the file, unless its rows have a column channel. Where all channels answered the
    same trials (classifiers on one test set, qubits in one shot), --design joint reads rows trial,x,y_A,y_B,… or
    trial,channel,x,y.
    Measured outputs (RSSI, IQ points, LLRs) are cut into --bins. What a policy has sensed (RUN.db, RESULT.json) is
    read too, as an adaptive design. Exit code 3 where the counts do not decide.
    """
    read: dict[str, LabelledCounts] | JointTrials
    sensed = record_of(counts[0]) if len(counts) == 1 and counts[0].is_file() else None
    if sensed:
        refuse_options_for_counts(counts[0], reading.given())
        with errors_naming(counts[0]):
            if design not in (None, options.DesignChoice.adaptive):
                raise InputError(
                    "a policy chose its senses by looking at outputs; leave --design out, or write adaptive"
                )
            read = sensed_counts(sensed[0])
    else:
        design = options.DesignChoice.joint if combine and design is None else design
        read = reading.counts_or_trials(counts, design, groups, order=not no_checks)
    if combine is not None:
        if not isinstance(read, JointTrials):
            raise InputError("--combine needs trials that all channels answered; write --design joint")
        read = combined(read, [name.strip() for name in combine.split(",")])
    with terminal.progress("estimate") as progress:
        result = estimated(
            read,
            delta=delta,
            epsilon=0.0 if epsilon is None else epsilon,
            checks=not no_checks,
            design="adaptive" if sensed else (design or options.DesignChoice.fixed).value,
            rank=rank,
            question=asked.of([str(c.key) for c in read.alphabets] if isinstance(read, JointTrials) else list(read)),
            input_distribution=options.parse_distribution(input_distribution),
            progress=progress,
        )
    if json:
        terminal.note_warnings(_warnings(result))
    together = combine is not None
    terminal.answer(_as_json(result, together), lambda: _show(result, together), json=json, certified=result.decided)


def _best_single(result: Estimate) -> ChannelEstimate:
    """Of channels and, last, what they are together: the one of which most is proved."""
    return max(result.channels[:-1], key=lambda channel: channel.lower)


def _about_together(result: Estimate) -> str:
    """What is proved of channels that are read as one, beside what is proved of the best of them."""
    whole, single = result.channels[-1], _best_single(result)
    if not single.lower > whole.lower:
        alone = f"{single.name} alone at least {single.lower:.4f}"
        return f"together they carry at least {whole.lower:.4f} bit, proved; {alone}"
    return (
        f"{single.name} alone is proved to carry {single.lower:.4f} bit, and {whole.name} {whole.lower:.4f}: together"
        f" they carry no less, but {several(whole.n_outputs, 'output')} take more trials to prove it"
    )


def _as_json(result: Estimate, together: bool) -> dict[str, Any]:
    document = {"unit": "bits", "guarantee": result.guarantee, **asdict(result)}
    if together:
        whole, single = result.channels[-1], _best_single(result)
        document["combined"] = {"name": whole.name, "single": single.name, "beaten": single.lower > whole.lower}
    del document["findings"], document["question"]
    if result.findings is not None:
        from bestchannel.policies.transcript import findings_record  # which other estimates do without

        if isinstance(result.question, Order):
            document["ranking"], document["order"] = document["order"], None
        document |= {"decided": result.decided, **to_builtins(findings_record(result.question, result.findings))}
    for channel in document["channels"]:  # whoever reads one of its keys finds null where it is withheld
        channel["asymptotic"] = channel["asymptotic"] or dict.fromkeys(("capacity", "lower", "upper"))
    return document


def _show(result: Estimate, together: bool = False) -> None:
    channels = sorted(result.channels, key=lambda channel: -channel.capacity)
    shown = terminal.few(channels, key=lambda channel: -channel.capacity)
    if result.question:
        terminal.say(*result.said)
    last = "rank" if result.order else "less bias"  # both do not fit into 80 columns
    heads = ("channel", "size", "senses", result.quantity, "proved", "approximate", last)
    terminal.show_table(heads, _rows(result, shown), bold=result.verdict.best)
    terminal.note_few(len(shown), len(channels))
    for reason in sorted({c.withheld for c in channels if c.withheld}):
        terminal.note(f"approximate intervals are withheld: {reason}")
    if result.question is None:
        terminal.say(*result.said)
    if result.question is None and not result.decided and result.asymptotic_verdict is not None:
        words = sentence(result.asymptotic_verdict, len(channels), result.epsilon)
        terminal.say(f"not proved, by the approximate intervals: {words}")
    terminal.say(*([_about_together(result)] if together else _why_decided(result)))
    if result.order:
        pairs = several(result.order.pairs, "pair")
        terminal.say(f"order: {len(result.order.settled):,} of {pairs} are settled, all at once")
    terminal.say(*terminal.fewer_warnings(_warnings(result)), *_about_bins(result))
    terminal.say(*in_words(result.guarantee, between="\n").splitlines())


def _rows(result: Estimate, channels: Sequence[ChannelEstimate]) -> Iterator[tuple[str, ...]]:
    places = {rank.name: rank for rank in result.order.ranks} if result.order else {}
    for channel in channels:
        approximate = channel.asymptotic
        less_bias = "" if channel.corrected is None else f"{channel.corrected:.4f}"
        yield (
            channel.name,
            terminal.size(channel),
            f"{channel.senses:,}",
            f"{channel.capacity:.4f}",
            f"{channel.lower:.4f} … {channel.upper:.4f}",
            f"{approximate.lower:.4f} … {approximate.upper:.4f}" if approximate else "withheld",
            places[channel.name].words if places else less_bias,
        )


def _warnings(result: Estimate) -> Sequence[str]:
    return result.checks.warnings if result.checks else ()


def _why_decided(result: Estimate) -> Iterator[str]:
    """Why a best channel is named though its interval, or its rank, leaves others possible."""
    if result.question or result.verdict.best is None or result.epsilon or len(result.channels) == 1:
        return
    best = result[result.verdict.best]
    if any(channel.upper >= best.lower for channel in result.channels if channel is not best):
        yield "intervals overlap, and yet the best is proved: comparing two channels proves more than two intervals"
    if result.order and any(rank.last > 1 for rank in result.order.ranks if rank.name == best.name):
        yield "its rank is not settled, and yet the best is proved: naming it takes less proof than the whole order"


def _about_bins(result: Estimate) -> Iterator[str]:
    """Of measured outputs, what their bins mean, and what it took to choose them."""
    binnings = [channel.binning for channel in result.channels if channel.binning]
    if binnings:
        yield (
            "outputs are bins: a capacity is a lower bound of that of the measured outputs, and the verdict is about"
            " the binned channels"
        )
    if aside := sum(binning.set_aside for binning in binnings):
        share = aside / (aside + sum(channel.senses for channel in result.channels))
        yield f"{several(aside, 'other sense')} ({100 * share:.2g} %) chose the edges, and were used for nothing else"
