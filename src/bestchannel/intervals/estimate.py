"""`estimate`: from counts to capacities with intervals, and a verdict.

Two kinds of interval stand side by side. `lower` and `upper` are proved: they hold for all channels
at once with probability 1 - δ, however the senses were chosen and whenever one looks. `asymptotic` is an
approximation by simulated counts, narrower and not proved. The verdict, which channel is the best, is drawn from
intervals that hold for all channels at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bestchannel.arrays import number_in
from bestchannel.counts.binning import Binning
from bestchannel.counts.frames import labelled_counts
from bestchannel.counts.labelled_counts import LabelledCounts
from bestchannel.display import Frame, Shown, frame_of, on_one_line, text_table
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals import region
from bestchannel.intervals.order_checks import OrderChecks, check_order
from bestchannel.intervals.plug_in import (
    CapacityAtCounts,
    ChannelCapacity,
    Interval,
    approximate_interval,
    capacities_at_counts,
    deviation_interval,
)
from bestchannel.progress import Progress
from bestchannel.promises import conditional, confidence

SMALLEST_DELTA = 1e-300
"""So that the share of every end of every interval is a number above 0."""

MOST_NAMED = 6
"""Candidates that a sentence names."""


@dataclass(frozen=True)
class Standing:
    """What is known of one channel, in bits: lower <= capacity <= upper, and how far off the estimate may well be."""

    name: str
    capacity: float
    lower: float
    upper: float
    doubt: float = 0.0


@dataclass(frozen=True)
class Difference:
    """Between which ends the leader's capacity less the rival's lies, in bits."""

    rival: str
    lower: float
    upper: float


@dataclass(frozen=True)
class Verdict:
    """`best` is the leader once `decided`, None before; `candidates` are the channels not ruled out.

    `leader` has the largest estimate. `more_senses` is about how many senses more would decide, to one digit,
    spread like those before: 0 once decided, None where no number can be given. `more_senses_range` is what it may
    well be, as far as the estimates are known; its second end is None where the channels may be equal, so that no
    number of senses would decide.
    """

    decided: bool
    best: str | None
    candidates: tuple[str, ...]
    more_senses: int | None
    leader: str
    more_senses_range: tuple[int, int | None] | None = None


@dataclass(frozen=True)
class Asymptotic:
    """The estimate less its bias, and the ends of its approximate interval, in bits; not proved."""

    capacity: float
    lower: float
    upper: float


@dataclass(frozen=True)
class ChannelEstimate:
    """What the counts say of one channel, in bits.

    `capacity` is the plug-in estimate from the inputs that were sensed, `corrected` the same less its bias, or None
    where that is not known. lower <= C <= upper is proved. `asymptotic` is not; `withheld` says why its ends are but 0
    and the largest capacity there is, or is None. `paper` is the interval of [EBWGW24, Prop. 1], proved for counts
    fixed in advance. `positive` says that C > 0 is proved. `inputs` and `outputs` are the labels of the rows and
    columns of the counts. Where the outputs were measured values, `binning` is how they were cut, and all this is
    about the channel to the bins.
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
    asymptotic: Asymptotic
    withheld: str | None
    paper: Interval
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    binning: Binning | None

    @property
    def doubt(self) -> float:
        """How far off the estimate may well be, in bits: a quarter of the approximate or the proved interval."""
        known = self if self.withheld else self.asymptotic
        return 0.25 * (known.upper - known.lower)


@dataclass(frozen=True)
class Estimate(Shown):
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
        The same rule applied to the approximate intervals, which are not proved.
    channels
        One entry per channel in the order of the counts: `name`, `senses`, `capacity`, `lower`, `upper` (bits), …
    differences
        The leader's capacity less each rival's, in bits; all are above -ε exactly when the verdict is decided.
    checks
        What the order of the senses says against channels being one and the same throughout, and memoryless:
        `warnings`, and the e-values of all channels; None where the order is not known or was not to be checked.

    Examples
    --------
    >>> import bestchannel as bc
    >>> result = bc.estimate({"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]})
    >>> print(str(result).splitlines()[0])
    channel  senses  capacity   lower   upper
    >>> result["good"].senses
    2000
    """

    delta: float
    epsilon: float
    inferred_outputs: bool
    verdict: Verdict
    asymptotic_verdict: Verdict
    channels: tuple[ChannelEstimate, ...]
    differences: tuple[Difference, ...]
    checks: OrderChecks | None

    @property
    def guarantee(self) -> str:
        """What is promised of all intervals, and on which conditions."""
        words = (
            f"with probability at least {confidence(self.delta)} every capacity is between its lower and upper end,"
            " at all times and under any adaptive sensing [bestchannel explain estimate]"
        )
        bins = (channel.binning.condition for channel in self.channels if channel.binning)
        return conditional(words, self.inferred_outputs, bins)

    def __getitem__(self, name: str) -> ChannelEstimate:
        """The estimate of the channel with this name, or a `KeyError`."""
        for channel in self.channels:
            if channel.name == name:
                return channel
        raise KeyError(name)

    def to_frame(self) -> Frame:
        """One row per channel, indexed by its name: senses, capacity, and both intervals, in bits.

        Returns
        -------
        pandas.DataFrame
            In the order of the counts; lower and upper are proved, asymptotic_lower and asymptotic_upper are not.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.estimate({"link": [[95, 5], [5, 95]]}).to_frame().index.tolist()
        ['link']
        """
        return frame_of(self)

    def __str__(self) -> str:
        heads = ["channel", "senses", "capacity", "lower", "upper"]
        rows = [[c.name, f"{c.senses:,}", *(f"{v:.4f}" for v in (c.capacity, c.lower, c.upper))] for c in self.channels]
        words = on_one_line(sentence(self.verdict, len(self.channels), self.epsilon))
        warnings = "".join(f"warning: {on_one_line(text)}\n" for text in (self.checks.warnings if self.checks else ()))
        return f"{text_table(heads, rows)}\n{words}\n{warnings}{self.guarantee}"


def estimate(
    counts: object,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    outputs: Sequence[str] | None = None,
    inferred_outputs: bool = False,
    checks: bool = True,
    columns: Mapping[str, str] | None = None,
    channel_axis: str | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """The capacity of every channel from counts[name][x][y], with an interval, and which channel has the largest.

    lower_j <= C(W_j) <= upper_j for all j at once with probability at least 1 - δ; `bestchannel explain estimate`
    has the theorem and its proof.

    Parameters
    ----------
    counts
        A mapping from names to whole numbers of shape (n_inputs, n_outputs): how often input x gave output y. Or one
        such matrix, a list or a stack (k, n_inputs, n_outputs) of them; {sent: {got: n}} of one channel, or by name; a
        frame (pandas, polars, pyarrow) with the columns channel, x, y and count, or without count and one row per
        sense; a confusion matrix as a frame, or several, as pandas' crosstab makes them; an xarray with the dimensions
        channel, x, y; what `read_counts`, `read_trials` or `quantise` gives.
    delta
        δ, the largest probability that any interval is wrong, in [1e-300, 1).
    epsilon
        Within how many bits of the best a channel may be called the best, at least 0.
    outputs
        The outputs that every channel can give, seen or not, where counts have labels.
    inferred_outputs
        That the outputs are only those that happened to be seen, which the guarantee then says too; so it is anyway
        where labelled rows are counted without `outputs`.
    checks
        Whether to look, where the order of the senses is known, for channels that drift or remember.
    columns
        What the columns of a frame are called, as {"channel": "link", "x": "sent", "y": "got", "count": "n"}.
    channel_axis
        "first" or "last": which axis of a stack counts the channels, where its shape does not tell.
    progress
        Called with (done, total) as the intervals of channels are found.

    Returns
    -------
    Estimate
        Capacities and intervals in bits per channel use, the verdict, and the guarantee.

    Raises
    ------
    InputError
        Where counts are no whole numbers >= 0, a channel has none, or δ or ε is out of range.

    Examples
    --------
    >>> result = estimate({"good": [[950, 50], [50, 950]], "bad": [[700, 300], [300, 700]]})
    >>> result.verdict.best, round(result["good"].lower, 2), round(result["good"].upper, 2)
    ('good', 0.61, 0.82)
    """
    delta = number_in(delta, "delta", low=SMALLEST_DELTA, high=1.0, low_open=False, high_open=True)
    epsilon = number_in(epsilon, "epsilon", low=0.0, high=float("inf"), low_open=False, high_open=True)
    tables = _labelled(counts, outputs, columns, channel_axis)
    channels = _channel_estimates(tables, delta / len(tables), progress)
    senses = sum(channel.senses for channel in channels)
    proved = [Standing(c.name, c.capacity, c.lower, c.upper, c.doubt) for c in channels]
    rough = [Standing(c.name, a.capacity, a.lower, a.upper, c.doubt) for c in channels for a in [c.asymptotic]]
    return Estimate(
        delta=delta,
        epsilon=epsilon,
        inferred_outputs=inferred_outputs or any(table.inferred_outputs for table in tables.values()),
        verdict=judge(proved, epsilon, senses),
        asymptotic_verdict=judge(rough, epsilon, senses),
        channels=channels,
        differences=differences(proved),
        checks=check_order(tables.values()) if checks and any(t.order for t in tables.values()) else None,
    )


def _labelled(
    counts: object, outputs: Sequence[str] | None, columns: Mapping[str, str] | None, channel_axis: str | None
) -> Mapping[str, LabelledCounts]:
    """The counts of every channel by name; what `read_counts` gave has its labels and is checked already."""
    if outputs is None and isinstance(counts, Mapping) and counts:
        pairs = counts.items()
        if all(isinstance(content, LabelledCounts) and content.name == name for name, content in pairs):
            return counts
    return labelled_counts(counts, outputs, columns=columns, channel_axis=channel_axis)


def _channel_estimates(
    tables: Mapping[str, LabelledCounts], alpha: float, progress: Progress | None
) -> tuple[ChannelEstimate, ...]:
    """One estimate per channel, whose interval is wrong with probability at most alpha."""
    found = capacities_at_counts([content.counts for content in tables.values()])
    channels = []
    for pair in zip(tables.values(), found, strict=True):
        channels.append(_channel_estimate(*pair, alpha))
        if progress:
            progress(len(channels), len(tables))
    return tuple(channels)


def _channel_estimate(content: LabelledCounts, found: CapacityAtCounts, alpha: float) -> ChannelEstimate:
    table = content.counts
    n_inputs, n_outputs = table.shape
    ceiling = math.log2(min(table.shape))
    capacity = min(found.capacity, ceiling)
    threshold = region.joint_threshold(table, alpha / 2)  # one half for each end
    lower = region.lower_end(table, threshold) / NATS_PER_BIT
    upper = region.upper_end(table, region.row_thresholds(table, alpha / 2)) / NATS_PER_BIT
    approximate = approximate_interval(found, alpha)
    return ChannelEstimate(
        name=content.name,
        n_inputs=n_inputs,
        n_outputs=n_outputs,
        senses=int(table.sum()),
        capacity=capacity,
        # both bounds enclose the plug-in value, which is in every region; this is against rounding
        lower=min(lower, capacity),
        upper=max(min(upper, ceiling), capacity),
        positive=lower > 0.0 or region.excludes_zero(table, threshold),
        corrected=None if approximate.withheld else approximate.value,
        asymptotic=Asymptotic(
            approximate.value,
            approximate.lower,
            approximate.upper if found.complete and not approximate.withheld else ceiling,
        ),
        withheld=approximate.withheld,
        paper=deviation_interval(found.value, table, alpha, ChannelCapacity()),
        inputs=content.inputs,
        outputs=content.outputs,
        binning=content.binning,
    )


def sentence(verdict: Verdict, n_channels: int, epsilon: float = 0.0) -> str:
    """What the verdict on so many channels says."""
    if n_channels == 1:
        return "one channel, nothing to decide"
    if verdict.decided:
        return f"best: {verdict.best}" + (f", within {epsilon:g} bit" if epsilon else "")
    few, rest = verdict.candidates[:MOST_NAMED], len(verdict.candidates) - MOST_NAMED
    others = f" and {rest} others" if rest > 0 else ""
    return f"undecided between {', '.join(few)}{others}; {forecast(verdict)}"


def forecast(verdict: Verdict) -> str:
    """How many more senses would decide, as far as that can be known."""
    if verdict.more_senses_range is None:
        return "no number of senses decides between equal channels, as these look"
    low, high = verdict.more_senses_range
    if high is None:
        return f"at least {low:,} more senses; no number decides if they are equal, which they may be"
    return f"about {verdict.more_senses:,} more senses ({low:,} to {high:,})"


def differences(standings: Sequence[Standing]) -> tuple[Difference, ...]:
    """The leader's capacity less each rival's, from the ends of both intervals."""
    leader = leading(standings)
    return tuple(
        Difference(rival.name, leader.lower - rival.upper, leader.upper - rival.lower)
        for rival in standings
        if rival is not leader
    )


def leading(standings: Sequence[Standing]) -> Standing:
    """The largest estimate, the first of several."""
    return max(standings, key=lambda standing: standing.capacity)


def judge(standings: Sequence[Standing], epsilon: float, senses: int) -> Verdict:
    """Decided when every difference from the leader is above -ε, so that the leader is within ε of the best.

    A rival is ruled out when its difference is, or when its upper end is below another's lower
    end. The leader's upper end never is, so that it alone is left exactly when it is decided.
    """
    leader = leading(standings)
    open_rivals = {gap.rival for gap in differences(standings) if not gap.lower > -epsilon}
    bar = max(standing.lower for standing in standings)
    left = [s for s in standings if s is leader or (s.name in open_rivals and s.upper >= bar)]
    rivals = [standing for standing in left if standing is not leader]
    return Verdict(
        decided=not open_rivals,
        best=None if open_rivals else leader.name,
        candidates=tuple(standing.name for standing in sorted(left, key=lambda s: -s.capacity)),
        more_senses=_more_senses(leader, rivals, epsilon, senses, 0.0),
        leader=leader.name,
        more_senses_range=_range(leader, rivals, epsilon, senses),
    )


def _range(leader: Standing, rivals: Sequence[Standing], epsilon: float, senses: int) -> tuple[int, int | None] | None:
    """The senses if every gap is as large as it may well be, and if it is as small; None where no gap is seen."""
    if _more_senses(leader, rivals, epsilon, senses, 0.0) is None:
        return None
    low = _more_senses(leader, rivals, epsilon, senses, 1.0)
    return low or 0, _more_senses(leader, rivals, epsilon, senses, -1.0)


def _more_senses(
    leader: Standing, rivals: Sequence[Standing], epsilon: float, senses: int, doubts: float
) -> int | None:
    """senses · (((w_b + w_a) / (gap + ε))² - 1) for the hardest rival, as widths shrink like 1/√senses.

    Each gap is first widened by so many doubts of both estimates. To one digit; None where a gap is not above 0.
    """
    ratio = 1.0
    for rival in rivals:
        gap = leader.capacity - rival.capacity + epsilon + doubts * math.hypot(leader.doubt, rival.doubt)
        width = leader.capacity - leader.lower + rival.upper - rival.capacity
        if not gap > 0.0:
            return None
        ratio = max(ratio, width / gap)
    more = senses * (ratio**2 - 1.0)
    if not math.isfinite(more):
        return None
    return one_digit(max(math.ceil(more), 1)) if rivals else 0


def one_digit(number: int) -> int:
    """The number to one significant digit, which is what a forecast knows.

    >>> one_digit(46_781_546), one_digit(7), one_digit(0)
    (50000000, 7, 0)
    """
    return round(number, 1 - len(str(number))) if number else 0
