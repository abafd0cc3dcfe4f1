"""Before sensing anything: what each policy would need on channels as one guesses them to be.

The senses of the paper's policies follow from its formulas, to the last one; those of Adaptive
depend on luck, and are found by simulating it. Both stand beside T* kl(δ, 1-δ), which no policy
with this promise can beat on average.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bestchannel.arrays import number_in, whole_number
from bestchannel.channels import as_channel
from bestchannel.channels.channel import Cost, sense_costs
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.plug_in import Functional, Interval
from bestchannel.lower_bound.bound import LowerBound, lower_bound
from bestchannel.lower_bound.characteristic_time import LeastShots, least_shots
from bestchannel.policies import Adaptive, BestChanID, JointAdaptive, identify
from bestchannel.policies.paper_policies import SUBROUTINES, best_chan_id
from bestchannel.policies.policy import Senses
from bestchannel.policies.transcript import Alphabet
from bestchannel.process import Progress, part_of
from bestchannel.questions import AnyQuestion, Best, question_of
from bestchannel.sensing.simulator import Instance, Simulator, child
from bestchannel.study.monte_carlo import SAME

MOST_SENSES = 10**9  # simulated runs that would pass this many senses are given up


@dataclass(frozen=True)
class Need:
    """What a policy needs: the median of its runs, and what 95 % of them stay within; None where it would not end.

    `epsilon` is the accuracy that it promises, in bits. `undecided` of the simulated runs were given up. `cost` and
    `cost_q95` are the same of what the senses cost, where costs were given and runs were simulated.
    """

    policy: str
    epsilon: float
    senses: int | None
    q95: int | None
    simulated: bool
    undecided: int
    cost: float | None = None
    cost_q95: float | None = None


@dataclass(frozen=True)
class Plan:
    """The needs of all policies, and the lower bound.

    Attributes
    ----------
    delta, epsilon
        What the policies promise: an error probability, and an accuracy in bits.
    best
        The best of the channels, None where two are the best.
    gap
        How far the second best is behind, in bits.
    runs
        How many runs of Adaptive were simulated.
    bound
        What no policy beats on average; None with an accuracy ε, for which it is no bound.
    needs
        Of each policy its `senses`, what 95 % of its runs stay within (`q95`), and what that costs; of Adaptive alone
        where something else is asked than which channel is the best.
    question
        What is asked.
    max_senses
        What a run was allowed; None without a limit.
    decided
        Of the simulated runs.
    still_open
        For each name the simulated runs that leave it open.
    shots
        Where the policy joint was simulated: what no policy does without, in shots; None without, and with an accuracy.
    within_bits
        In 95 % of the runs some channel is proved to be that near to the best, or better; None where that says nothing.

    Examples
    --------
    >>> import bestchannel as bc
    >>> bc.plan({"a": bc.bsc(0.05), "b": bc.bsc(0.3)}, runs=5).best
    'a'
    """

    delta: float
    epsilon: float
    best: str | None
    gap: float
    runs: int
    bound: LowerBound | None
    needs: tuple[Need, ...]
    question: AnyQuestion
    max_senses: int | None
    decided: int
    still_open: Mapping[str, int]
    within_bits: float | None
    shots: LeastShots | None = None


def plan(
    channels: Mapping[str, object],
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    question: AnyQuestion | Mapping[str, Any] | None = None,
    max_senses: int | None = None,
    cost: Mapping[Any, Cost] | Sequence[Cost] | None = None,
    shots: bool = False,
    runs: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """The senses that each policy would need if the channels were these, or what a limit of senses leaves open.

    The needs of the paper's policies, which name the best channel, follow from its formulas; Adaptive is simulated.

    Parameters
    ----------
    channels
        A mapping from names to channels or rows of probabilities, as they are thought to be.
    delta
        δ, the error probability of the policies, in (0, 1).
    epsilon
        Within how many bits of the best the named channel may be. Without it the two PAC policies of the paper are
        given the gap between the two best channels as their accuracy.
    question
        What is asked, as of `lower_bound`: the best channel unless said otherwise.
    max_senses
        What every simulated run may sense. The plan then says how often that decides.
    cost
        What a sense costs, as for `lower_bound`: Adaptive then pays the least, and the bound has the least cost.
    shots
        Count shots that all channels answer at once, independently: JointAdaptive is simulated, and no other policy.
    runs
        How many runs of Adaptive are simulated.
    seed
        Simulated run i draws from child i of it.
    progress
        Called with (done, total) as proofs of the bound and simulated runs are finished.

    Returns
    -------
    Plan
        What each policy needs, beside the lower bound.

    Raises
    ------
    InputError
        Where there are too few channels, or one of them, δ, ε, the question or a cost is refused.

    Examples
    --------
    >>> import bestchannel as bc
    >>> answer = plan({"a": bc.bsc(0.05), "b": bc.bsc(0.3)}, runs=5)
    >>> [need.policy for need in answer.needs]
    ['adaptive', 'best-chan-id', 'naive', 'median']
    """
    asked = question_of(question, epsilon)
    least = 2 if isinstance(asked, Best) else 1
    if not isinstance(channels, Mapping) or len(channels) < least:
        got = f"{len(channels)}" if isinstance(channels, Mapping) else f"a {type(channels).__name__}"
        raise InputError(f"a plan compares named channels; it requires at least {least} of them and got {got}")
    if shots and (cost is not None or not isinstance(asked, Best)):
        raise InputError(
            "shots are planned for the question which channel is the best, without costs; leave the rest out"
        )
    runs, seed = whole_number(runs, "runs", at_least=1), whole_number(seed, "seed", at_least=0)
    if max_senses is not None:
        max_senses = int(number_in(max_senses, "max_senses", low=1, high=MOST_SENSES, low_open=False))
    known = {name: as_channel(channel) for name, channel in channels.items()}
    instance = Instance.of(list(known.values()))
    costs = None if cost is None else sense_costs(cost, list(channels), [n for n, _ in instance.alphabets])
    gap = float(np.sort(instance.gaps)[1]) if len(known) > 1 else math.inf
    tied = isinstance(asked, Best) and gap <= SAME
    proofs = 0 if asked.epsilon else len(channels)
    show = part_of(progress, 0, proofs + runs)
    bound = None if asked.epsilon or shots else lower_bound(known, delta, question=asked, cost=costs, progress=show)
    endless = tied if bound is None or isinstance(asked, Best) else bound.characteristic_time.lower == math.inf
    kind = JointAdaptive if shots else Adaptive
    options: dict[str, Any] = {"delta": delta, "epsilon": asked.epsilon} | ({} if costs is None else {"cost": costs})
    if not isinstance(asked, Best):
        options |= {"epsilon": 0.0, "question": asked}
    limit, trials = max_senses or MOST_SENSES, list[_Trial]()
    if max_senses is not None or asked.epsilon or not endless:
        for i in range(runs):
            sensor = Simulator(instance.channels, rng=child(seed, i))
            result = identify(sensor, kind(instance.alphabets, **options), max_senses=limit)
            near = result.nearly_best
            within = 0.0 if result.decided else math.inf if near is None else near.within_bits
            trials.append(_Trial(result.decided, result.senses, result.cost, within, result.candidates))
            part_of(progress, proofs, proofs + runs)(i + 1, runs)
    still_open = Counter(channel for trial in trials if not trial.decided for channel in trial.candidates)
    within = _middle_and_most([t.within_bits for t in trials])[1] if trials and isinstance(asked, Best) else math.inf
    return Plan(
        delta=delta,
        epsilon=asked.epsilon,
        best=None if tied else list(channels)[instance.best],
        gap=gap,
        runs=runs,
        bound=bound,
        needs=(
            _simulated(kind.name, asked.epsilon, trials, limit),
            *(_of_the_paper(instance, delta, epsilon or gap, tied) if least == 2 and not shots else ()),
        ),
        question=asked,
        max_senses=max_senses,
        decided=sum(trial.decided for trial in trials),
        still_open={name: still_open[j] for j, name in enumerate(channels)},
        within_bits=within + asked.epsilon if math.isfinite(within) else None,
        shots=least_shots(known, delta) if shots and not asked.epsilon else None,
    )


def _endless(policy: str) -> Need:
    return Need(policy, 0.0, None, None, simulated=False, undecided=0)


class _Trial(NamedTuple):
    """What came of a simulated run."""

    decided: bool
    senses: int
    cost: float | None
    within_bits: float  # of the best, as is proved of some channel
    candidates: tuple[int, ...]


def _simulated(policy: str, epsilon: float, trials: Sequence[_Trial], limit: int) -> Need:
    """What they took."""
    if not trials:
        return _endless(policy)
    middle, most = map(int, _middle_and_most([trial.senses if trial.decided else limit for trial in trials]))
    paid = [trial.cost for trial in trials if trial.cost is not None]
    usual, high = _middle_and_most(paid) if paid else (None, None)
    undecided = sum(not trial.decided for trial in trials)
    return Need(policy, epsilon, middle, most, simulated=True, undecided=undecided, cost=usual, cost_q95=high)


def _middle_and_most(numbers: Sequence[float]) -> tuple[float, float]:
    middle, most = np.quantile(numbers, [0.5, 0.95], method="inverted_cdf").tolist()
    return middle, most


def _of_the_paper(instance: Instance, delta: float, accuracy: float, tied: bool) -> Iterator[Need]:
    """Exact numbers, as long as no estimate errs."""
    gaps = instance.gaps.tolist()
    for policy, epsilon in (("best-chan-id", 0.0), ("naive", accuracy), ("median", accuracy)):
        if tied and epsilon <= SAME:
            yield _endless(policy)
            continue
        total = expected_senses(policy, gaps, instance.alphabets, delta=delta, epsilon=epsilon)
        yield Need(policy, epsilon, total, total, simulated=False, undecided=0)


def expected_senses(policy: str, gaps: Sequence[float], alphabets: Sequence[Alphabet], **options: Any) -> int:
    """What a run costs when every estimate is exact, to the last sense; the options are those of `expected_requests`.

    >>> expected_senses("naive", [0.0, 0.1], [(2, 2)] * 2, delta=0.1, epsilon=0.2)
    363459060
    """
    return sum(sum(map(sum, request.values())) for request in expected_requests(policy, gaps, alphabets, **options))


def expected_requests(
    policy: str,
    gaps: Sequence[float],
    alphabets: Sequence[Alphabet],
    *,
    delta: float,
    epsilon: float = 0.0,
    subroutine: str = "naive",
) -> Iterator[Senses]:
    """What "best-chan-id", "naive" or "median" asks for when every estimate is exact, request by request.

    `gaps` (bits) are the differences of the channels' capacities to the largest one, `alphabets` their (n_inputs,
    n_outputs), `epsilon` (bits) what the two PAC policies promise.
    """
    known = _KnownGaps(gaps, tuple(alphabets), Functional())
    if policy == BestChanID.name:
        best = [channel for channel, gap in enumerate(gaps) if gap == 0.0]
        if len(best) > 1 and any(min(alphabet) > 1 for alphabet in alphabets):
            raise InputError(f"channels {best[0]} and {best[1]} both have gap 0: BestChanID would never end")
        script = best_chan_id(known, delta, subroutine, on_round=lambda r, candidates: None)
    else:
        script = SUBROUTINES[policy](known, tuple(range(len(gaps))), epsilon * NATS_PER_BIT, delta)
    with suppress(StopIteration):
        request = next(script)
        while True:
            yield request
            request = script.send(dict.fromkeys(request, np.empty(0, dtype=np.int64)))


@dataclass
class _KnownGaps:
    """What the paper's algorithms look at of channels whose gaps are known: every estimate is exact."""

    gaps: Sequence[float]
    alphabets: tuple[Alphabet, ...]
    functional: Functional

    def estimates(self, counts: Iterable[int]) -> dict[int, Interval]:
        """How far every channel is above the worst; one that need not be sensed is as bad as can be, and has 0."""
        return {j: Interval(value, value) for j in counts for value in [max(self.gaps) - self.gaps[j]]}
