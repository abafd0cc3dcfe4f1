"""`bestchannel estimate`, `report` and `verify`: what was measured, what it proves, as a page, and checked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bestchannel.cli import options, terminal, verb
from bestchannel.cli.options import Asked
from bestchannel.cli.reading import PrintedEstimate, Reading, Record, held_in
from bestchannel.counts import JointTrials, LabelledCounts, combined
from bestchannel.disk import STDIN, errors_naming, read_bytes, regular, write_bytes
from bestchannel.errors import InputError
from bestchannel.intervals import ChannelEstimate, Estimate
from bestchannel.intervals import estimate as estimated
from bestchannel.intervals.verdict import sentence
from bestchannel.json_text import json_of
from bestchannel.promises import in_words, several
from bestchannel.questions import Order

BEYOND_A_RESULT = ("groups", "combine", "no_checks")  # what was said of judging that an estimate does not hold


@dataclass(frozen=True)
class Judging:
    """How counts are judged; None and False where the command does not say it."""

    delta: float | None = options.option(None, "Largest probability of a wrong answer.", show_default="0.05")
    epsilon: float | None = options.EPSILON
    no_checks: bool = options.NO_CHECKS
    design: options.DesignChoice | None = options.option(
        None,
        "fixed: nobody chose numbers of senses by looking at outputs, as in most recordings; adaptive: somebody did, or"
        " stopped when the result looked good. fixed proves much more, and is the default for counts. joint: numbers"
        " are fixed, and all channels answered the same trials (rows trial,x,y_A,y_B or trial,channel,x,y); shared:"
        " counts of such trials.",
    )
    groups: str | None = options.option(
        None,
        "With --design joint: the column of groups (a writer, a day) whose trials may depend on each other.",
        metavar="COLUMN",
    )
    combine: str | None = options.option(
        None, "Of joint trials: what these channels can do together, read as one, as A,B.", metavar="CHANNELS"
    )
    rank: bool = options.flag("Rank the channels: say of which pairs it is proved that one is better.", "--rank")
    input_distribution: str | None = options.INPUT_DISTRIBUTION

    def estimate(
        self, files: Sequence[Path], held: Record | PrintedEstimate | None, asked: Asked, reading: Reading
    ) -> tuple[Estimate, Sequence[str]]:
        """What the counts prove that files have, or the record or the estimate that is held in one; and warnings.

        An estimate is made again from the counts that it holds, as it states unless the command says otherwise.
        """
        design = options.DesignChoice.joint if self.combine and self.design is None else self.design
        stated: Mapping[str, Any] = {} if held is None else held.stated
        if self.groups is not None and design is not options.DesignChoice.joint:
            raise InputError("--groups is for trials that all channels answer; write --design joint too")
        counts: dict[str, LabelledCounts] | JointTrials
        with errors_naming(files[0]) if held else nullcontext():
            if held is None:
                counts = reading.counts_or_trials(files, design, self.groups, order=not self.no_checks)
            else:
                options.refuse_for_result(reading)
                if isinstance(held, Record) and design not in (None, options.DesignChoice.adaptive):
                    raise InputError(
                        "a policy chose its senses by looking at outputs; leave --design out, or write adaptive"
                    )
                if design is options.DesignChoice.joint:
                    raise InputError(
                        "this is an estimate, which has counts and no trials that all channels answered; give the file"
                        " of the trials"
                    )
                counts = held.counts()
            if self.combine is not None:
                if not isinstance(counts, JointTrials):
                    raise InputError("--combine needs trials that all channels answered; write --design joint")
                counts = combined(counts, [name.strip() for name in self.combine.split(",")])
            names = [str(c.key) for c in counts.alphabets] if isinstance(counts, JointTrials) else list(counts)
            plain = {name: value for name, value in options.given(self).items() if name in ("delta", "epsilon", "rank")}
            P = options.parse_distribution(self.input_distribution)
            parsed = {"design": design and design.value, "question": asked.of(names), "input_distribution": P}
            wanted = {**stated, **plain, **{name: value for name, value in parsed.items() if value is not None}}
            with terminal.progress("estimate") as progress:
                result = estimated(counts, **wanted, checks=not self.no_checks, progress=progress)
        return result, held.warnings if held and not self.no_checks else _warnings(result)


@verb("Example: bestchannel estimate counts.csv --delta 0.01 --json")
def estimate(
    counts: list[Path] = options.argument("Files of counts or trials, a folder of them, or - for standard input."),
    *,
    judging: Judging,
    asked: Asked,
    reading: Reading,
) -> None:
    """Estimate capacities from counts of what was sent and received, with proved intervals, and judge which is largest.

    A file has rows channel,x,y,count, or channel,x,y with one row per sense (a trial log), or lines (input, output)
    as leakiEst's, or is a matrix of counts (one row per input), or holds such matrices (.npz, .mat, .json). Of several
    files each is a channel, called as the file, unless its rows have a column channel. Where all channels answered the
    same trials (classifiers on one test set, qubits in one shot), --design joint reads rows trial,x,y_A,y_B,… or
    trial,channel,x,y.
    Measured outputs (RSSI, IQ points, LLRs) are cut into --bins. What a policy has sensed (RUN.db, RESULT.json) is
    read too, as an adaptive design, and what `estimate --json` printed. Exit code 3 where the counts do not decide.
    """
    held = held_in(counts)
    result, warnings = judging.estimate(counts, held, asked, reading)
    if terminal.wants_json.get():
        terminal.note_warnings(warnings)
    together = judging.combine is not None
    checked = {"checks": held.checks} if isinstance(held, PrintedEstimate) and not judging.no_checks else {}
    terminal.answer(
        lambda: _as_json(result, together) | checked,
        lambda: _show(result, together, warnings),
        certified=result.decided,
    )


@verb("Example: bestchannel report RESULT.json -o report.html")
def report(
    source: list[Path] = options.argument(
        "A run (RUN.db), what identify or estimate --json printed, or files of counts, or a folder of them."
    ),
    output: Path = options.file(Path("report.html"), "The HTML file to write.", "--output", "-o", show_default=True),
    title: str | None = options.option(None, "What the report is called."),
    note: str | None = options.option(None, "What the report says about itself."),
    *,
    judging: Judging,
    asked: Asked,
    reading: Reading,
) -> None:
    """Draw an identification, or counts, as one HTML file that opens without a network.

    The verdict and its guarantee, capacities with intervals, how candidates fell, evidence against
    threshold, where the senses went, the channels, the lower bound, and how to reproduce it. A run
    that has not ended is drawn as it stands; counts are whatever `estimate` reads. The record of an
    identification is inside, so that `bestchannel verify report.html` can check it.
    """
    from bestchannel.policies import Identification  # deferred, as all that `estimate` need not wait for
    from bestchannel.policies.transcript import from_document
    from bestchannel.report.page import page
    from bestchannel.report.provenance import Provenance
    from bestchannel.runs.settings import refuse_wishes

    for path in source:
        if output.exists() and path.exists() and output.samefile(path):
            raise InputError(f"{output}: the report would replace the file that it is drawn from; choose another -o")
    with ExitStack() as opened:
        files = [opened.enter_context(regular(path)) for path in source]
        held = held_in(files)
        about, names = held.origin if isinstance(held, Record) else Provenance(), ", ".join(map(_named, source))
        about = replace(
            about,
            title=about.title if title is None else title,
            note=about.note if note is None else note,
            report=output.name,
            drawn=datetime.now(UTC),
            data=about.data if isinstance(held, Record) else source[0].name,
            more=about.more or (("drawn from", names),),
        )
        refuse_wishes(about.title, about.note, None)
        result: Identification | Estimate
        if isinstance(held, Record):
            opened.enter_context(errors_naming(files[0]))
            options.refuse_for_result(judging, asked, reading)
            result = from_document(held.document)
        else:
            result, warnings = judging.estimate(files, held, asked, reading)
            further = {name: value for name, value in options.given(judging).items() if name in BEYOND_A_RESULT}
            words = (*(path.name for path in source[1:]), *options.as_words({**options.given(reading), **further}))
            about = replace(about, source="counts", warnings=tuple(warnings), words=words)
        with terminal.progress("drawing the report"):
            data = page(result, origin=about).encode()
    with errors_naming(output):
        write_bytes(output, data)
    best = None if result.best is None else str(result.best)
    senses = sum(c.senses for c in result.channels) if isinstance(result, Estimate) else result.senses
    document = {"report": str(output), "bytes": len(data), "best": best, "decided": result.decided, "senses": senses}
    terminal.answer(document, str(output))


@verb("Example: bestchannel identify --simulate links.json --json > result.json; bestchannel verify result.json")
def verify(
    result: Path = options.argument("What identify --json printed, a run, or a report."),
    policy: str | None = options.option(
        None, "Import this policy of another package, package.module:Class, to check its record.", "--policy"
    ),
) -> None:
    """Check again that a record proves what it claims.

    Its evidence is found from its counts and stakes by code that shares nothing with the policies. Then the policy is
    told the answers once more: what it asks and stakes must be what the record has. Exit code 3 where the record does
    not hold, with one sentence that says what fails and where, and where another revision of the policy chose the bets,
    so that they are taken on trust. An undecided record claims how near to the best a channel is, or nothing.
    """
    from bestchannel import verification
    from bestchannel.policies.catalogue import policy_class
    from bestchannel.verification.verdict import TRUSTED

    with regular(result) as file, terminal.progress("checking the record"):
        held, others = held_in([file]), [] if policy is None else [policy_class(policy)]
        with errors_naming(result), terminal.progress("steps checked") as progress:
            if isinstance(held, PrintedEstimate):
                raise InputError(
                    "this is an estimate, which proves nothing but what its counts do: `bestchannel estimate` makes it"
                    " again from them; records that can be checked are those of identify and run"
                )
            document = json_of(read_bytes(file)) if held is None else held.document
            verdict = verification.verify(document, policies=others, progress=progress)
    words = f"valid: {verdict.claim}" if verdict.valid else f"not valid: {verdict.failure}"
    if verdict.choices == TRUSTED:
        words = f"on trust: {verdict.claim}; {verdict.failure}"
    terminal.answer(asdict(verdict), words, certified=verdict.valid)


def _named(path: Path) -> str:
    return "standard input" if path == STDIN else path.name


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


def _show(result: Estimate, together: bool = False, warnings: Sequence[str] = ()) -> None:
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
        pairs, are = several(result.order.pairs, "pair"), "is" if result.order.pairs == 1 else "are"
        terminal.say(f"order: {len(result.order.settled):,} of {pairs} {are} settled, all at once")
    terminal.say(*terminal.fewer_warnings(warnings), *_about_bins(result))
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
