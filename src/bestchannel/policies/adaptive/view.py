"""What the counts suggest: no more than a plan, nothing here is certified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bestchannel.arrays import Floats, Integers
from bestchannel.intervals import Functional
from bestchannel.native.evidence import estimates, likeliest_addition, smoothed_rows

EVENLY_ON_LEADER, EVENLY_ON_BINARY, EVENLY_ON_RIVAL = 0.1, 0.3, 0.7
"""The share of a channel's senses that is spread evenly over its inputs: a rival's P may be at any of them."""

ADDED = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
"""Senses of every input, shared by all outputs, that may be added to counts for an estimate of rows."""


class Look(NamedTuple):
    """Estimates of a channel, or of some of one size, [c, …].

    The senses of each are best spread over its inputs as P_x sqrt(V_x/c_x), up to a factor, and a part evenly: as
    1/sqrt(c_x), so that whichever input matters, a sense of it is worth its cost c_x.
    """

    rows: Floats  # [x, y] smoothed estimates W
    inputs: Floats  # [x] P
    deviations: Floats  # [x] sqrt(V_x), the standard deviation of log(W_x/PW) under W_x
    as_leader: Floats  # [x] shares of its senses
    as_rival: Floats  # [x]


NOTHING = Look(np.zeros((0, 0, 0)), *[np.zeros((0, 0))] * 4)  # of channels that are not looked at


class View(NamedTuple):
    """Estimates in nats; of a channel with a single input or output, or not looked at, the value 0 and nothing else."""

    values: Floats  # [channel]
    variances: Floats  # [channel] of the estimated value
    leader_variances: Floats  # [channel] of the value times the number of senses, if these are spread as a leader's
    rival_variances: Floats  # [channel] and as a rival's
    alike: list[tuple[list[int], Look]]  # the channels of one size, and then those of the next

    def of(self, channel: int) -> Look:
        """What is known of one channel."""
        for channels, look in self.alike:
            if channel in channels:
                place = channels.index(channel)
                return Look(*[array[place] for array in look])
        return NOTHING


def view_of(
    channels: Iterable[int], counts: Sequence[Integers], functional: Functional, costs: Sequence[Floats]
) -> View:
    """Estimates of some channels from the counts of all, those of one size together.

    What is added to their counts is the same for all channels of a size, whether looked at or not.
    """
    k, sizes = len(counts), dict[tuple[int, ...], list[int]]()
    for channel in channels:
        sizes.setdefault(counts[channel].shape, []).append(channel)
    numbers = np.zeros((4, k))
    view = View(numbers[0], numbers[1], numbers[2], numbers[3], [])
    for size, alike in sizes.items():
        if min(size) > 1:
            added = likeliest_addition(np.array([table for table in counts if table.shape == size]), ADDED / size[1])
            W, senses = smoothed_rows(np.array([counts[j] for j in alike]), added)
            P = np.ascontiguousarray(functional.best_inputs(W))
            evenly = EVENLY_ON_LEADER, EVENLY_ON_BINARY if P.shape[1] == 2 else EVENLY_ON_RIVAL
            made = estimates(W, P, senses, np.array([costs[j] for j in alike]), evenly)
            numbers[:, alike] = made.numbers
            view.alike.append((alike, Look(W, P, made.deviations, *made.shares)))
    return view
