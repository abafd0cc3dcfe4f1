"""How often what is proved before the end is wrong: python -m tests.statistical.nearly_best_study --runs 1000.

A run ends after a limit of senses. It errs where the channel that it calls nearly the best is worse than the best one by
more than it says. The theorem allows any leader, so the hostile policies follow one that is worse than its rivals, which
makes errors as frequent as they can be; that they are made to bet at all is due to the limit.
"""

import sys
from dataclasses import replace

import numpy as np

from bestchannel import Adaptive, Simulator, capacity, identify
from bestchannel.channels import bsc, q_ary_symmetric, z_channel
from tests.statistical.limits import most_failures
from tests.statistical.table_command import print_table
from tests.study.misled import Misled

LIMIT = 1500

CHANNELS = {
    "BSC(0.11) leads BSC(0.1)": [bsc(0.11), bsc(0.1)],
    "ternary": [q_ary_symmetric(3, 0.12), q_ary_symmetric(3, 0.1)],
    "three": [bsc(0.12), bsc(0.1), bsc(0.1)],
    "Z leads BSC": [z_channel(0.5), bsc(0.15)],
}
"""The first one leads, and is not the best."""


class Boastful(Misled):
    """A sabotaged policy: it says that bets lack a tenth of what they lack."""

    def _missing(self, state):
        for bets in super()._missing(state):
            yield replace(bets, nats=bets.nats / 10)


def nearly_best(policy, channels, runs, *, delta, limit=LIMIT, seed=7):
    """(how much worse than the best the channel of each statement is, within how many bits it is said to be)."""
    worth = np.array([capacity(channel, tol=1e-12).lower for channel in channels])
    found = []
    for child in np.random.SeedSequence(seed).spawn(runs):
        sensor = Simulator(channels, rng=np.random.default_rng(child))
        said = identify(sensor, policy(sensor.alphabets, delta=delta), max_senses=limit).nearly_best
        if said is not None:
            found.append((worth.max() - worth[said.channel], said.within_bits))
    return np.array(found).reshape(-1, 2)


def errors(found):
    """How many of the statements are wrong; capacities are computed within 1e-12."""
    return int((found[:, 0] > found[:, 1] + 1e-11).sum())


COLUMNS = "channels", "policy", "statements", "wrong", "allowed", "within, bits (median)"


def rows(runs, delta):
    """One for each policy on each set of channels."""
    for name, channels in CHANNELS.items():
        for policy in (Adaptive, Misled, Boastful):
            found = nearly_best(policy, channels, runs, delta=delta)
            counts = len(found), errors(found), most_failures(runs, delta)
            yield name, policy.__name__, *map(str, counts), f"{np.median(found[:, 1]):.4f}"


if __name__ == "__main__":
    print_table(sys.argv[1:], __doc__, COLUMNS, rows, runs=1000, delta=0.1)
