"""`estimate`: from counts to capacities with intervals, and a verdict.

Two kinds of interval stand side by side. `lower` and `upper` are proved: they hold for all channels at once with
probability 1 - δ. `asymptotic` is an approximation by simulated counts, narrower and not proved. What is proved, and
the verdict with it, depends on the design: on whether the numbers of senses were fixed beforehand, or chosen by
looking at outputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from bestchannel.arrays import Floats, distribution, number_in
from bestchannel.counts.frames import joint_trials, labelled_counts, paired_senses
from bestchannel.counts.joint_trials import JointTrials
from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.counts.quantisation import Binning
from bestchannel.display import Tabulated, on_one_line, text_table
from bestchannel.errors import InputError, JointTrialsFoundError
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.fixed_design import JointSet, RecordedSet, SharedSet, proved_ends
from bestchannel.intervals.order_checks import OrderChecks, check_order
from bestchannel.intervals.plug_in import (
    FIXED_INPUT,
    Asymptotic,
    CapacityAtCounts,
    Interval,
    approximate_interval,
    capacities_at_counts,
    functional_for,
    proposition_1,
    why_withheld,
)
from bestchannel.intervals.region import Ends
from bestchannel.intervals.verdict import (
    Compared,
    Difference,
    ProvedOrder,
    Standing,
    Verdict,
    differences_of,
    judge,
    leading,
    proved_order,
    statements,
)
from bestchannel.process import Progress
from bestchannel.promises import conditional, confidence, criterion, in_words, several, wrong_at_most
from bestchannel.questions import AnyQuestion, Best, Findings, NearlyBest, Order, Top, question_of

FIXED, ADAPTIVE, SHARED, JOINT = DESIGNS = ("fixed", "adaptive", "shared", "joint")

SUPPOSED = {
    FIXED: ("senses are independent", "recorded-counts"),
    SHARED: ("trials are independent of each other", "joint-trials"),
    JOINT: ("trials are independent of each other", "joint-trials"),
}
"""What a design supposes beside numbers fixed beforehand, and the page that proves what follows."""

PARTS = 2  # of the work for a channel, as progress counts it: the proved interval, and the approximate one
SMALLEST_DELTA = 1e-300  # so that the share of every end of every interval is a number above 0
GROUPED = "approximate intervals suppose independent trials, and those of a group may depend on each other"


@dataclass(frozen=True)
class ChannelEstimate:
    """What the counts say of one channel, in bits; of I(P; W) in place of the capacity at a fixed input distribution P.

    `capacity` is the plug-in estimate from the inputs that were sensed, `corrected` the same less its bias, or None
    where that is not known. lower <= C <= upper is proved, and `positive` says that C > 0 is. `asymptotic` is not
    proved; it is None where it was never measured how often such an interval is right, and `withheld` says why. `paper`
    is the interval of [EBWGW24, Prop. 1], proved for counts fixed in advance. `inputs` and `outputs` label the rows and
    columns of the `counts`; where outputs were measured values, `binning` is how they were cut into these bins.
    """

    name: str
    n_inputs: int
    n_outputs: int
    senses: int
    capacity: float
    lower: float
    upper: float
    positive: bool
    corrected: float | None
    asymptotic: Asymptotic | None
    withheld: str | None
    paper: Interval
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    binning: Binning | None
    counts: tuple[tuple[int, ...], ...] = field(repr=False)

    @property
    def ceiling(self) -> float:
        """log2 min(n_inputs, n_outputs): no capacity is larger."""
        return math.log2(min(self.n_inputs, self.n_outputs))

    @property
    def doubt(self) -> float:
        """How far off the estimate may well be, in bits: a quarter of the approximate or the proved interval."""
        known = self.asymptotic or self
        return 0.25 * (known.upper - known.lower)


@dataclass(frozen=True)
class Estimate(Tabulated):
    """Capacities with intervals that hold for all channels at once, and the verdict that follows.

    Attributes
    ----------
    delta
        The largest probability that any interval is wrong.
    epsilon
        Within how many bits of the best a channel may be called the best.
    inferred_outputs
        Whether the outputs are only those that happened to be seen.
    verdict
        Which channel is the best by the proved intervals: `decided`, `best`, `candidates`, `more_senses`, `leader`.
    asymptotic_verdict
        The same rule applied to the approximate intervals, which are not proved; None where one of them is withheld.
    channels
        One entry per channel in the order of the counts: `name`, `senses`, `capacity`, `lower`, `upper` (bits), …
    differences
        The leader's capacity less each rival's, in bits; all lower ends are above -ε exactly when the verdict is
        decided. In a fixed design each lower end has the error δ of the verdict, and the upper ends those of intervals.
    checks
        What the order of the senses says against channels that are one and the same throughout, and memoryless:
        `warnings`, and the e-values of all channels; None where the order is not known or was not to be checked.
    design
        Under which sensing the proofs hold: all but "adaptive" suppose that no number of senses was chosen by looking
        at outputs, and "fixed" that channels are independent.
    shuffles
        The number of random orders over which the evidence of a fixed design is averaged, None where it was not.
    order
        Which channels are proved to be better than which, all at once; None unless it was asked for.
    input_distribution
        The P at which I(P;W) is estimated and compared in place of the capacity; None for capacities.
    question
        What else was asked than for the best, or None.
    findings
        What the counts prove of that: `answers`, `top`, `order` and `pairs`, or `brackets`.
    trials
        The number of trials that the channels answered, all or most of them; None where each has senses of its own.
    groups
        The number of groups of trials, each of which counts as one trial, as those of one may depend on each other.

    Examples
    --------
    >>> import bestchannel as bc
    >>> result = bc.estimate({"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]})
    >>> print(str(result).splitlines()[0])
    channel  senses  capacity   lower   upper
    >>> result["good"].senses, result.best, result.decided
    (2000, 'good', True)
    """

    delta: float
    epsilon: float
    inferred_outputs: bool
    verdict: Verdict
    asymptotic_verdict: Verdict | None
    channels: tuple[ChannelEstimate, ...]
    differences: tuple[Difference, ...]
    checks: OrderChecks | None
    design: str
    shuffles: int | None
    order: ProvedOrder | None
    input_distribution: tuple[float, ...] | None = None
    question: AnyQuestion | None = None
    findings: Findings | None = None
    trials: int | None = None
    groups: int | None = None

    @property
    def best(self) -> str | None:
        """The channel that is proved to be the best, None where the counts do not decide."""
        return self.verdict.best

    @property
    def decided(self) -> bool:
        """Whether the counts prove which channel is the best, or answer what else was asked."""
        return self.verdict.decided if self.findings is None else self.findings.decided

    @property
    def candidates(self) -> tuple[str, ...]:
        """The channels that may be the best, or of which what else was asked is open."""
        if self.findings is None:
            return self.verdict.candidates
        return self.findings.still_open([channel.name for channel in self.channels])

    @property
    def nearly_best(self) -> NearlyBest:
        """The channel of largest estimate, and within how many bits of the best it is proved to be."""
        return NearlyBest(self.verdict.leader, self.verdict.within_bits)

    @property
    def said(self) -> tuple[str, ...]:
        """The answer to what was asked, or what is open, in a few sentences."""
        if self.question is None:
            return statements(self.verdict, len(self.channels), self.epsilon, self.delta)
        return (f"proved ({wrong_at_most(self.delta)}): {self.question.answer(self)}",)

    @property
    def quantity(self) -> str:
        """What is estimated: the capacity, or I(P;W)."""
        return "capacity" if self.input_distribution is None else "I(P;W)"

    @property
    def supposed(self) -> str:
        """What the proofs suppose of the senses."""
        if self.shuffles is None:
            return "at all times and however the senses were chosen"
        units = f"{'groups of ' if self.groups else ''}{SUPPOSED[self.design][0]}"
        return f"if {units} and nobody chose their numbers by looking at outputs"

    @property
    def guarantee(self) -> str:
        """What is promised of all intervals and of the verdict, and on which conditions."""
        one, value = len(self.channels) == 1, criterion(self.input_distribution)
        values = "all capacities" if self.input_distribution is None else f"all values of {value}"
        between = f"the {value} is between its lower" if one else f"{values} are between their lower"
        words = f"with probability at least {confidence(self.delta)} {between} and upper end{'' if one else 's'}"
        if self.shuffles is None:
            right = "" if one else ", and the verdict is right"
            supposed, proof = self.supposed, "estimate"
        else:
            claims = ([] if one else ["verdict"]) + (["order"] if self.order else [])
            right = "".join(f", and with the same probability the {claim} is right" for claim in claims)
            supposed, proof = self.supposed, SUPPOSED[self.design][1]
        conditions = [channel.binning.condition for channel in self.channels if channel.binning]
        if any(channel.senses < (self.trials or 0) for channel in self.channels):
            conditions.append("if no answer is missing because of what it would have been")
        proved = f"{words}{right}, {supposed} [bestchannel explain {proof}]"
        return conditional(proved, self.inferred_outputs, conditions)

    def __getitem__(self, name: str) -> ChannelEstimate:
        """The estimate of the channel with this name, or a `KeyError`."""
        return {channel.name: channel for channel in self.channels}[name]

    def __str__(self) -> str:
        heads = ["channel", "senses", self.quantity, "lower", "upper"]
        rows = [[c.name, f"{c.senses:,}", *(f"{v:.4f}" for v in (c.capacity, c.lower, c.upper))] for c in self.channels]
        words = on_one_line("; ".join(self.said))
        warnings = "".join(f"warning: {on_one_line(text)}\n" for text in (self.checks.warnings if self.checks else ()))
        promise = in_words(self.guarantee, between="\n")
        return f"{text_table(heads, rows)}\n{words}\n{warnings}{promise}"


def estimate(
    counts: object,
    received: object = None,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    outputs: Sequence[str] | None = None,
    inferred_outputs: bool = False,
    checks: bool = True,
    columns: Mapping[str, str] | None = None,
    channel_axis: str | None = None,
    form: str | None = None,
    design: str = FIXED,
    groups: object = None,
    rank: bool = False,
    question: AnyQuestion | Mapping[str, Any] | None = None,
    input_distribution: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """The capacity of every channel from counts[name][x][y], with an interval, and which channel has the largest.

    lower_j <= C(W_j) <= upper_j for all j at once with probability at least 1 - δ; `bestchannel explain
    recorded-counts` has the theorem and its proof for fixed designs, `explain estimate` that for adaptive ones.

    Parameters
    ----------
    counts
        A mapping from names to whole numbers of shape (n_inputs, n_outputs): how often input x gave output y. Or one
        such matrix, a list or a stack (k, n_inputs, n_outputs) of them; {sent: {got: n}} of one channel, or by name; a
        frame (pandas, polars, pyarrow) with the columns channel, x, y and count, or without count and one row per
        sense; a confusion matrix as a frame, or several, as pandas' crosstab makes them; an xarray with the dimensions
        channel, x, y; what `read_counts`, `read_trials` or `quantise` gives.
    received
        What came for each input of one channel, where `counts` is what was sent: one label per sense in both, in
        scikit-learn's order y_true, y_pred. In a joint design the answers of every channel to these inputs: {name:
        y_pred}, a frame, or a matrix (n_trials, n_channels).
    delta
        δ, the largest probability that any interval is wrong, in [1e-300, 1).
    epsilon
        Within how many bits of the best a channel may be called the best, at least 0.
    outputs
        The outputs that every channel can give, seen or not, where counts have labels.
    inferred_outputs
        That the outputs are only those that happened to be seen, as the guarantee then says; so it is anyway where
        labelled rows are counted without `outputs`.
    checks
        Whether to look, where the order of the senses is known, for channels that drift or remember.
    columns
        What the columns of a frame are called, as {"channel": "link", "x": "sent", "y": "got", "count": "n"}.
    channel_axis
        "first" or "last": which axis of a stack counts the channels, where its shape does not tell.
    form
        "rows" or "matrix", where counts may be either.
    design
        "fixed" where nobody chose numbers of senses by looking at outputs, as in most recordings; "adaptive" where
        somebody did, as a policy does, or stopped when the result looked good. Fixed designs prove much more. "shared"
        for fixed numbers of trials that all channels answered, as classifiers tried on the same items do: their answers
        may depend on each other. "joint" compares the answers of each trial, which proves more; `JointTrials` are that
        unless it is said otherwise.
    groups
        Of a joint design: the group of each trial (a writer, a day), or the column that has it. Trials of one group may
        depend on each other.
    rank
        Whether to find all pairs of channels of which one is proved to be better than the other (`order`).
    question
        What is asked in place of the best: `Above(level)`, `Top(m)`, `Order()`, `Within(width)`, or its JSON; the
        answer is in `findings`.
    input_distribution
        P, the probability of each input in the order of the counts' rows: estimates, intervals, verdict and order are
        then those of I(P;W) in place of the capacity. All channels must have as many inputs.
    progress
        Called with (done, total) as parts of this are done: intervals, checks, differences, the order.

    Returns
    -------
    Estimate
        Capacities and intervals in bits per channel use, the verdict, and the guarantee.

    Raises
    ------
    InputError
        Where counts are no whole numbers >= 0, a channel has none, δ or ε is out of range, there is no such design, or
        P is no distribution over the inputs of a channel.

    Examples
    --------
    >>> result = estimate({"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]})
    >>> result.verdict.best, round(result["good"].lower, 2), round(result["good"].upper, 2)
    ('good', 0.65, 0.78)
    >>> estimate(["cat", "dog", "dog", "cat"] * 50, ["cat", "dog", "cat", "cat"] * 50).channels[0].counts
    ((100, 0), (50, 50))
    >>> estimate({"good": [[950, 50], [50, 950]]}, input_distribution=[0.9, 0.1])["good"].upper < 0.4
    True
    """
    delta = number_in(delta, "delta", low=SMALLEST_DELTA, high=1.0, low_open=False, high_open=True)
    accuracy = partial(number_in, where="epsilon", low=0.0, high=math.inf, low_open=False, high_open=True)
    epsilon = accuracy(epsilon)
    asked = None if question is None else question_of(question, epsilon)
    if isinstance(asked, Best):
        epsilon, asked = accuracy(asked.epsilon), None
    rank = rank or isinstance(asked, Top | Order)
    if design not in DESIGNS:
        raise InputError(f'design must be "fixed", "adaptive", "shared" or "joint", got {design!r}')
    if groups is not None and design not in (JOINT, SHARED):
        raise InputError('groups are of trials that all channels answer; write design="joint"')
    if design == JOINT or (design == SHARED and received is not None):
        counts = joint_trials(counts, received, outputs=outputs, columns=columns, groups=groups)
        received = outputs = columns = None
    trials = counts if isinstance(counts, JointTrials) else None
    design = design if trials is None else _design_of(trials, design, input_distribution)
    if received is not None:
        counts, form = paired_senses(counts, received), "rows"
    tables = _labelled(counts, outputs, design, columns=columns, channel_axis=channel_axis, form=form)
    P = _fixed_input(input_distribution, tables)
    used = {name: content.counts if P is None else content.counts[P > 0.0] for name, content in tables.items()}
    at = None if P is None else P[P > 0.0] / P.sum()  # I(P; W) depends on these inputs alone
    if asked is not None:
        asked.refuse_unless_possible(len(tables))
    grouped = trials is not None and trials.groups is not None
    recorded = None if design == ADAPTIVE or grouped else RecordedSet.of(used, P=at)
    joint = JointSet(trials) if trials is not None and design == JOINT and (grouped or recorded) else None
    compared: Compared | None = joint or recorded
    if recorded is not None and design == SHARED:
        compared = SharedSet(used, recorded, at)
    ordered = sum(table.order is not None for table in tables.values()) if checks else 0
    parts, total = count(1), PARTS * len(tables) + ordered + 1 + rank

    def part_done(*_: int) -> None:
        if progress:
            progress(next(parts), total)

    alpha, functional = delta / len(tables), functional_for(None if at is None else at.tolist())
    channels = list[ChannelEstimate]()
    for (name, table), at_counts in zip(used.items(), capacities_at_counts([*used.values()], at), strict=True):
        proved_here = joint.ends(name, alpha) if joint and grouped else proved_ends(table, at, alpha, recorded, name)
        part_done()
        paper = None if grouped else proposition_1(table, alpha, functional, at_counts.value)
        channels.append(_channel_estimate(tables[name], at_counts, proved_here, paper, alpha))
        part_done()
    checked = check_order(tables.values(), part_done, apart=design == FIXED) if ordered else None
    senses = sum(channel.senses for channel in channels)
    proved = [Standing(c.name, c.capacity, c.lower, c.upper, c.doubt, c.ceiling) for c in channels]
    rough = [Standing(c.name, a.capacity, a.lower, a.upper, c.doubt) for c in channels if (a := c.asymptotic)]
    withheld = len(rough) < len(channels)
    gaps = differences_of(proved, None if compared is None else compared.leads(leading(proved).name, delta))
    part_done()
    order = proved_order(proved, compared, delta) if rank else None
    if rank:
        part_done()
    ends = {channel.name: (channel.lower, channel.upper) for channel in channels}
    ceilings = {channel.name: channel.ceiling for channel in channels}

    def lead(b: str, a: str) -> float:
        bits = ends[b][0] - ends[a][1] if compared is None else compared.ahead(b, a, delta) / NATS_PER_BIT
        return max(bits, -ceilings[a])

    return Estimate(
        delta=delta,
        epsilon=epsilon,
        inferred_outputs=inferred_outputs or any(table.inferred_outputs for table in tables.values()),
        verdict=judge(proved, gaps, epsilon, senses, together=compared is None),
        asymptotic_verdict=None if withheld else judge(rough, differences_of(rough), epsilon, senses),
        channels=tuple(channels),
        differences=gaps,
        checks=checked,
        design=design,
        shuffles=recorded.shuffles if recorded else joint.shuffles if joint else None,
        order=order,
        input_distribution=None if P is None else tuple(P.tolist()),
        question=asked,
        findings=None if asked is None else asked.proved_by(ends, order.settled if order else (), lead),
        trials=None if trials is None else len(trials.y),
        groups=None if trials is None or trials.groups is None else len(np.unique(trials.groups)),
    )


def _design_of(trials: JointTrials, design: str, input_distribution: object) -> str:
    """The design of trials that several channels answered: "joint", unless it is said otherwise."""
    if trials.groups is not None and design in (SHARED, ADAPTIVE):
        raise InputError(
            "trials of one group may depend on each other, and proofs from counts suppose that none do; write design"
            ' "joint", whose bets take a group as one trial'
        )
    if design == JOINT and input_distribution is not None:
        raise InputError('design "joint" compares capacities; at a fixed input distribution say design "shared"')
    return (JOINT if input_distribution is None else SHARED) if design == FIXED else design


def _labelled(counts: object, outputs: Sequence[str] | None, design: str, **hints: Any) -> Mapping[str, LabelledCounts]:
    """The counts of every channel by name; what `read_counts` gave has its labels and is checked already."""
    if outputs is None and isinstance(counts, Mapping) and counts:
        pairs = counts.items()
        if all(isinstance(content, LabelledCounts) and content.name == name for name, content in pairs):
            return counts
    try:
        return labelled_counts(counts, outputs, **hints)
    except JointTrialsFoundError:
        if design != SHARED:
            raise
        return labelled_counts(joint_trials(counts, outputs=outputs, columns=hints["columns"]))


def _fixed_input(input_distribution: Sequence[float] | None, tables: Mapping[str, LabelledCounts]) -> Floats | None:
    """P over the inputs of every channel, or None for capacities."""
    if (fixed := functional_for(input_distribution).P) is None:
        return None
    P = distribution(fixed, len(fixed), FIXED_INPUT)
    for name, content in tables.items():
        if len(content.counts) != len(P):
            raise InputError(
                f"{FIXED_INPUT} is one of {several(len(P), 'input')}, and channel {name!r} has"
                f" {several(len(content.counts), 'input')}; it must have a probability for each, 0 where unused"
            )
    return P


def _channel_estimate(
    content: LabelledCounts, at_counts: CapacityAtCounts, ends: Ends, paper: Interval | None, alpha: float
) -> ChannelEstimate:
    """The estimate with its proved ends; without the paper's interval, all else that supposes independent trials."""
    n_inputs, n_outputs = content.counts.shape
    ceiling = math.log2(min(n_inputs, n_outputs))
    capacity = min(at_counts.capacity, ceiling)
    lower, upper = ends.in_bits(capacity, ceiling)
    withheld = why_withheld(at_counts) if paper else GROUPED
    rough = None if withheld else approximate_interval(at_counts, alpha)
    return ChannelEstimate(
        name=content.name,
        n_inputs=n_inputs,
        n_outputs=n_outputs,
        senses=int(content.counts.sum()),
        capacity=capacity,
        lower=lower,
        upper=upper,
        positive=ends.positive,
        corrected=rough.capacity if rough else None,
        asymptotic=rough if rough is None or at_counts.complete else replace(rough, upper=ceiling),
        withheld=withheld,
        paper=paper or Interval(0.0, ceiling),
        inputs=content.inputs,
        outputs=content.outputs,
        binning=content.binning,
        counts=tuple(map(tuple, content.counts.tolist())),
    )
