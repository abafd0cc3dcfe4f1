"""Adaptive: a leader, evidence against every rival, and senses where they are still needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from bestchannel.arrays import Floats, number_in
from bestchannel.errors import InputError
from bestchannel.evidence.binary_rival import ANY_INPUT, likelihood_evidence
from bestchannel.evidence.leader_bets import leader_bets, leader_curve
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals import InformationAt
from bestchannel.policies.adaptive.bet_sizes import HORIZON, Pairing, likelihood_bets, plug_in_bets
from bestchannel.policies.adaptive.sampling import RULES, Situation, spread_over_inputs
from bestchannel.policies.adaptive.stakes import Bets, Evidence
from bestchannel.policies.adaptive.state import State
from bestchannel.policies.adaptive.view import View, view_of
from bestchannel.policies.policy import Counts, Policy, Script, Senses, TooManySensesError
from bestchannel.policies.request import MOST_SENSES

FIRST_SENSES = 6
"""Of every input, before anything is compared."""

BETTING_FROM = 1.2
"""Estimated nats of evidence from which on a rival is bet against; what was sensed before is learned from."""

CAUTION = 0.25
"""Standard errors by which a gap is thought smaller than estimated."""

MARGIN = 1.0
"""Nats that are planned for beyond the threshold."""

BATCH = 0.12
"""The share of the senses still needed that one request asks for."""

SMALLEST_GROWTH, LARGEST_GROWTH = 0.04, 0.5
"""The least and the most that a request adds to the senses of a channel, relative to those it has."""

EVENLY_ON_LEADER, EVENLY_ON_RIVAL = 0.1, 0.2
"""The share of a channel's senses that is spread evenly over its inputs."""

HOPELESS = -4.0
"""Nats of evidence below which the bets against a rival start anew."""

FIRST_SHARE = 0.9
"""The share of δ that the first bets against a rival have; the i-th restart has FIRST_SHARE (1 - FIRST_SHARE)^i."""

THRESHOLDS = ("proved", "calibrated")

Sizes = dict[int, tuple[float, float]]
"""θ and weight of the bets against rivals."""

Gaps = dict[int, float]
"""By how much, cautiously, the leader is ahead of rivals."""


class Adaptive(Policy):
    """Names the best channel with probability at least 1 - δ, at a cost near the least possible.

    Bets against every rival are fixed before each request; a rival is ruled out once they have multiplied their stake
    by 1/δ. `bestchannel explain adaptive` has the theorem and its proof.

    Parameters
    ----------
    alphabets
        (n_inputs, n_outputs) of each channel.
    delta
        δ, the largest probability of a wrong name, in (0, 1).
    epsilon
        Within how many bits of the best the named channel may be, at least 0.
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities.
    sampling
        The rule that says where to sense: "fewest", or one to compare it with (`policies.adaptive.sampling`).
    threshold
        When to stop: "proved", or "calibrated" by normal approximations, with fewer senses and no proof.

    Raises
    ------
    InputError
        Where an alphabet or an option is refused.

    Examples
    --------
    >>> policy = Adaptive([(2, 2), (2, 2)], delta=0.05)
    >>> print(policy.ask())
    request 1: channel 0: 6, 6; channel 1: 6, 6
    """

    name = "adaptive"

    state: State | None = None
    """Where the policy stands, from the answer to its first request on."""

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        epsilon: float = 0.0,
        input_distribution: Sequence[float] | None = None,
        sampling: str = "fewest",
        threshold: str = "proved",
    ) -> None:
        epsilon = number_in(epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=1e6, low_open=False)
        for what, name, names in (("sampling rule", sampling, RULES), ("threshold", threshold, THRESHOLDS)):
            if name not in names:
                raise InputError(f"the {what} must be one of {', '.join(names)}; it is {name!r}")
        self.sampling, self.threshold = sampling, threshold
        super().__init__(alphabets, delta=delta, epsilon=epsilon, input_distribution=input_distribution)

    @property
    def guarantee(self) -> str:
        """What the recommendation promises, and where the proof is."""
        proved = self.threshold == "proved"
        return self._promise("bestchannel explain adaptive" if proved else "calibrated by simulation, not proved")

    def _script(self) -> Script:
        if len(self.candidates) == 1 or self._worthless(self.candidates):
            return self.candidates[0]
        self.state = state = self._begun((yield self._first_look()))
        while True:
            view = view_of(state.counts, self.functional)
            self._choose_leader(state, view)
            self._rule_out(state, view)
            self._show(state)
            if not state.rivals:
                self.stakes, self.more_senses = None, 0
                return state.leader
            senses = self._plan(state, view)
            self.stakes = bets = self._bets(state, view, senses)
            counts = yield self._fits(state, senses)
            if bets is not None:
                bets.settle({channel: table.astype(np.float64) for channel, table in counts.items()}, state.bets)
            state.learn(counts)

    # --- the stop: everything that enters it is certified ------------------------------------

    def _threshold(self, state: State, rival: int) -> float:
        """log 1/δ, less the logarithm of the share of δ that the present bets against the rival have.

        Restarts share it geometrically; with epsilon, leader number i has 1/(i(i+1)) of it. The calibrated
        threshold is log (1 + log n)/δ after n senses, which no proof supports.
        """
        if self.threshold != "proved":
            return math.log1p(math.log(max(sum(map(state.senses, range(len(state.counts)))), 1))) - math.log(self.delta)
        attempts = state.leaders * (state.leaders + 1) if self.epsilon else 1
        restarts = state.bets[rival].restarts
        log_share = math.log(FIRST_SHARE) + restarts * math.log(1.0 - FIRST_SHARE)
        return math.log(attempts) - math.log(self.delta) - log_share

    def _rule_out(self, state: State, view: View) -> None:
        """Drop the rivals against which the evidence has reached the threshold."""
        evidence = self._weigh(state) if self.threshold == "proved" else self._normal_evidence(state, view)
        thresholds = {channel: self._threshold(state, channel) for channel in evidence}
        state.candidates = tuple(
            channel
            for channel in state.candidates
            if channel == state.leader or not evidence[channel] >= thresholds[channel]
        )
        state.evidence_nats, state.threshold_nats = evidence, thresholds
        if self.threshold != "proved":
            return
        for channel, nats in evidence.items():
            if not nats >= HOPELESS:
                restarts = state.bets[channel].restarts + 1
                state.bets[channel] = Evidence(np.zeros(self.alphabets[channel]), restarts)

    def _weigh(self, state: State) -> dict[int, float]:
        """The evidence in nats against every candidate but the leader: from below, whatever the leader."""
        rivals = state.rivals
        epsilon = self.epsilon * NATS_PER_BIT
        found = {c: state.bets[c].paid + state.bets[c].weight * epsilon for c in rivals}
        bet = [c for c in rivals if state.bets[c].weight > 0.0]
        likely = [c for c in bet if self._by_likelihood(c)]
        for size in {self.alphabets[c] for c in bet if state.bets[c].total > 0.0}:
            channels = [c for c in bet if self.alphabets[c] == size and state.bets[c].total > 0.0]
            stack = np.stack([state.bets[c].counts / state.bets[c].total for c in channels])
            for channel, value in zip(channels, self.functional.values(stack), strict=True):
                found[channel] -= state.bets[channel].total * value.upper * NATS_PER_BIT
        if likely:
            counts = np.stack([state.counts[c] for c in likely]).astype(np.float64)
            starts = np.stack([start for c in likely if (start := state.bets[c].start) is not None])
            weights = np.array([state.bets[c].weight for c in likely])
            for channel, nats in zip(
                likely, likelihood_evidence(counts, starts, weights, self._fixed_input()).tolist(), strict=True
            ):
                found[channel] += nats
        return found

    def _normal_evidence(self, state: State, view: View) -> dict[int, float]:
        """½ gap²/variance against every candidate but the leader: nothing is proved by it."""
        gaps, errors = self._gaps(state, view)
        normal = 0.5 * (np.maximum(gaps, 0.0) / errors) ** 2
        return dict(zip(state.rivals, normal.tolist(), strict=True))

    # --- the plan: any choice is valid --------------------------------------------------------

    def _by_likelihood(self, channel: int) -> bool:
        """Whether the rival's own part of the evidence is the likelihood of its rows."""
        return self.alphabets[channel] == (2, 2)

    def _fixed_input(self) -> float:
        return self.functional.P[1] if isinstance(self.functional, InformationAt) else ANY_INPUT

    def _first_look(self) -> Senses:
        return {j: (FIRST_SENSES,) * n for j, (n, m) in enumerate(self.alphabets) if min(n, m) > 1}

    def _begun(self, counts: Counts) -> State:
        """What the first look has shown."""
        tables = [counts.get(j, np.zeros(alphabet, dtype=np.int64)) for j, alphabet in enumerate(self.alphabets)]
        return State.of(tables, self._most_valuable(range(len(tables)), view_of(tables, self.functional)))

    def _show(self, state: State) -> None:
        """Let those who watch see where things stand."""
        self.leader, self.candidates = state.leader, state.candidates
        self.evidence_nats, self.threshold_nats = state.evidence_nats, state.threshold_nats

    def _most_valuable(self, channels: Iterable[int], view: View) -> int:
        """The channel of largest estimate; of equal ones, one with more letters."""
        return max(channels, key=lambda channel: (view.values[channel], min(self.alphabets[channel])))

    def _fits(self, state: State, senses: Senses) -> Senses:
        """The senses, unless 64 bits would not hold the counts, as at exact ties without a limit."""
        for channel, wanted in senses.items():
            if int(state.counts[channel].sum()) + sum(wanted) > MOST_SENSES:
                raise TooManySensesError(f"channel {channel} has been sensed as often as 64-bit counts hold")
        return senses

    def _choose_leader(self, state: State, view: View) -> None:
        """The candidate of largest estimate; with epsilon, the old leader while it is nearly that."""
        if not self.epsilon:
            state.leader = self._most_valuable(state.candidates, view)
            return
        best = self._most_valuable(range(len(self.alphabets)), view)
        if view.values[state.leader] < view.values[best] - 0.5 * self.epsilon * NATS_PER_BIT:
            state.follow(best)  # evidence with epsilon is about one leader

    def _gaps(self, state: State, view: View) -> tuple[Floats, Floats]:
        """By how much the leader is thought to be ahead of every rival, and the standard errors of that."""
        b, rivals = state.leader, state.rivals
        gaps = view.values[b] + self.epsilon * NATS_PER_BIT - view.values[rivals]
        return gaps, np.sqrt(view.variances[b] + view.variances[rivals])

    def _plan(self, state: State, view: View) -> Senses:
        """What to sense next."""
        b, rivals = state.leader, state.rivals
        gaps, errors = self._gaps(state, view)
        for rival, gap, error in zip(rivals, gaps, errors, strict=True):
            if not state.bets[rival].betting and gap > 0.0 and 0.5 * (gap / error) ** 2 >= BETTING_FROM:
                state.bets[rival].begin(state.counts[rival], self._answered + 1)
        needed = np.array([self._threshold(state, rival) - state.evidence_nats.get(rival, 0.0) for rival in rivals])
        own, theirs = np.array([self._unit_variances(state, view, rival) for rival in rivals]).T
        wanted = RULES[self.sampling](
            Situation(
                gaps=np.maximum(gaps - CAUTION * errors, 0.7 * errors),
                needed=np.maximum(needed, 0.0) + MARGIN,
                leader_variances=own,
                rival_variances=theirs,
                leader_senses=float(state.counts[b].sum()),
                rival_senses=np.array([self._senses_that_count(state, rival) for rival in rivals]),
            )
        )
        self.more_senses = math.ceil(wanted[0] + wanted[1].sum())
        return self._senses(state, view, wanted[0], dict(zip(rivals, wanted[1].tolist(), strict=True)))

    def _senses_that_count(self, state: State, rival: int) -> float:
        """Of the rival, since its bets began."""
        start = state.bets[rival].start
        return float(state.counts[rival].sum() - (0.0 if start is None else start.sum()))

    def _unit_variances(self, state: State, view: View, rival: int) -> tuple[float, float]:
        """Of the leader's value and of the rival's, of one sense: as far as the bets tell them apart."""
        own = view.unit_variance(state.leader)
        if min(self.alphabets[rival]) == 1:
            return own, 0.0
        if not self._by_likelihood(rival):
            value = max(view.values[state.leader], 1e-3)
            return own, self.functional.spread() * value * self.alphabets[rival][0]
        seen, theirs = state.variances.get(rival, (own, view.unit_variance(rival)))
        return min(max(seen, 0.4 * own), 2.5 * own), max(theirs, 1e-4)

    def _senses(self, state: State, view: View, leader_senses: float, rival_senses: dict[int, float]) -> Senses:
        b = state.leader
        senses: Senses = {b: spread_over_inputs(self._batch(state, b, leader_senses), view.shares(b), EVENLY_ON_LEADER)}
        for rival, wanted in rival_senses.items():
            n_inputs = self.alphabets[rival][0]
            if wanted == 0.0 or min(self.alphabets[rival]) == 1:
                continue
            batch = self._batch(state, rival, wanted)
            if self._by_likelihood(rival):
                senses[rival] = spread_over_inputs(batch, view.shares(rival), EVENLY_ON_RIVAL)
            else:
                senses[rival] = (max(1, round(batch / n_inputs)),) * n_inputs
        return senses

    def _batch(self, state: State, channel: int, wanted: float) -> float:
        have = float(state.counts[channel].sum())
        least, most = max(SMALLEST_GROWTH * have, 4.0), max(LARGEST_GROWTH * have, 8.0)
        return min(max(BATCH * wanted, least), most)

    # --- the bets: any choice is valid --------------------------------------------------------

    def _bets(self, state: State, view: View, senses: Senses) -> Bets | None:
        """Bets against every rival that is far enough behind for them."""
        b = state.leader
        if self.threshold != "proved":
            return None
        gaps, errors = self._gaps(state, view)
        safe = dict(zip(state.rivals, gaps - CAUTION * errors, strict=True))
        ready = [rival for rival, gap in safe.items() if gap > 0.0 and state.bets[rival].betting]
        binary, others = ([r for r in ready if self._by_likelihood(r) is kind] for kind in (True, False))
        chosen = self._likelihood_bets(state, binary, safe, view, senses) | self._plug_in_bets(
            state, others, safe, view, senses
        )
        rivals = [rival for rival, (_, weight) in chosen.items() if weight > 0.0]
        thetas, weights = (np.array([chosen[rival][i] for rival in rivals]) for i in (0, 1))
        return Bets(
            leader=b,
            inputs=view.inputs[b],
            rivals=rivals,
            weights=weights,
            thetas=thetas,
            on_leader=leader_bets(view.rows[b], view.inputs[b], np.array(senses[b], dtype=np.float64), weights),
            since=[state.bets[rival].since for rival in rivals],
            restarts=[state.bets[rival].restarts for rival in rivals],
        )

    def _likelihood_bets(self, state: State, rivals: list[int], safe: Gaps, view: View, senses: Senses) -> Sizes:
        if not rivals:
            return {}
        pairing = self._pairing(state, rivals, safe, view, senses)
        curve = leader_curve(pairing.rows, pairing.inputs, pairing.senses)
        so_far = np.array([state.bets[rival].weight for rival in rivals])
        future = np.stack([self._expected(state, view, rival, senses.get(rival, (0, 0))) for rival in rivals])
        balance = likelihood_bets(pairing, curve, self.epsilon * NATS_PER_BIT, future, so_far, self._fixed_input())
        pairs = zip(balance.leader_variances.tolist(), balance.rival_variances.tolist(), strict=True)
        state.variances.update(zip(rivals, pairs, strict=True))
        return {rival: (0.0, weight) for rival, weight in zip(rivals, balance.weights.tolist(), strict=True)}

    def _plug_in_bets(self, state: State, rivals: list[int], safe: Gaps, view: View, senses: Senses) -> Sizes:
        if not rivals:
            return {}
        rounds = np.array([self._rounds(state, rival, senses) for rival in rivals], dtype=np.float64)
        thetas, weights = plug_in_bets(
            self._pairing(state, rivals, safe, view, senses),
            self.epsilon * NATS_PER_BIT,
            view.deviations[state.leader],
            rounds,
            self.functional.spread(),
        )
        return dict(zip(rivals, zip(thetas.tolist(), weights.tolist(), strict=True), strict=True))

    def _pairing(self, state: State, rivals: list[int], safe: Gaps, view: View, senses: Senses) -> Pairing:
        b = state.leader
        return Pairing(
            rows=view.rows[b],
            inputs=view.inputs[b],
            senses=np.array(senses[b], dtype=np.float64),
            value=view.values[b] + self.epsilon * NATS_PER_BIT,
            values=view.values[rivals],
            safe_gaps=np.array([safe[rival] for rival in rivals]),
        )

    def _rounds(self, state: State, rival: int, senses: Senses) -> int:
        """Senses of each input of the rival; the leader's stand in where its value is 0 by its alphabet."""
        if min(self.alphabets[rival]) == 1:
            return sum(senses[state.leader])
        return senses[rival][0] if rival in senses else 0

    def _expected(self, state: State, view: View, rival: int, senses: tuple[int, ...]) -> Floats:
        """The rival's counts since its bets began, some requests from now."""
        start = state.bets[rival].start
        assert start is not None
        W = view.rows[rival]
        total = (state.counts[rival] - start).sum(axis=1) + HORIZON * np.array(senses)
        return total[:, None] * W
