"""Records of identifications, as the command line writes them, to be verified and tampered with."""

import copy
import functools
import json

import numpy as np

from bestchannel import Adaptive, BestChanID, MedianChanEl, NaiveChanSel, Simulator, identify
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, random_channel, z_channel
from bestchannel.policies.transcript import as_document


def random_3x3(*seeds):
    return [random_channel(3, 3, rng=np.random.default_rng(seed)) for seed in seeds]


ONE_OUTPUT = Channel.from_rows([[1.0], [1.0]])
USELESS_5X2 = Channel.from_rows([[0.5, 0.5]] * 5)

MIXED = [bsc(0.1), bsc(0.2), bsc(0.15), *random_3x3(2), ONE_OUTPUT]

CASES = {
    "binary": (Adaptive, [bsc(0.3), bsc(0.05), bsc(0.12), z_channel(0.5)], {}),
    "binary, small delta": (Adaptive, [bsc(0.3), bsc(0.05), bsc(0.12)], {"delta": 1e-10}),
    "near tie": (Adaptive, [bsc(0.1), bsc(0.11)], {"delta": 0.1}),
    "restarts": (
        Adaptive,
        [random_channel(5, 5, rng=np.random.default_rng(507 + 50 * i)) for i in range(4)],
        {"delta": 0.1},
    ),
    "noiseless": (Adaptive, [bsc(0.003), bsc(0.0), bsc(0.01)], {}),
    "many sizes": (Adaptive, [bsc(0.2), q_ary_symmetric(3, 0.02), bec(0.1), q_ary_symmetric(4, 0.3), USELESS_5X2], {}),
    "3x3": (Adaptive, random_3x3(1, 2, 5), {}),
    "worthless by alphabet": (Adaptive, [ONE_OUTPUT, bsc(0.1), bec(0.3)], {}),
    "epsilon": (Adaptive, [bsc(0.15), bsc(0.1), bsc(0.12)], {"epsilon": 0.04}),
    "epsilon at ties": (Adaptive, [bsc(0.1)] * 4, {"epsilon": 0.05}),
    "epsilon, 3x3": (Adaptive, random_3x3(1, 2, 5), {"epsilon": 0.03}),
    "fixed input": (Adaptive, [bsc(0.15), z_channel(0.1), bsc(0.12)], {"input_distribution": [0.3, 0.7]}),
    "fixed input, 3x3": (Adaptive, random_3x3(1, 2, 5), {"input_distribution": [0.3, 0.3, 0.4]}),
    "uniform": (Adaptive, [bsc(0.1), bsc(0.2), bsc(0.15)], {"sampling": "uniform"}),
    "lucb": (Adaptive, [bsc(0.1), bsc(0.2), bsc(0.15)], {"sampling": "lucb"}),
    **{
        f"{rule}, 3x3": (Adaptive, random_3x3(1, 2, 5, 6), {"sampling": rule})
        for rule in ("lucb", "top-two", "track-and-stop")
    },
    "one channel": (Adaptive, [bsc(0.1)], {}),
    "nothing but worthless ones": (Adaptive, [ONE_OUTPUT] * 2, {}),
    "best-chan-id": (BestChanID, MIXED, {}),
    "best-chan-id, median": (BestChanID, MIXED, {"subroutine": "median"}),
    "best-chan-id, fixed input": (BestChanID, [bsc(0.1), bsc(0.2)], {"input_distribution": [0.5, 0.5]}),
    "naive": (NaiveChanSel, MIXED, {"epsilon": 0.1}),
    "median": (MedianChanEl, MIXED, {"epsilon": 0.1}),
}
"""Policy, channels and options by name; delta is 0.05 where nothing is said."""


def document(policy, channels, options, *, seed=0, max_senses=None):
    """The JSON of one identification, through text and back, as a file would hold it."""
    alphabets = [(channel.n_inputs, channel.n_outputs) for channel in channels]
    chosen = policy(alphabets, **{"delta": 0.05, **options})
    sensor = Simulator(channels, rng=np.random.default_rng(seed))
    return json.loads(json.dumps(as_document(identify(sensor, chosen, max_senses=max_senses))))


@functools.cache
def _record(name, seed):
    policy, channels, options = CASES[name]
    return document(policy, channels, options, seed=seed)


def record(name, seed=0):
    """A copy of its own of the record of a case."""
    return copy.deepcopy(_record(name, seed))


def bets_of(step):
    return step["stakes"]["bets"] if step["stakes"] else {}


def most_restarts(document):
    return max((bet["restarts"] for step in document["audit"]["steps"] for bet in bets_of(step).values()), default=0)


def leaders(document):
    """The leaders after each step, each once for as long as it leads."""
    names = [step["status"]["leader"] for step in document["audit"]["steps"]]
    return [name for name, before in zip(names, [None, *names], strict=False) if name != before]


def falls(document):
    """(step, rival) where a rival ceased to be a candidate."""
    before = {channel["name"] for channel in document["audit"]["channels"]}
    for step in document["audit"]["steps"]:
        now = set(step["status"]["candidates"])
        yield from ((step, rival) for rival in sorted(before - now))
        before = now
