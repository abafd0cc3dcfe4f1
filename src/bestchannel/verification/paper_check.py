"""The paper's three algorithms, followed along a record: the senses they demand, estimates, eliminations [EBWGW24].

All sizes are built on N(ε, α) = 4 c₁ g/ε² log²(4 t̃ g/ε²), c₁ = 15·25/4, t̃ = (25/4) t, with accuracies in nats and

g(α) = 4|X||Y| log(|X|/α), or 2(3|X|+2)² log(4/α) at a fixed input distribution (Remark 1), and
t(α) = (|Y| e² / (|X| log(|X|/α)))^(1/5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bestchannel.record import Floats
from bestchannel.verification.record import NATS, NotValidError, Record, Watch, require

ACCURACY = 1e-9  # nats: estimates that are nearer to one another than this may be ranked either way
SHORT = 1e-9  # relative: by how much senses may fall short of a formula evaluated in doubles
LEAST = 5e-324  # the smallest double: a level must not become 0

Channels = frozenset[str]
Estimates = dict[str, float]  # in nats, in the order of the record


class _Course:
    """The steps of a record, taken one by one; `standing` are the candidates as the algorithm has them."""

    def __init__(self, record: Record, watch: Watch, input_of: Callable[[Floats], Floats]) -> None:
        self.record, self.left, self._watch, self._input_of = record, list(record.steps), watch, input_of
        self.standing: Channels = frozenset(record.alphabets)
        self.kept: Channels | None = None  # those that the record has after the last step taken

    def estimates(self, candidates: Channels, epsilon: float, alpha: float, times: float) -> Estimates:
        """Take a step in which every candidate was sensed max{N(ε, α), times g(α)} times, and estimate each, in nats.

        Channels of value 0 by their alphabets are not sensed; where all are, there is no step.
        """
        record, fixed = self.record, self.record.fixed_input
        values = {channel: 0.0 for channel in record.alphabets if channel in candidates}
        sensed = {channel for channel in candidates if not record.worthless(channel)}
        if not sensed:
            return values
        if not self.left:
            raise StopIteration
        step = self.left.pop(0)
        if self.kept is not None and self.kept != self.standing:
            raise NotValidError(f"before request {step.request} no candidate must go or come; one does")
        self.kept = step.candidates
        self._watch(step.request)
        wanted = f"request {step.request} must sense the candidates of {record.policy}, and no other channel"
        require(step.senses.keys() == sensed, wanted)
        for channel, senses in step.senses.items():
            X, Y = record.alphabets[channel]
            least = _size(X, Y, fixed is not None, epsilon, max(alpha, LEAST), times) / X
            wanted = f"request {step.request} must sense each input of channel {channel!r} at least {least:.6g} times"
            require(min(senses) == max(senses) >= least * (1.0 - SHORT), f"{wanted}; it asks for {list(senses)}")
            W = step.counts[channel] / step.counts[channel].sum(axis=1, keepdims=True, dtype=np.float64)
            values[channel] = capacity(W, self._input_of(W)) if fixed is None else information(fixed, W)
        return values

    def keep(self, estimates: Estimates, how_many: int) -> Channels:
        """The candidates after the step, which must be so many of those with the largest estimates."""
        kept = self.best(estimates, how_many) if self.kept is None else self.kept
        least = min((estimates[channel] for channel in kept & self.standing), default=-math.inf)
        dropped = max((estimates[channel] for channel in self.standing - kept), default=-math.inf)
        if not kept <= self.standing or len(kept) != how_many or dropped > least + ACCURACY:
            raise NotValidError(
                f"{self.record.policy} must keep the {how_many} largest of {len(estimates)} estimates"
                f" after request {len(self.record.steps) - len(self.left)}; the record keeps others"
            )
        self.standing = kept
        return kept

    def best(self, estimates: Estimates, how_many: int) -> Channels:
        """Those with the largest estimates; of those equal up to `ACCURACY`, the first."""
        ranked = sorted(estimates, key=lambda channel: -round(estimates[channel] / ACCURACY))
        return frozenset(ranked[:how_many])


Choose = Callable[[_Course, Estimates, int], Channels]  # so many of those with the largest estimates


def check_paper(record: Record, watch: Watch, replay: Any) -> None:
    """Take all steps of the record; only an undecided one may end before the algorithm does."""
    course, name = _Course(record, watch, replay.input_of), record.policy
    try:
        if name == "best-chan-id":
            _best_chan_id(course)
        else:
            require(record.epsilon > 0.0, f"{name} requires an epsilon above 0; the record has {record.epsilon:g}")
            SUBROUTINES[name](course, record.epsilon * NATS, record.delta, _Course.keep)
    except StopIteration:
        early = f"{name} is not done after request {len(record.steps)}, and the record is decided"
        require(not record.stated.decided, early)
    if course.left:
        raise NotValidError(f"{name} is done before request {course.left[0].request}; the record goes on")


def _naive(course: _Course, epsilon: float, delta: float, choose: Choose) -> Channels:
    """NaiveChanSel [EBWGW24, Alg. 2], with max{N(ε, α), 2g(α)/ε} senses at α = δ/(2k) [EBWGW24, Sec. V]."""
    k = len(course.standing)
    if k == 1:
        return course.standing
    return choose(course, course.estimates(course.standing, epsilon, delta / (2.0 * k), 2.0 / epsilon), 1)


def _median(course: _Course, epsilon: float, delta: float, choose: Choose) -> Channels:
    """MedianChanEl [EBWGW24, Alg. 3], with max{N(ε_r, α), 2g(α)/ε_r²} senses at α = δ_r/3 [EBWGW24, Sec. V]."""
    candidates, epsilon_r, delta_r = course.standing, epsilon / 4.0, delta / 2.0
    while len(candidates) > 1:
        estimates = course.estimates(candidates, epsilon_r, delta_r / 3.0, 2.0 / epsilon_r / epsilon_r)
        candidates = choose(course, estimates, (len(candidates) + 1) // 2)
        epsilon_r, delta_r = 0.75 * epsilon_r, delta_r / 2.0
    return candidates


SUBROUTINES = {"naive": _naive, "median": _median}


def _best_chan_id(course: _Course) -> None:
    """BestChanID [EBWGW24, Alg. 1], with ε_r = 2^(-r)/4, δ_r = δ/(50 r³) and N(ε_r, δ_r) senses [EBWGW24, Sec. IV].

    Those whose estimate is below that of j_r by more than ε_r go, and no other.
    """
    record, r = course.record, 0
    name = record.stated.audit.options.get("subroutine", "")
    require(name in ("naive", "median"), f"the subroutine must be naive or median; it is {name!r}")
    while len(course.standing) > 1 and not all(map(record.worthless, course.standing)):
        r += 1
        epsilon_r, delta_r = 0.25 * 0.5**r, max(record.delta / (50.0 * r**3), LEAST)
        estimates = course.estimates(course.standing, epsilon_r, delta_r, 0.0)
        j_r = min(SUBROUTINES[name](course, epsilon_r / 2.0, delta_r, _Course.best), key=list(estimates).index)
        kept = course.kept or frozenset()
        for channel in course.standing:
            below = estimates[j_r] - epsilon_r - estimates[channel]
            if (below if channel in kept else -below) > ACCURACY:
                stays = "stays" if channel in kept else "goes"
                raise NotValidError(f"channel {channel!r} {stays} in round {r} of best-chan-id, against its estimate")
        course.standing &= kept
    wanted = f"the record holds {r} rounds of best-chan-id; it says {record.stated.rounds}"
    require(not record.stated.decided or record.stated.rounds == r, wanted)


def _size(X: int, Y: int, fixed: bool, epsilon: float, alpha: float, times: float) -> float:
    """max{N(ε, α), times g(α)} for X inputs and Y outputs."""
    g = 2.0 * (3.0 * X + 2.0) ** 2 * math.log(4.0 / alpha) if fixed else 4.0 * X * Y * math.log(X / alpha)
    ratio = 4.0 * g / epsilon / epsilon
    t = (Y * math.e**2 / (X * math.log(X / alpha))) ** 0.2
    return max(15.0 * 25.0 / 4.0 * ratio * math.log(6.25 * t * ratio) ** 2, times * g)


def capacity(W: Floats, P: Floats) -> float:
    """The capacity of rows W, as P shows it: I(P; W) <= C(W) <= max_x D(W_x‖PW) for every P [Bla72, Ari72, Csi72]."""
    low, high = information(P, W), float(divergences(W, P @ W).max())
    require(high - low < 0.1 * ACCURACY, "no input distribution was found at which a capacity is close enough")
    return low


def divergences(W: Floats, Q: Floats) -> Floats:
    """D(W_x‖Q) for every row."""
    positive = W > 0.0
    return (W * np.log(np.where(positive, W, 1.0) / np.where(positive, Q, 1.0))).sum(axis=1)


def information(P: Floats, W: Floats) -> float:
    """I(P; W) = sum_x P_x D(W_x‖PW)."""
    used = P > 0.0
    return max(float(P[used] @ divergences(W[used], P[used] @ W[used])), 0.0)
