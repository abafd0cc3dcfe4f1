"""What it is worth to know the costs of senses: python -m tests.policies.cost_study --runs 200.

For each set of channels and costs, the mean cost of Adaptive that is told the costs and of Adaptive that is not, and both
relative to the least expected cost of any policy.
"""

import sys

import numpy as np

from bestchannel import Adaptive, Simulator, identify, lower_bound
from bestchannel.channels import bsc, q_ary_symmetric, z_channel
from bestchannel.channels.channel import total_cost
from tests.statistical.table_command import print_table

BINARY = [bsc(p) for p in (0.05, 0.08, 0.1, 0.13, 0.2)]
TERNARY = [q_ary_symmetric(3, p) for p in (0.05, 0.1, 0.15)]

SETS = {
    "five BSC, the best costs 10": (BINARY, [10, 1, 1, 1, 1]),
    "five BSC, the second costs 10": (BINARY, [1, 10, 1, 1, 1]),
    "five BSC, all but the best cost 10": (BINARY, [1, 10, 10, 10, 10]),
    "five BSC, input 1 costs 10": (BINARY, [[1, 10]] * 5),
    "Z(0.3) and BSC(0.1), input 0 costs 10": ([z_channel(0.3), bsc(0.1)], [[10, 1]] * 2),
    "three ternary, the best costs 10": (TERNARY, [10, 1, 1]),
    "three ternary, input 2 costs 10": (TERNARY, [[1, 1, 10]] * 3),
}


def spent(channels, costs, runs, *, told, delta=0.05, seed=3):
    """What each run paid, whether or not the policy was told the costs."""
    paid, each = [], [np.broadcast_to(cost, channel.n_inputs) for channel, cost in zip(channels, costs, strict=True)]
    for child in np.random.SeedSequence(seed).spawn(runs):
        sensor = Simulator(channels, rng=np.random.default_rng(child))
        policy = Adaptive(sensor.alphabets, delta=delta, cost=costs if told else None)
        result = identify(sensor, policy)
        senses = [np.zeros(channel.n_inputs, dtype=int) for channel in channels]
        for step in result.audit.steps:
            for channel, wanted in step.request.senses.items():
                senses[channel] += wanted
        paid.append(total_cost(each, senses))
    return np.array(paid)


COLUMNS = "channels", "least cost", "told: mean, ratio", "not told: mean, ratio", "saved"


def rows(runs, delta):
    """One for each set of channels and costs."""
    for name, (channels, costs) in SETS.items():
        least = lower_bound(channels, delta, cost=costs).cost.lower_bound
        told, not_told = (spent(channels, costs, runs, told=each, delta=delta).mean() for each in (True, False))
        means = (f"{mean:,.0f}, {mean / least:.2f}" for mean in (told, not_told))
        yield name, f"{least:,.0f}", *means, f"{1 - told / not_told:.0%}"


if __name__ == "__main__":
    print_table(sys.argv[1:], __doc__, COLUMNS, rows, runs=200, delta=0.05)
