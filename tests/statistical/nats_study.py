"""Where the nats are lost that the policy has to spare: python -m tests.statistical.nats_study --runs 1000.

Let a be the best channel, W its rows and P its best input, all known here. The bets against a that were made with the
share π_i of delta, taken at the truth, are worth exp(m_i), a martingale: what the bets on the leader paid less the
logarithm of its mean under the leader's true rows, and the rival's likelihood ratio. So N = sum_i π_i exp(m_i), with
exp(m_i) = 1 before the bets i begin, has mean 1 at the end of every run. With the evidence that a is ruled out by,

    P(a is out) = (1 - E[N; a is not out]) / E[N | a is out],

so that log(delta / P) is the sum of what is left over in the runs that do not rule a out, -log(1 - E[N; not out]), and
of log(delta E[N | out]), which is what the truth exceeds 1/delta by: the price of the leader's bets beyond its value, the
rival's rows and inputs that are not known, the merging of requests, and the last request, which overshoots.

Of rivals that are rightly ruled out there is no such sum, but they lose nats at the same places, but for the leader's.
"""

import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestchannel import capacity
from bestchannel.evidence.bets import LARGEST_INPUT
from bestchannel.information import NATS_PER_BIT
from bestchannel.native.evidence import climbed
from bestchannel.study.monte_carlo import Study
from bestchannel.study.spec import read_spec
from tests.statistical.table_command import print_table

STUDIES = Path(__file__).parents[2] / "studies"
LOSSES = ("leader", "rows", "inputs", "merging", "overshoot")
TIES = [
    ("2 equal, 2×2", "misled", 0.5),
    ("2 equal, 2×2", "misled", 0.1),
    ("2 equal, 3×3, low noise", "misled", 0.5),
    ("2 equal, 3×3, low noise", "misled", 0.1),
    ("3 equal, 2×2", "adaptive", 0.5),
    ("3 equal, 2×2", "adaptive", 0.3),
]
"""Conditions of studies/power.toml; the last channel is a best one."""

ORDINARY = [
    ("efficiency", "k = 10, gap 0.13 nats", 0.01),
    ("low_noise", "low noise, 4×4, k = 5", 0.05),
    ("letters", "4×4, k = 5, gap 0.1 nats", 0.01),
]
SHARE_OF_ORDINARY = 0.04
"""So many times the runs of a tie: all rivals of a run are looked at."""


@dataclass
class Account:
    """Bets against one rival since they began, at its true rows and best input."""

    nats: float = 0.0  # m
    dearer: float = 0.0  # by which the leader's bets cost more than they had to


@dataclass(frozen=True)
class Run:
    """All bets of a run against one rival; `losses` are nats by which the truth exceeds the threshold, if it is out."""

    out: bool
    worth: float  # N
    unused: float  # the part of N of bets that never began
    losses: dict[str, float]


def bets_against(rival, policy, found, channels):
    """What the bets of a run against one channel were worth."""
    best, accounts = capacity(channels[rival], tol=1e-12), defaultdict(Account)
    for step in found.audit.steps:
        if step.stakes is not None and rival in step.stakes.on_rivals:
            _settle(accounts[step.stakes.restarts[rival]], step, channels, rival, best)
    last, out = policy.state.bets[rival].restarts, rival not in policy.candidates
    shares = {start: _share(policy, start) for start in range(last + 1)}
    later = 1.0 - sum(shares.values())
    unused = later + sum(share for start, share in shares.items() if start not in accounts)
    worth = later + sum(share * math.exp(accounts[start].nats) for start, share in shares.items())
    losses = _losses(policy, policy.state.bets[rival], accounts[last], best, channels[rival].W) if out else {}
    return Run(out, worth, unused, losses)


def _share(policy, start):
    """Of delta, that the bets after so many restarts have."""
    return math.exp(-math.log(policy.delta) - policy._proved_threshold(start, 1))


def _settle(account, step, channels, rival, best):
    """Book what one request brought."""
    bets, stake = step.stakes, step.stakes.on_rivals[rival]
    row, counts = list(bets.on_rivals).index(rival), step.counts[bets.leader]
    pays = bets.on_leader.pays[row]
    mean = float(counts.sum(axis=1) @ np.log((channels[bets.leader].W * np.exp(pays)).sum(axis=1)))
    ratio = _likelihood_ratio(channels[rival].W, best.input, stake, step.counts[rival])
    account.nats += float((counts * pays).sum()) - mean + ratio
    account.dearer += float(bets.on_leader.price[row]) + stake.weight * best.upper * NATS_PER_BIT - mean


def _likelihood_ratio(W, P, stake, counts):
    """Of the tilted rows and the true ones, in nats."""
    t = (P * stake.tilts)[:, None]
    z = (W ** (1 - t) * stake.outputs**t).sum(axis=1)
    return float(-(counts * t * np.log(W / stake.outputs)).sum() - counts.sum(axis=1) @ np.log(z))


def _losses(policy, bets, account, best, W):
    """From the truth down to the threshold, each time with less that is known."""
    few = bets.bets
    many = *few[:-1], len(few[2])  # no requests merged
    at_the_input = _most_lost(many, best.input, W, 0.0)
    anywhere = max(at_the_input, _most_lost(many, bets.worst[0], W, LARGEST_INPUT))
    merged = max(anywhere, _most_lost(few, bets.worst[0], W, LARGEST_INPUT))
    evidence = [bets.paid - lost for lost in (at_the_input, anywhere, merged)]
    steps = [account.nats, account.nats - account.dearer, *evidence, policy._proved_threshold(bets.restarts, 1)]
    return dict(zip(LOSSES, -np.diff(steps), strict=True))


def _most_lost(bets, P, W, largest):
    place = np.array(P), np.log(W), np.log(P @ W)
    return climbed(*bets, *place, largest)


def runs_of(name, instance, policy, delta, runs):
    """(policy, outcome, channels) of the first runs of a condition of a study."""
    study = Study.of(read_spec(STUDIES / f"{name}.toml"))
    (number,) = (
        c.number for c in study.conditions if (c.source.name, c.policy.name, c.delta) == (instance, policy, delta)
    )
    for i in range(runs):
        yield *study.identification(number, i), study.instance(number, i).channels


def ties(instance, policy, delta, runs):
    """The bets of a tie against its last channel."""
    made = runs_of("power", instance, policy, delta, runs)
    return [bets_against(len(channels) - 1, made, found, channels) for made, found, channels in made]


def rightly_out(name, instance, delta, runs):
    """The bets against all rivals of ordinary runs that were bet on and ruled out."""
    for made, found, channels in runs_of(name, instance, "adaptive", delta, runs):
        for rival in range(len(channels)):
            if rival != found.best and made.state.bets[rival].total:
                yield bets_against(rival, made, found, channels)


def rows(runs):
    """One for each condition: means of the runs, in nats."""
    for instance, policy, delta in TIES:
        yield [instance, policy, f"{delta:g}", *_row(delta, ties(instance, policy, delta, runs))]
    for name, instance, delta in ORDINARY:
        found = [each for each in rightly_out(name, instance, delta, round(SHARE_OF_ORDINARY * runs)) if each.out]
        _, *losses = _mean_losses(found)  # what the leader's bets cost has another meaning
        yield [instance, "adaptive", f"{delta:g}", "", f"{len(found):,}", *[""] * 5, *losses, ""]


def _row(delta, found):
    out, stayed = ([each for each in found if each.out is wanted] for wanted in (True, False))
    worth = np.array([each.worth for each in found])
    yield f"{len(found):,}"
    yield f"{len(out)}"
    yield f"{worth.mean():.3f} ± {worth.std(ddof=1) / math.sqrt(len(worth)):.3f}"
    if not out:
        yield from [""] * 9
    else:
        unused, left = (sum(parts) / len(found) for parts in zip(*((e.unused, e.worth) for e in stayed), strict=True))
        yield f"{math.log(delta * len(found) / len(out)):.2f}"
        yield f"{-math.log1p(-unused):.2f}"
        yield f"{math.log1p(-unused) - math.log1p(-left):.2f}"
        yield from _mean_losses(out)
        excess = math.log(delta * np.mean([each.worth for each in out]))
        yield f"{excess - sum(np.mean([each.losses[loss] for each in out]) for loss in LOSSES):.2f}"


def _mean_losses(out):
    return (f"{np.mean([each.losses[loss] for each in out]):.2f}" for loss in LOSSES)


COLUMNS = (
    "channels",
    "policy",
    r"$\delta$",
    "runs",
    "ruled out",
    "mean of $N$",
    "nats to spare",
    "not begun",
    "left open",
    *LOSSES,
    "spread",
)

if __name__ == "__main__":
    print_table(sys.argv[1:], __doc__, COLUMNS, rows, runs=1000)
