"""What runs of the policies of [EBWGW24] cost when no estimate errs, to the last sense; gaps are in **bits**."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bestchannel.arrays import number_in
from bestchannel.errors import InputError
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.paper_bounds import (
    Rate,
    best_chan_id_delta,
    best_chan_id_epsilon,
    best_chan_id_senses,
    median_senses,
    naive_senses,
)

Alphabet = tuple[int, int]
Channels = tuple[int, ...]

POLICIES = ("best-chan-id", "naive", "median")
SUBROUTINES = POLICIES[1:]

BINARY = Rate(2, 2)


@dataclass(frozen=True)
class Round:
    """One round: the channels that enter it, senses for its own estimates, and for its PAC subroutine."""

    candidates: Channels
    estimation: int
    subroutine: int


@dataclass(frozen=True)
class ExpectedSenses:
    """The rounds of a run in which no estimate errs; for MedianChanEl a round is one halving."""

    rounds: tuple[Round, ...]

    @property
    def total(self) -> int:
        """All senses of the run."""
        return sum(r.estimation + r.subroutine for r in self.rounds)


def expected_senses(
    policy: str,
    gaps: Sequence[float],
    alphabets: Sequence[Sequence[int]],
    *,
    delta: float,
    epsilon: float | None = None,
    subroutine: str = "naive",
) -> ExpectedSenses:
    """What a run costs when every estimate is exact, to the last sense.

    `policy` is "best-chan-id", "naive" or "median"; `gaps` (bits) are the differences of the channels' capacities to
    the largest one, `alphabets` their (n_inputs, n_outputs), `epsilon` (bits) what the two PAC policies promise. A
    channel is sensed |X|⌈n/|X|⌉ times where the formula says n, and not at all if it has a single input or output.

    >>> expected_senses("naive", [0.0, 0.1], [(2, 2)] * 2, delta=0.1, epsilon=0.2).total
    363459060
    """
    _refuse_unknown(policy, POLICIES, "policy")
    _refuse_unknown(subroutine, SUBROUTINES, "subroutine")
    known = _KnownGaps(_checked_gaps(gaps, len(alphabets)), tuple((int(x), int(y)) for x, y in alphabets))
    delta = number_in(delta, "delta (the error probability)", low=0.0, high=1.0, high_open=True)
    if policy == "best-chan-id":
        return ExpectedSenses(tuple(_best_chan_id(known, delta, PAC[subroutine])))
    epsilon = number_in(epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=1e300)
    return ExpectedSenses(tuple(PAC[policy](known, known.channels, epsilon * NATS_PER_BIT, delta)))


@dataclass(frozen=True)
class _KnownGaps:
    """Gaps in nats and alphabets, one of each for every channel: all that exact estimates would show."""

    gaps: tuple[float, ...]
    alphabets: tuple[Alphabet, ...]

    @property
    def channels(self) -> Channels:
        return tuple(range(len(self.gaps)))

    def worthless(self, channel: int) -> bool:
        return min(self.alphabets[channel]) == 1

    def senses(self, candidates: Channels, n: Callable[[Rate], int]) -> int:
        """Σ_j |X_j| ⌈n/|X_j|⌉ over the candidates whose alphabet allows a capacity above 0."""
        sizes = Counter(self.alphabets[channel] for channel in candidates if not self.worthless(channel))
        return sum(many * size[0] * -(-n(Rate(*size)) // size[0]) for size, many in sizes.items())


def _best_chan_id(known: _KnownGaps, delta: float, pac: Callable[..., list[Round]]) -> list[Round]:
    """[EBWGW24, Alg. 1] with exact estimates: round r keeps the channels with Δ_j ≤ ε_r."""
    best = [channel for channel in known.channels if known.gaps[channel] == 0.0]
    if len(best) > 1 and not all(map(known.worthless, known.channels)):
        raise InputError(f"channels {best[0]} and {best[1]} both have gap 0: BestChanID would never end")
    candidates, rounds = known.channels, list[Round]()
    while len(candidates) > 1 and not all(map(known.worthless, candidates)):
        r = len(rounds) + 1
        epsilon_r, delta_r = best_chan_id_epsilon(r), best_chan_id_delta(r, delta)
        estimation = known.senses(candidates, partial(best_chan_id_senses, r, delta))
        inner = pac(known, candidates, epsilon_r / 2, delta_r)
        rounds.append(Round(candidates, estimation, sum(halving.estimation for halving in inner)))
        candidates = tuple(channel for channel in candidates if known.gaps[channel] <= epsilon_r)
    return rounds


def _naive(known: _KnownGaps, candidates: Channels, epsilon: float, delta: float) -> list[Round]:
    """[EBWGW24, Alg. 2]: one round, or none for a single channel."""
    k = len(candidates)
    senses = known.senses(candidates, partial(naive_senses, epsilon, delta, k)) if k > 1 else 0
    return [Round(candidates, senses, 0)] if senses else []


def _median(known: _KnownGaps, candidates: Channels, epsilon: float, delta: float) -> list[Round]:
    """[EBWGW24, Alg. 3] with exact estimates: each round keeps the ⌈k/2⌉ smallest gaps, the first of equal ones."""
    rounds = list[Round]()
    epsilon_r, delta_r = epsilon / 4, delta / 2
    while len(candidates) > 1:
        senses = known.senses(candidates, partial(median_senses, epsilon_r, delta_r))
        rounds.append(Round(candidates, senses, 0))
        ranked = sorted(candidates, key=lambda channel: known.gaps[channel])
        candidates = tuple(sorted(ranked[: (len(ranked) + 1) // 2]))
        epsilon_r, delta_r = 3 * epsilon_r / 4, delta_r / 2
    return rounds


PAC = {"naive": _naive, "median": _median}


def _checked_gaps(gaps: Sequence[float], n_channels: int) -> tuple[float, ...]:
    """The gaps in nats."""
    checked = [number_in(gap, f"gaps[{j}] (bits)", low=0.0, high=1e300, low_open=False) for j, gap in enumerate(gaps)]
    if len(checked) != n_channels or not checked:
        raise InputError(
            f"gaps and alphabets must have one entry for each channel; they have {len(checked)} and {n_channels}"
        )
    if min(checked) != 0.0:
        raise InputError(f"the best channel has gap 0; the smallest of the gaps is {min(checked):g}")
    return tuple(gap * NATS_PER_BIT for gap in checked)


def _refuse_unknown(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        raise InputError(f"the {what} must be one of {', '.join(known)}; it is {name!r}")
