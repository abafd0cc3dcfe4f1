"""JointAdaptive: shots that all channels answer at once, whatever their answers have to do with each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.errors import InputError
from bestchannel.evidence.shot_bets import PairAccount, ShotBets, shot_bets
from bestchannel.information import NATS_PER_BIT
from bestchannel.policies.adaptive.adaptive_policy import (
    BATCH,
    FEWEST,
    FIRST_SENSES,
    LARGEST_GROWTH,
    MARGIN,
    SMALLEST_GROWTH,
    Adaptive,
)
from bestchannel.policies.adaptive.bets import prudent
from bestchannel.policies.adaptive.sampling import whole
from bestchannel.policies.adaptive.state import State, View
from bestchannel.policies.policy import Counts, Senses, checked_alphabets
from bestchannel.policies.request import MOST_SENSES, Supply, marginals

EVENLY = 0.3
"""The share of the shots that is spread evenly over the inputs: a rival's P may be at any of them."""

INDEPENDENT_SHOTS = 8.0
"""Shots of an input that a guess of independent answers counts as, beside the pairs that were told."""

LEAST_JOINT = 0.05
"""Of the product of the rows, the least that a pair of answers is thought to have."""


class Outlook(NamedTuple):
    """What the counts suggest of the leader and of rivals with outputs of one size: a plan, and nothing certified."""

    rivals: list[int]
    joint: Floats  # [r, x, y of the leader, y] rows of pairs
    inputs: Floats  # [r, x] P of the rivals
    variances: Floats  # [r, x] of a shot of x, of what it says of the difference to the leader


@dataclass(frozen=True, eq=False)
class ShotStakes:
    """What is staked on the answer to a request: bets on pairs of answers of the leader and every rival."""

    leader: int
    inputs: Floats  # P of the leader
    on_pairs: list[tuple[list[int], ShotBets]]
    since: dict[int, int]
    restarts: dict[int, int]

    def settle(self, counts: Counts, accounts: Mapping[int, PairAccount]) -> None:
        """Pay the bets that were fixed before the request; a rival that is not sensed has the one output."""
        for rivals, bets in self.on_pairs:
            for i, rival in enumerate(rivals):
                if bets.weights[i] > 0.0:
                    pairs = counts[rival] if rival in counts else counts[self.leader][:, :, None]
                    accounts[rival].settle(self.leader, bets, i, pairs)

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            "leader": names[self.leader],
            "input": self.inputs.tolist(),
            "bets": {
                names[rival]: {
                    "since": self.since[rival],
                    "restarts": self.restarts[rival],
                    "weight": float(bets.weights[i]),
                    "levels": bets.levels[i].tolist(),
                    "slopes": bets.slopes[i].tolist(),
                    "auxiliary": bets.auxiliary[i].tolist(),
                    "outputs": bets.outputs[i].tolist(),
                }
                for rivals, bets in self.on_pairs
                for i, rival in enumerate(rivals)
                if bets.weights[i] > 0.0
            },
        }


class JointAdaptive(Adaptive):
    """Names the best channel with probability at least 1 - δ, from shots that all channels answer at once.

    A shot is one input that every channel of interest answers, and what their answers have to do with each other is not
    known. `senses` of the policy and its outcome are shots. `bestchannel explain joint-trials` has the proof.

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel, with the same inputs.
    delta
        δ, the largest probability of a wrong name, in (0, 1).
    epsilon
        Within how many bits of the best the named channel may be, at least 0.

    Raises
    ------
    InputError
        Where the channels do not have the same number of inputs, or an alphabet or an option is refused.

    Examples
    --------
    >>> policy = JointAdaptive([(2, 2), (2, 3)], delta=0.05)
    >>> print(policy.ask())
    request 1: shots of 6, 6 by channel 0, 1, paired with channel 0
    """

    name, revision = "joint", 1
    checked_by = None

    def __init__(self, alphabets: Iterable[Sequence[int]], *, delta: float, epsilon: float = 0.0) -> None:
        alphabets = checked_alphabets(alphabets)
        self._answering = [j for j, alphabet in enumerate(alphabets) if min(alphabet) > 1]
        inputs = {j: alphabets[j][0] for j in self._answering}
        if len(set(inputs.values())) > 1:
            first, other = min(inputs, key=inputs.__getitem__), max(inputs, key=inputs.__getitem__)
            raise InputError(
                f"channels that answer the same shots must have the same inputs; channel {first} has {inputs[first]} of"
                f" them and channel {other} has {inputs[other]}; the policy adaptive senses one channel at a time"
            )
        self._pairs = dict[tuple[int, int], Integers]()  # of a leader and a rival, as far as they were told
        super().__init__(alphabets, delta=delta, epsilon=epsilon)

    @property
    def guarantee(self) -> str:
        """What the answer promises, and where the proof is."""
        return self._promise("bestchannel explain joint-trials")

    def _begun(self, counts: Counts) -> State:
        self._remember(counts)
        state = super()._begun(marginals(counts))
        state.open_accounts(PairAccount)
        return state

    def _learn(self, state: State, counts: Counts) -> None:
        if isinstance(self.stakes, ShotStakes):
            self.stakes.settle(counts, state.bets)
        self._remember(counts)
        state.learn(marginals(counts))

    def _remember(self, counts: Counts) -> None:
        assert self.paired is not None  # what was told was asked for
        for rival, table in counts.items():
            if rival != self.paired:
                self._pairs[self.paired, rival] = self._pairs.get((self.paired, rival), 0) + table

    def _weigh(self, state: State, view: View, thresholds: dict[int, float]) -> dict[int, float]:
        epsilon = self.epsilon * NATS_PER_BIT
        return {
            rival: state.bets[rival].evidence(*view.of(rival)[:2], epsilon, threshold)
            for rival, threshold in thresholds.items()
        }

    # --- the plan and the bets: any choice is valid ---------------------------------------------

    def _first_look(self, channels: Iterable[int], left: Supply) -> Senses | None:
        self.paired = self._answering[0]
        shots = (FIRST_SENSES,) * self.alphabets[self.paired][0]
        enough = left.total is None or left.total >= sum(shots)
        return self._cut(self._answering, shots, left) or None if enough else None

    def _cut(self, channels: Sequence[int], shots: tuple[int, ...], left: Supply) -> Senses:
        """The same shots for these channels, as far as there are as many."""
        cut = left.of_shots(channels).cut({0: shots})
        return dict.fromkeys(channels, cut[0]) if cut else {}

    def _outlooks(self, state: State, view: View) -> Iterator[Outlook]:
        """What is known of the rivals, those of one size together."""
        b, n = view.of(state.leader), self.alphabets[state.leader][0]
        for channels, look in view.alike:
            places = [i for i, channel in enumerate(channels) if channel in state.rivals]
            if places:
                rivals = [channels[i] for i in places]
                none = np.zeros((*b.rows.shape, look.rows.shape[2]), dtype=np.int64)
                told = np.array([self._pairs.get((state.leader, rival), none) for rival in rivals])
                yield _outlook(rivals, b.rows, b.inputs, look.rows.take(places, 0), look.inputs.take(places, 0), told)
        worthless = [rival for rival in state.rivals if rival in self._worthless]
        if worthless:
            size = len(worthless), n
            alone = np.zeros((*size, b.rows.shape[1], 1))
            yield _outlook(worthless, b.rows, b.inputs, np.ones((*size, 1)), np.full(size, 1.0 / n), alone)

    def _gaps(self, state: State, view: View) -> tuple[list[float], list[float]]:
        """By how much the leader is thought to be ahead of every rival, and the standard errors of pairs."""
        shots = state.counts[state.leader].sum(axis=1)
        errors = {
            rival: error
            for look in self._outlooks(state, view)
            for rival, error in zip(look.rivals, np.sqrt((look.variances / shots).sum(axis=1)).tolist(), strict=True)
        }
        return super()._gaps(state, view)[0], [errors[rival] for rival in state.rivals]

    def _plan(self, state: State, view: View, left: Supply) -> Senses:
        """The part of the shots still needed that is asked for now, spread over the inputs for the hardest rival."""
        self.paired, rivals = state.leader, state.rivals
        gaps, errors = self._gaps(state, view)
        self._begin_bets(state, gaps, errors)
        missing = [self._threshold(state, rival) - state.evidence_nats.get(rival, 0.0) for rival in rivals]
        safe = np.maximum(list(map(prudent, gaps, errors)), 0.7 * np.array(errors))
        factors = dict(zip(rivals, 2.0 * (np.maximum(missing, 0.0) + MARGIN) / safe**2, strict=True))
        needed, shares = max(
            (float(factors[rival] * (variances / _shares(variances)).sum()), _shares(variances).tolist())
            for look in self._outlooks(state, view)
            for rival, variances in zip(look.rivals, look.variances, strict=True)
        )
        self.more_senses = math.ceil(min(needed, MOST_SENSES))
        senses = state.senses(state.leader)
        often = min(max(BATCH * needed, SMALLEST_GROWTH * senses, FEWEST), LARGEST_GROWTH * senses)
        shots = whole([often * share for share in shares])
        return self._cut([c for c in state.candidates if c in self._answering], shots, left)

    def _bets(self, state: State, view: View, senses: Mapping[int, Sequence[float]]) -> Any:
        """Bets against every rival that is far enough behind for them."""
        if state.leader not in senses:
            return None
        shots, b = np.array(senses[state.leader], dtype=np.float64), view.of(state.leader)
        safe = dict(zip(state.rivals, map(prudent, *self._gaps(state, view)), strict=True))
        made = []
        for look in self._outlooks(state, view):
            ready = [i for i, r in enumerate(look.rivals) if safe[r] > 0.0 and state.bets[r].betting]
            if ready:
                rivals = [look.rivals[i] for i in ready]
                weights = np.array([safe[r] for r in rivals]) / (look.variances[ready] / shots).sum(axis=1)
                made.append((rivals, shot_bets(look.joint[ready], b.inputs, look.inputs[ready], shots, weights)))
        accounts = {rival: state.bets[rival] for rivals, _ in made for rival in rivals}
        since = {rival: account.since for rival, account in accounts.items()}
        restarts = {rival: account.restarts for rival, account in accounts.items()}
        return ShotStakes(state.leader, b.inputs, made, since, restarts)


def _outlook(rivals: list[int], V: Floats, P_b: Floats, W: Floats, P_a: Floats, told: Floats) -> Outlook:
    """The rows of pairs have those of both channels; what they say of dependence is that of the pairs told."""
    product = V[None, :, :, None] * W[:, :, None, :]
    shots = told.sum(axis=(2, 3), keepdims=True)
    seen = told / np.maximum(shots, 1.0)
    lean = seen - seen.sum(axis=3, keepdims=True) * seen.sum(axis=2, keepdims=True)
    J = np.maximum(product + shots / (shots + INDEPENDENT_SHOTS) * lean, LEAST_JOINT * product)
    J /= J.sum(axis=(2, 3), keepdims=True)
    own = P_b[:, None] * np.log(V / (P_b @ V))
    theirs = P_a[..., None] * np.log(W / np.einsum("rx,rxy->ry", P_a, W)[:, None])
    scores = own[None, :, :, None] - theirs[:, :, None, :]
    variances = (J * scores**2).sum(axis=(2, 3)) - (J * scores).sum(axis=(2, 3)) ** 2
    return Outlook(rivals, J, P_a, np.maximum(variances, 1e-12))


def _shares(variances: Floats) -> Floats:
    """Of the shots of each input: most as the variance of the difference is least with, a part evenly."""
    deviations = np.sqrt(variances)
    shares: Floats = (1.0 - EVENLY) * deviations / deviations.sum() + EVENLY / len(deviations)
    return shares
