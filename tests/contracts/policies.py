"""Every policy there is, as (name, factory): `factory(alphabets)` builds one, keywords replace its settings."""

from functools import partial

from bestchannel import Adaptive, BestChanID, MedianChanEl, NaiveChanSel

P_X = (0.4, 0.6)
"""The input distribution of the policies that are given one; not uniform, so that a swap of inputs would show."""

PAPER_CAPACITY_POLICIES = [
    ("best-chan-id naive", partial(BestChanID, delta=0.1, subroutine="naive")),
    ("best-chan-id median", partial(BestChanID, delta=0.1, subroutine="median")),
    ("naive", partial(NaiveChanSel, delta=0.1, epsilon=0.05)),
    ("median", partial(MedianChanEl, delta=0.1, epsilon=0.05)),
]

ADAPTIVE_CAPACITY_POLICIES = [
    ("adaptive", partial(Adaptive, delta=0.1)),
    ("adaptive within epsilon", partial(Adaptive, delta=0.1, epsilon=0.05)),
]

PAPER_FIXED_INPUT_POLICIES = [
    ("best-chan-id naive, fixed input", partial(BestChanID, delta=0.1, subroutine="naive", input_distribution=P_X)),
    ("best-chan-id median, fixed input", partial(BestChanID, delta=0.1, subroutine="median", input_distribution=P_X)),
    ("naive, fixed input", partial(NaiveChanSel, delta=0.1, epsilon=0.05, input_distribution=P_X)),
    ("median, fixed input", partial(MedianChanEl, delta=0.1, epsilon=0.05, input_distribution=P_X)),
]

ADAPTIVE_FIXED_INPUT_POLICIES = [
    ("adaptive, fixed input", partial(Adaptive, delta=0.1, input_distribution=P_X)),
    ("adaptive within epsilon, fixed input", partial(Adaptive, delta=0.1, epsilon=0.05, input_distribution=P_X)),
]

CAPACITY_POLICIES = PAPER_CAPACITY_POLICIES + ADAPTIVE_CAPACITY_POLICIES
"""Policies that look for the largest capacity."""

FIXED_INPUT_POLICIES = PAPER_FIXED_INPUT_POLICIES + ADAPTIVE_FIXED_INPUT_POLICIES
"""Policies that look for the largest mutual information at `P_X`, and so want two inputs."""

PAPER_POLICIES = PAPER_CAPACITY_POLICIES + PAPER_FIXED_INPUT_POLICIES
"""The policies of the paper: their senses follow from its formulas, and so they are never wrong in practice."""

ADAPTIVE_POLICIES = ADAPTIVE_CAPACITY_POLICIES + ADAPTIVE_FIXED_INPUT_POLICIES

POLICIES = PAPER_POLICIES + ADAPTIVE_POLICIES
