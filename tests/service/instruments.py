"""Simulated instruments whose answer to a sense follows from its place: run, request, channel, input and position.

Whoever senses it, whenever, in pieces of whatever size, the answer is the same; so what a run comes to must not depend on
anything that happens on the way, and can be computed without a network.
"""

import hashlib

import numpy as np

import bestchannel as bc
from bestchannel.channels import bsc
from bestchannel.policies import ChannelLabels
from bestchannel.policies.policy import outcome
from bestchannel.policies.request import Observation

BIT = ("0", "1")
ERRORS = {"cable": 0.10, "radio": 0.13, "relay": 0.12, "fibre": 0.07}
PARTIES = [ChannelLabels(name, BIT, BIT) for name in ERRORS]
CHANNELS = {name: {"inputs": list(BIT), "outputs": list(BIT)} for name in ERRORS}


def uniforms(seed, request, channel, x, start, count):
    """Numbers in [0, 1), one for each position, by splitmix64."""
    place = hashlib.sha256(f"{seed} {request} {channel} {x}".encode()).digest()
    z = np.arange(start, start + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = z + np.frombuffer(place[:8], dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z ^ (z >> np.uint64(31))).astype(float) / 2.0**64


def outputs(seed, request, channel, x, start, count):
    """The outputs of these senses as an array of 0 and 1."""
    wrong = uniforms(seed, request, channel, x, start, count) < ERRORS[channel]
    return np.where(wrong, 1 - int(x), int(x))


def counts_of(seed, request, channel, x, start, count):
    """How often each output occurs among them."""
    ones = int(outputs(seed, request, channel, x, start, count).sum())
    return {y: n for y, n in zip(BIT, (count - ones, ones), strict=True) if n}


def left_alone(seed, policy):
    """What the policy comes to where nothing happens on the way."""
    while (request := policy.ask()) is not None:
        tables = {}
        for j, senses in request.senses.items():
            rows = [outputs(seed, request.number, PARTIES[j].key, x, 0, n) for x, n in zip(BIT, senses, strict=True)]
            tables[j] = np.array([np.bincount(row, minlength=2) for row in rows])
        policy.tell(Observation(request.number, tables))
    return outcome(policy, PARTIES, inferred_outputs=False)


def adaptive(delta=0.1):
    """A policy for these channels."""
    return bc.Adaptive([party.alphabet for party in PARTIES], delta=delta)


def simulated():
    """The same channels for a simulator."""
    return {name: bsc(error) for name, error in ERRORS.items()}
