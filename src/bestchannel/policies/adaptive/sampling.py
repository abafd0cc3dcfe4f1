"""Sampling rules: which channels to sense next, and how often. Any rule is valid; they differ in what they cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.native.evidence import fewest_senses


class Situation(NamedTuple):
    """What a rule goes by: a leader and its rivals, in nats.

    After n senses of the leader and n_a of a rival, evidence grows to about gap² / (2 (v/n + v_a/n_a)), with the
    variances v[a] of the leader's value and v_a[a] of the rival's, both for a single sense.
    """

    gaps: Floats  # [rival] by which the leader is thought to be ahead, cautiously
    needed: Floats  # [rival] evidence that is still missing
    leader_variances: Floats  # [rival]
    rival_variances: Floats  # [rival]
    leader_senses: float  # so far
    rival_senses: Floats  # [rival] so far, as far as they count as evidence
    leader_left: float = math.inf  # that can still be had of the leader

    def with_slack(self, slack: float, weights: Floats) -> Situation:
        """The same where a rival need only be shown to be better by no more than so many nats.

        Bets of the weights [rival] that were made before have gained by it too.
        """
        needed = np.maximum(self.needed - slack * weights, 0.0)
        return self._replace(gaps=self.gaps + slack, needed=np.maximum(needed, LEAST_NEEDED))


SensesNeeded = tuple[float, Floats]
"""Senses still needed: of the leader, and of every rival. What is 0 is left out of the next request."""

Rule = Callable[[Situation], SensesNeeded]


GRID = 1.0 + np.geomspace(0.02, 50.0, 60)  # senses of the leader that are tried, relative to the fewest possible
LEAST_NEEDED = 0.1  # nats of evidence that are planned for in any case

SLACKS = np.geomspace(1e-4, 4.0, 64)
"""Nats by which the best may be missed, of which the least is looked for that so many senses can show."""

OUT_OF_REACH = 1e-4
"""The part of the evidence that a rival is to bring alone where the leader cannot: more senses than there are."""


def fewest(now: Situation) -> SensesNeeded:
    """The fewest further senses after which every rival should be ruled out.

    Given n senses of the leader, each n_a follows; the best n is looked for on a grid. Where too few are left of the
    leader, as many of the rivals as there are.
    """
    return fewest_senses(
        now.gaps, now.needed, now.leader_variances, now.rival_variances, GRID, now.leader_left, OUT_OF_REACH
    )


def in_cost(rule: Rule, leader_price: float, rival_prices: Floats) -> Rule:
    """The rule where senses have prices: it shares out what they cost; v of a sense is v·price of a unit of cost."""

    def priced(now: Situation) -> SensesNeeded:
        leader, rivals = rule(
            now._replace(
                leader_variances=now.leader_variances * leader_price,
                rival_variances=now.rival_variances * rival_prices,
                leader_senses=now.leader_senses * leader_price,
                rival_senses=now.rival_senses * rival_prices,
                leader_left=now.leader_left * leader_price,
            )
        )
        return leader / leader_price, rivals / rival_prices

    return priced


def within_reach(rule: Rule, now: Situation, weights: Floats, left: float) -> tuple[float, SensesNeeded]:
    """The least slack for which what is left should be enough, and the senses needed for it; 0 where it is enough."""
    wanted = rule(now)
    if wanted[0] + wanted[1].sum() <= left:
        return 0.0, wanted

    def enough(slack: float) -> bool:
        leader, rivals = rule(now.with_slack(slack, weights))
        return bool(leader + rivals.sum() <= left)

    slack = least_slack(enough)
    return slack, rule(now.with_slack(slack, weights))


def least_slack(enough: Callable[[float], bool]) -> float:
    """The least of `SLACKS` for which so many senses are enough; the largest one where none is."""
    return float(SLACKS[bisect_left(SLACKS, True, hi=len(SLACKS) - 1, key=enough)])


def whole(senses: Iterable[float]) -> tuple[int, ...]:
    """Rounded, at least one of each input."""
    return tuple([max(round(n), 1) for n in senses])


def uniform(now: Situation) -> SensesNeeded:
    """As many senses of every channel that is left, until the hardest rival is ruled out."""
    each = 2.0 * now.needed * (now.leader_variances + now.rival_variances) / now.gaps**2
    most = float(each.max())
    return most, np.full(len(each), most)


def lucb(now: Situation) -> SensesNeeded:
    """The leader and the rival that may still be the best, as many senses of each [KTAS12]."""
    return _two(now, int(np.argmin(now.gaps)), 0.5)


def top_two(now: Situation) -> SensesNeeded:
    """The leader and the rival against which most evidence is missing, where it informs most [YQWY23]."""
    challenger = int(np.argmax(now.needed))
    own, theirs = np.sqrt(now.leader_variances[challenger]), np.sqrt(now.rival_variances[challenger])
    return _two(now, challenger, min(float(own / (own + theirs)), 0.99))


def track_and_stop(now: Situation) -> SensesNeeded:
    """Whoever is furthest behind its share of the fewest senses from the beginning, with some of everyone [GK16]."""
    total = now.leader_senses + now.rival_senses.sum()
    leader, rivals = fewest(
        Situation(now.gaps, np.ones_like(now.gaps), now.leader_variances, now.rival_variances, 0.0, now.rival_senses)
    )
    scale = 1.1 * total / (leader + rivals.sum())
    forced = np.sqrt(total / (1.0 + len(rivals)))
    behind = np.maximum(np.maximum(scale * rivals, forced) - now.rival_senses, 0.0)
    return max(scale * leader - now.leader_senses, 1.0), behind


def _two(now: Situation, challenger: int, leaders_share: float) -> SensesNeeded:
    """All senses to the leader and one rival, until that rival is ruled out."""
    own = now.leader_variances[challenger] / leaders_share
    theirs = now.rival_variances[challenger] / (1.0 - leaders_share)
    total = float(2.0 * now.needed[challenger] * (own + theirs) / now.gaps[challenger] ** 2)
    rivals = np.zeros(len(now.gaps))
    rivals[challenger] = total * (1.0 - leaders_share)
    return total * leaders_share, rivals


RULES: dict[str, Rule] = {
    "fewest": fewest,
    "uniform": uniform,
    "lucb": lucb,
    "top-two": top_two,
    "track-and-stop": track_and_stop,
}
"""The rules by name."""
