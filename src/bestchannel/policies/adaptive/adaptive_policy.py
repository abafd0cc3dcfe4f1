"""Adaptive: a leader, evidence against every rival, and senses where they are still needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import msgspec
import numpy as np

from bestchannel.arrays import Floats, number_in
from bestchannel.channels.channel import Cost, sense_costs, total_cost
from bestchannel.errors import InputError
from bestchannel.evidence.bets import covers_of, evidence_against, loss_of
from bestchannel.information import NATS_PER_BIT
from bestchannel.native.evidence import Cover
from bestchannel.policies.adaptive.above import AboveScript
from bestchannel.policies.adaptive.bets import Bets, chosen_bets, prudent
from bestchannel.policies.adaptive.claims import FIRST_SHARE, HOPELESS, QuestionScript, WagersMade
from bestchannel.policies.adaptive.nearly import NearlyScript
from bestchannel.policies.adaptive.sampling import RULES, Rule, SensesNeeded, Situation, in_cost, whole, within_reach
from bestchannel.policies.adaptive.state import NOTHING, Missing, PastBets, State, View, nearest_to_best, view_of
from bestchannel.policies.adaptive.within import WithinScript
from bestchannel.policies.adaptive.worlds import WorldsScript
from bestchannel.policies.policy import Counts, Policy, Script, Senses, TooManySensesError, checked_alphabets
from bestchannel.policies.request import MOST_SENSES, Supply
from bestchannel.questions import (
    Above,
    AnyQuestion,
    Best,
    Findings,
    NearlyBest,
    Order,
    Question,
    Supposed,
    Top,
    Within,
    question_of,
)

T = TypeVar("T")

FIRST_SENSES = 6
"""Of every input, before anything is compared."""

BETTING_FROM = 0.4
"""Estimated nats of evidence from which on a rival is bet against; what was sensed before is learned from."""

MARGIN = 1.0
"""Nats that are planned for beyond the threshold."""

BATCH = 0.12
"""The share of the senses still needed that one request asks for."""

SMALLEST_GROWTH, LARGEST_GROWTH = 0.02, 0.5
"""The least that a request adds to the senses of the leader, and the most to those of any channel, relatively."""

FEWEST = 4.0
"""Senses of a channel that a request asks for, at least."""

VARIANCES = (1.0, 4.0), (0.4, 40.0)
"""Between which multiples of the variance of the leader's estimate and a rival's those that the bets show are taken."""

LOG_FIRST_SHARE, LOG_RESTART_SHARE = math.log(FIRST_SHARE), math.log(1.0 - FIRST_SHARE)
"""Of δ, what the first bets against a rival have; the i-th restart has FIRST_SHARE (1 - FIRST_SHARE)^i."""

MOST_INPUTS_WITH_SLACK = 8
"""Of a rival, up to which bets serve what can be shown with the senses left; of larger ones little of it is proved."""

LEAST_ODDS = 1.1
"""Evidence of less to 1 is not worth a word."""

THRESHOLDS = ("proved", "calibrated")

SCRIPTS: dict[type[Question], Any] = {
    Above: AboveScript,
    Top: WorldsScript,
    Order: WorldsScript,
    Within: WithinScript,
}
"""What is done to answer a question; the best is searched for by `Adaptive` itself."""


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
    question
        What is asked in place of the best: `Above(level)`, `Top(m)`, `Order()` or `Within(width)`, or its JSON.
    input_distribution
        Compare I(P;W) at this P, shape (n_inputs,), instead of capacities.
    sampling
        The rule that says where to sense: "fewest", or one to compare it with (`policies.adaptive.sampling`).
    threshold
        When to stop: "proved", or "calibrated" by normal approximations, with fewer senses and no proof.
    cost
        What a sense costs, in any unit: for each channel a number > 0, or one for each of its inputs. The policy then
        spends the least cost, not the fewest senses; the promise is the same.

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

    name, revision = "adaptive", 3
    checked_by: ClassVar[str | None] = "bestchannel.verification.adaptive_check:check_adaptive"

    state: State | None = None
    """Where the policy stands, from the answer to its first request on."""

    stakes: Bets | WagersMade | None = None

    _script_of_question: QuestionScript | None = None
    _found: Findings | None = None

    def __init__(
        self,
        alphabets: Iterable[Sequence[int]],
        *,
        delta: float,
        epsilon: float = 0.0,
        question: AnyQuestion | Mapping[str, Any] | None = None,
        input_distribution: Sequence[float] | None = None,
        sampling: str = "fewest",
        threshold: str = "proved",
        cost: Sequence[Cost] | None = None,
    ) -> None:
        epsilon = number_in(epsilon, "epsilon (the accuracy, in bits)", low=0.0, high=1e6, low_open=False)
        asked = question_of(question, epsilon)
        for what, name, names in (("sampling rule", sampling, RULES), ("threshold", threshold, THRESHOLDS)):
            if name not in names:
                raise InputError(f"the {what} must be one of {', '.join(names)}; it is {name!r}")
        self.sampling, self.threshold = sampling, threshold
        if not isinstance(asked, Best) and (sampling, threshold) != (next(iter(RULES)), THRESHOLDS[0]):
            raise InputError(f"with {asked!r} the sampling rule must be fewest and the threshold proved")
        alphabets = checked_alphabets(alphabets)
        inputs = [n_inputs for n_inputs, _ in alphabets]
        self.cost = None if cost is None else list(map(list, sense_costs(cost, range(len(inputs)), inputs)))
        self._costs = [np.ones(n) for n in inputs] if self.cost is None else _relative(self.cost)
        self._kept: dict[str, tuple[Any, ...]] = {}
        super().__init__(alphabets, delta=delta, question=asked, input_distribution=input_distribution)

    @property
    def spent_cost(self) -> float | None:
        """What the senses that the policy was told have cost; None where it was given no costs."""
        return None if self.cost is None else total_cost(self.cost, self._senses_told)

    @property
    def findings(self) -> Findings | None:
        """What is proved by now where not the best is asked for; what takes long to find, on demand."""
        script, found = self._script_of_question, self._found
        if script is None or found is None or found.decided or (near := self._once("nearly", script.nearly)) is None:
            return found
        named, nats = near
        return replace(found, nearly=tuple(named), within_bits=nats / NATS_PER_BIT)

    @findings.setter
    def findings(self, found: Findings | None) -> None:
        self._found = found

    @property
    def options(self) -> dict[str, Any]:
        """What the policy was made with beyond delta and epsilon, by the names that it takes."""
        asked = {} if isinstance(self.question, Best) else {"question": msgspec.to_builtins(self.question)}
        return {**asked, **{name: value for name, value in super().options.items() if name != "question"}}

    @property
    def guarantee(self) -> str:
        """What the answer promises, and where the proof is."""
        page = "adaptive" if isinstance(self.question, Best) else "questions"
        proved = self.threshold == "proved"
        return self._promise(f"bestchannel explain {page}" if proved else "calibrated by simulation, not proved")

    def _script(self) -> Script:
        if not isinstance(self.question, Best):
            script: Any = NearlyScript if self.epsilon else SCRIPTS[type(self.question)]
            self._script_of_question = script(self, self.question)
            return self._script_of_question.run()
        return self._search_for_the_best()

    def _search_for_the_best(self) -> Script:
        if len(self.candidates) == 1 or self._worthless.issuperset(self.candidates):
            return self.candidates[0]
        self.state = state = self._begun((yield partial(self._first_look, range(len(self.alphabets)))))
        view = self._view(state)
        state.leader = self._most_valuable(state.candidates, view)
        while True:
            self._choose_leader(state, view)
            self._rule_out(state, view)
            self._show(state)
            if not state.rivals:
                self.stakes, self.more_senses = None, 0
                return state.leader
            counts = yield partial(self._request_for, state, view, dict(state.variances))
            self._learn(state, counts)
            view = self._view(state)

    # --- the stop: everything that enters it is certified ------------------------------------

    def _threshold(self, state: State, rival: int) -> float:
        """log 1/δ, less the logarithm of the share of δ that the present bets against the rival have.

        Restarts share it geometrically; with epsilon, leader number i has 1/(i(i+1)) of it. The calibrated
        threshold is log (1 + log n)/δ after n senses, which no proof supports.
        """
        if self.threshold != "proved":
            return math.log1p(math.log(max(sum(map(state.senses, range(len(state.counts)))), 1))) - math.log(self.delta)
        return self._proved_threshold(state.bets[rival].restarts, state.leaders)

    def _proved_threshold(self, restarts: int, leaders: int) -> float:
        attempts = leaders * (leaders + 1) if self.epsilon else 1
        log_share = LOG_FIRST_SHARE + restarts * LOG_RESTART_SHARE
        return math.log(attempts) - math.log(self.delta) - log_share

    def _rule_out(self, state: State, view: View) -> None:
        """Drop the rivals against which the evidence has reached the threshold."""
        proved = self.threshold == "proved"
        thresholds = {channel: self._threshold(state, channel) for channel in state.rivals}
        evidence = self._weigh(state, view, thresholds) if proved else self._normal_evidence(state, view)
        state.candidates = tuple(
            channel
            for channel in state.candidates
            if channel == state.leader or not evidence[channel] >= thresholds[channel]
        )
        state.evidence_nats, state.threshold_nats = evidence, thresholds
        for channel in state.rivals:
            account = state.bets[channel]
            excused = state.slack * account.weights.get(state.leader, 0.0)
            if proved and account.betting and not account.estimate + excused >= HOPELESS:
                state.restart(channel)

    def _weigh(self, state: State, view: View, thresholds: dict[int, float]) -> dict[int, float]:
        """The evidence in nats against every rival: proved, whatever the leader, where it reaches the threshold."""
        evidence = dict.fromkeys(thresholds, 0.0)
        worthless = [rival for rival in thresholds if rival in self._worthless]
        for channels, look in [*view.alike, (worthless, NOTHING)]:
            rivals = [rival for rival in channels if rival in thresholds]
            weighed = evidence_against(
                [state.bets[rival] for rival in rivals],
                look.rows,
                look.inputs,
                [i for i, channel in enumerate(channels) if channel in thresholds],
                [thresholds[rival] for rival in rivals],
                self.epsilon * NATS_PER_BIT,
                self._input_is_fixed,
            )
            evidence |= zip(rivals, weighed, strict=True)
        return evidence

    @property
    def nearly_best(self) -> NearlyBest | None:
        """The candidate that is proved to be nearest to the best by now; None where nothing is proved yet."""
        state = self.state
        if self.threshold != "proved" or self._found or (state is None and self.recommendation is None):
            return None
        if state is None:
            return NearlyBest(self.candidates[0], 0.0)
        most, missing = [math.log(min(alphabet)) for alphabet in self.alphabets], self._missing(state)
        return self._once("nearly_best", lambda: nearest_to_best(missing, most, state.candidates, state.leader))

    @property
    def supposed(self) -> Supposed | None:
        """The leader, or what its script would answer, with the least wealth of bets against what contradicts it."""
        if self.decided or self.threshold != "proved" or self.paired is not None:
            return None
        script = self._script_of_question
        found = self._once("supposed", script.supposed if script else self._supposed_best)
        return found if found and found.e_value >= LEAST_ODDS else None

    def _once(self, name: str, find: Callable[[], T]) -> T:
        """What it finds, looked for once after each answer."""
        if self._kept.get(name, (-1,))[0] != self._answered:
            self._kept[name] = self._answered, find()
        found: T = self._kept[name][1]
        return found

    def _supposed_best(self) -> Supposed | None:
        """The leader; with epsilon its bets have their share among those of all leaders."""
        if (state := self.state) is None:
            return None
        view, share = self._view(state), 1.0 / (state.leaders * (state.leaders + 1)) if self.epsilon else 1.0
        return Supposed(share * min(self._wealth(state, rival, view) for rival in state.rivals), best=state.leader)

    def _wealth(self, state: State, rival: int, view: View) -> float:
        """What all bets against a rival hold, proved, and what is kept: Σ share exp(evidence) + (1 - share)^n."""
        past = [bets.account for bets in state.abandoned if (bets.rival, bets.leaders) == (rival, state.leaders)]
        look, kept = view.of(rival), math.exp((state.bets[rival].restarts + 1) * LOG_RESTART_SHARE)
        for account in [*past, state.bets[rival]]:
            gained = self.epsilon * NATS_PER_BIT * account.weights.get(state.leader, 0.0)
            nats = account.proved_evidence(look.rows, look.inputs, self._input_is_fixed) if account.weights else 0.0
            share = LOG_FIRST_SHARE + account.restarts * LOG_RESTART_SHARE
            kept += math.exp(min(share + nats + gained, 600.0))
        return kept

    def _missing(self, state: State) -> Iterator[Missing]:
        """What all bets that were made still lack, proved, and without epsilon."""
        view, left = self._view(state), set(state.candidates)
        present = [PastBets(rival, account, state.leaders) for rival, account in state.bets.items()]
        for bets in [*state.abandoned, *present]:
            if bets.account.weights and (self.epsilon or bets.rival in left):
                look = view.of(bets.rival)
                evidence = bets.account.proved_evidence(look.rows, look.inputs, self._input_is_fixed)
                threshold = self._proved_threshold(bets.account.restarts, bets.leaders)
                yield Missing(bets.rival, threshold - evidence, bets.account.weights)
        for channel in range(len(self.alphabets)):
            if channel not in left:
                yield Missing(channel, self.epsilon * NATS_PER_BIT, {state.leader: 1.0})

    _covers_of, _loss_of = staticmethod(covers_of), staticmethod(loss_of)

    def _covers(self, rival: int, weight: float, most: float) -> Iterator[Cover]:
        """What may show, to who checks it, that the bets of this weight against a rival lost at most so many nats.

        These are nats lost on the rival's own senses.
        """
        state, script = self.state, self._script_of_question
        accounts: list[Any]
        if script is not None:
            counts, accounts = script.counts, [*script.accounts[rival].values()]
        elif state is not None:
            accounts = [*(bets.account for bets in state.abandoned if bets.rival == rival), state.bets[rival]]
            counts = state.counts
        else:
            return
        look = view_of([rival], counts, self.functional, self._costs).of(rival)
        for account in accounts:
            if account.weight == weight and account.requests:
                yield from account.covers(look.rows, look.inputs, most, self._input_is_fixed)

    def _normal_evidence(self, state: State, view: View) -> dict[int, float]:
        """½ gap²/variance against every candidate but the leader: nothing is proved by it."""
        gaps, errors = map(np.array, self._gaps(state, view))
        normal = 0.5 * (np.maximum(gaps, 0.0) / errors) ** 2
        return dict(zip(state.rivals, normal.tolist(), strict=True))

    # --- the plan: any choice is valid --------------------------------------------------------

    @property
    def _input_is_fixed(self) -> bool:
        """Whether I(P;W) at a fixed P is compared, not the capacity."""
        return self.functional.P is not None

    def _checked_senses(self, senses: Senses) -> Senses:
        for channel, wanted in senses.items():  # as at exact ties without a limit
            if sum(self._senses_told[channel]) + sum(wanted) > MOST_SENSES:
                raise TooManySensesError(f"channel {channel} has been sensed as often as 64-bit counts hold")
        return super()._checked_senses(senses)

    def _first_look(self, channels: Iterable[int], left: Supply) -> Senses | None:
        """Some senses of channels; none where so few are allowed that nothing could be learned from them."""
        look = {j: (FIRST_SENSES,) * self.alphabets[j][0] for j in channels if j not in self._worthless}
        enough = left.total is None or left.total >= sum(map(sum, look.values()))
        return left.cut(look) or None if enough else None

    def _request_for(
        self, state: State, view: View, variances: Mapping[int, tuple[float, float]], left: Supply
    ) -> Senses | None:
        """What to sense next of what is left, and the bets on it; None where no bet could be made any more.

        It may be asked again for other limits, and starts from the same `variances` and bets then: whatever was planned
        for limits that no longer hold is forgotten.
        """
        state.variances = dict(variances)
        for account in state.bets.values():
            if account.since > self._answered:
                account.since = 0
        can_be_bet_on = left.has(state.leader) and any(r in self._worthless or left.has(r) for r in state.rivals)
        senses = self._plan(state, view, left) if can_be_bet_on else {}
        self.stakes = self._bets(state, view, {channel: each for channel, each in senses.items() if all(each)})
        return senses or None

    def _begun(self, counts: Counts) -> State:
        """What the first look has shown."""
        tables = [counts.get(j, np.zeros(alphabet, dtype=np.int64)) for j, alphabet in enumerate(self.alphabets)]
        return State.of(tables, leader=0)

    def _learn(self, state: State, counts: Counts) -> None:
        """Take in the answer to a request."""
        if isinstance(self.stakes, Bets):
            self.stakes.settle(counts, state.bets)
        state.learn(counts)

    def _view(self, state: State) -> View:
        """Estimates of all that may still lead: of candidates; with epsilon, of every channel."""
        channels = range(len(state.counts)) if self.epsilon else state.candidates
        return view_of(channels, state.counts, self.functional, self._costs)

    def _show(self, state: State) -> None:
        """Let those who watch see where things stand."""
        self.leader, self.candidates = state.leader, state.candidates
        self.evidence_nats, self.threshold_nats = state.evidence_nats, state.threshold_nats

    def _most_valuable(self, channels: Iterable[int], view: View) -> int:
        """The channel of largest estimate; of equal ones, one with more letters."""
        values = view.values.tolist()
        return max(channels, key=lambda channel: (values[channel], min(self.alphabets[channel])))

    def _choose_leader(self, state: State, view: View) -> None:
        """The candidate of largest estimate; with epsilon, or as senses run out, the old one while near to it."""
        if not self.epsilon:
            best = self._most_valuable(state.candidates, view)
            if not view.values[state.leader] > view.values[best] - 0.5 * state.slack:
                state.leader = best
            return
        best = self._most_valuable(range(len(self.alphabets)), view)
        if view.values[state.leader] < view.values[best] - 0.5 * self.epsilon * NATS_PER_BIT:
            state.follow(best)  # evidence with epsilon is about one leader

    def _gaps(self, state: State, view: View) -> tuple[list[float], list[float]]:
        """By how much the leader is thought to be ahead of every rival, and the standard errors of that."""
        b, values, variances = state.leader, view.values.tolist(), view.variances.tolist()
        own, doubt, rivals = values[b] + self.epsilon * NATS_PER_BIT, variances[b], state.rivals
        return [own - values[rival] for rival in rivals], [math.sqrt(doubt + variances[rival]) for rival in rivals]

    def _plan(self, state: State, view: View, left: Supply) -> Senses:
        """What to sense next of what is left."""
        b, rivals = state.leader, state.rivals
        gaps, errors = self._gaps(state, view)
        own, theirs = float(view.leader_variances[b]), view.rival_variances.tolist()
        shown = [state.variances.get(rival, (1.0, 1.0)) for rival in rivals]
        missing = [self._threshold(state, rival) - state.evidence_nats.get(rival, 0.0) for rival in rivals]
        situation = Situation(
            gaps=np.array([max(prudent(*each), 0.7 * each[1]) for each in zip(gaps, errors, strict=True)]),
            needed=np.array([max(nats, 0.0) + MARGIN for nats in missing]),
            leader_variances=np.array([own * multiple for multiple, _ in shown]),
            rival_variances=np.array([theirs[rival] * n for rival, (_, n) in zip(rivals, shown, strict=True)]),
            leader_senses=float(state.senses(b)),
            rival_senses=np.array([float(state.senses(rival)) for rival in rivals]),
            leader_left=left.of(b),
        )
        leader, others = self._wanted_senses(state, situation, left, self._rule(state, view))
        self._begin_bets(state, gaps, errors)
        needed = {b: leader, **dict(zip(rivals, others.tolist(), strict=True))}
        return left.cut(self._senses(state, view, needed, left))

    def _begin_bets(self, state: State, gaps: Iterable[float], errors: Iterable[float]) -> None:
        """Bet from the next request on against the rivals that seem to be behind by enough errors."""
        for rival, gap, error in zip(state.rivals, gaps, errors, strict=True):
            ahead = gap + state.slack
            if not state.bets[rival].betting and ahead > 0.0 and 0.5 * (ahead / error) ** 2 >= BETTING_FROM:
                state.bets[rival].since = self._answered + 1

    def _rule(self, state: State, view: View) -> Rule:
        """The sampling rule; with costs, it shares out cost as it would senses."""
        rule = RULES[self.sampling]
        if self.cost is None:
            return rule
        prices = [1.0 if r in self._worthless else view.of(r).as_rival @ self._costs[r] for r in state.rivals]
        return in_cost(rule, float(view.of(state.leader).as_leader @ self._costs[state.leader]), np.array(prices))

    def _wanted_senses(self, state: State, now: Situation, left: Supply, rule: Rule) -> SensesNeeded:
        """What the sampling rule wants to decide; where less is left, what it wants to show that little is missed."""
        leader, rivals = rule(now)
        self.more_senses, state.slack = math.ceil(min(leader + rivals.sum(), MOST_SENSES)), 0.0
        if self.more_senses <= left.senses or self.threshold != "proved":
            return leader, rivals
        if any(self.alphabets[channel][0] > MOST_INPUTS_WITH_SLACK for channel in state.rivals):
            return leader, rivals
        weights = np.array([state.bets[rival].weights.get(state.leader, 0.0) for rival in state.rivals])
        state.slack, wanted = within_reach(rule, now, weights, left.senses)
        return wanted if left.each is None else (leader, rivals)  # a recording is to end with all its inputs at once

    def _senses(self, state: State, view: View, needed: Mapping[int, float], left: Supply) -> Senses:
        """The part of the senses needed, or left, that is asked for now: the same of every channel and input.

        Where the leader needs more than its senses may grow by, as at a near tie, far rivals do not wait for it.
        """
        b, wanted, sums = state.leader, list[tuple[list[int], Floats]](), dict[int, float]()
        for channels, look in view.alike:
            places = [i for i, channel in enumerate(channels) if channel == b or needed.get(channel, 0.0) > 0.0]
            if not places:
                continue
            own, shares = [channels[i] for i in places], look.as_rival.take(places, axis=0)
            if b in own:
                shares[own.index(b)] = look.as_leader[channels.index(b)]
            senses = left.within(own, np.array([needed[channel] for channel in own])[:, None] * shares)
            wanted.append((own, senses))
            sums |= zip(own, senses.sum(axis=1).tolist(), strict=True)
        most = {c: max(LARGEST_GROWTH * state.senses(c), FEWEST) / max(total, 1.0) for c, total in sums.items()}
        least = {c: max(SMALLEST_GROWTH * state.senses(c), FEWEST) / max(total, 1e-9) for c, total in sums.items()}
        part = min(max(BATCH, SMALLEST_GROWTH * state.senses(b) / max(sums[b], 1.0)), 1.0, most[b])
        parts = {c: max(part if c == b else min(max(part, BATCH), most[c]), least[c]) for c in sums}
        asked = dict[int, tuple[int, ...]]()
        for own, senses in wanted:
            now = left.within(own, np.array([parts[channel] for channel in own])[:, None] * senses)
            asked |= zip(own, map(whole, now.tolist()), strict=True)
        return {channel: asked[channel] for channel in needed if channel in asked}

    # --- the bets: any choice is valid --------------------------------------------------------

    def _bets(self, state: State, view: View, senses: Senses) -> Bets | None:
        """Bets against every rival that is far enough behind for them."""
        b, rivals = state.leader, state.rivals
        if self.threshold != "proved" or b not in senses:
            return None
        gaps, errors = self._gaps(state, view)
        ready = {
            rival: prudent(gap + state.slack, error)
            for rival, gap, error in zip(rivals, gaps, errors, strict=True)
            if gap + state.slack > 0.0 and state.bets[rival].betting and (rival in senses or rival in self._worthless)
        }
        epsilon = self.epsilon * NATS_PER_BIT + state.slack
        bets, variances = chosen_bets(view, senses, b, state.bets, ready, epsilon, self._input_is_fixed)
        normal, on_leader = view.rival_variances.tolist(), (sum(senses[b]), float(view.leader_variances[b]))
        for rival, (own, theirs) in variances.items():
            if rival in senses:
                state.variances[rival] = (
                    _multiple(own, *on_leader, *VARIANCES[0]),
                    _multiple(theirs, sum(senses[rival]), normal[rival], *VARIANCES[1]),
                )
        return bets


def _relative(costs: Sequence[Sequence[float]]) -> list[Floats]:
    """Costs as multiples of the least: in which unit they are given does not matter."""
    least = min(map(min, costs))
    return [np.array(each) / least for each in costs]


def _multiple(variance: float, senses: int, normal: float, least: float, most: float) -> float:
    """Of the normal variance of one sense, that which so many senses show; from the least to the most."""
    return min(max(variance * senses / normal, least), most)
