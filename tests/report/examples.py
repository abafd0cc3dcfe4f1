"""Identifications to draw: real ones, small ones, and ones that nobody would wish for."""

from functools import cache

import numpy as np

from bestchannel.channels import Channel
from bestchannel.policies import Adaptive, Identification, NaiveChanSel, identify
from bestchannel.sensing import Simulator

BSC = {"cable": 0.05, "radio": 0.2, "rope": 0.4}


def bsc(crossover, name=""):
    return Channel.from_rows([[1 - crossover, crossover], [crossover, 1 - crossover]], name=name)


def identified(channels, *, delta=0.05, seed=1, max_senses=None, epsilon=0.0, **options) -> Identification:
    sensor = Simulator(channels, rng=seed)
    policy = Adaptive(sensor.alphabets, delta=delta, epsilon=epsilon, **options)
    return identify(sensor, policy, max_senses=max_senses)


@cache
def decided():
    return identified({name: bsc(p) for name, p in BSC.items()})


@cache
def undecided():
    return identified({"left": bsc(0.1), "right": bsc(0.1), "rope": bsc(0.4)}, max_senses=3000)


@cache
def by_the_paper():
    """A policy that weighs no evidence, with counts far beyond what people collect."""
    sensor = Simulator({name: bsc(p) for name, p in BSC.items()}, rng=1)
    return identify(sensor, NaiveChanSel(sensor.alphabets, delta=0.1, epsilon=0.2))


@cache
def alone():
    return identified({"only": bsc(0.1)})


@cache
def unsensed():
    sensor = Simulator({name: bsc(p) for name, p in BSC.items()}, rng=1)
    return identify(sensor, Adaptive(sensor.alphabets, delta=0.05), max_senses=0)


@cache
def hostile_names():
    names = ["<script>alert(1)</script>", "a\"b'c&amp;", "long " * 200, "\u202eeltit", "a\x00b\x1b[31m", "链路 ∂ é"]
    return identified({name: bsc(0.02 + 0.07 * i) for i, name in enumerate(names)}, max_senses=4000)


@cache
def useless():
    """Channels of capacity 0 beside a good one, and alphabets that differ."""
    return identified(
        {
            "noise": Channel.from_rows([[0.5, 0.5], [0.5, 0.5]]),
            "deaf": Channel.from_rows([[1.0], [1.0], [1.0]]),
            "clean": Channel.from_rows(np.eye(3)),
        },
        max_senses=5000,
    )


@cache
def large(n_channels=200, size=16):
    rng = np.random.default_rng(3)
    rows = [0.5 * np.eye(size) + 0.5 * rng.dirichlet(np.ones(size), size=size) for _ in range(n_channels)]
    return identified({f"channel {j}": Channel.from_rows(W) for j, W in enumerate(rows)}, max_senses=2_000_000)


EVERY = {
    example.__name__: example for example in (decided, undecided, by_the_paper, alone, unsensed, hostile_names, useless)
}
