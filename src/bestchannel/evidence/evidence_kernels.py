"""The compiled kernels of the bets, loaded at first use."""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np

from bestchannel.capacity.capacity_kernels import announced


@functools.cache
def leader() -> ModuleType:
    """The module `bestchannel.evidence.leader_bet_kernels`, compiled on first use and cached on disk."""
    with announced():
        from bestchannel.evidence import leader_bet_kernels as module

        W, half, one = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5]), np.ones(1)
        module.bets(W, half, half, one, 1, np.empty((1, 2, 2)), one.copy(), np.empty((1, 2, 2)), np.empty((1, 2)))
    return module


@functools.cache
def binary() -> ModuleType:
    """The module `bestchannel.evidence.binary_rival_kernels`, compiled on first use and cached on disk."""
    with announced():
        from bestchannel.evidence import binary_rival_kernels as module

        counts, one, two = np.ones((1, 2, 2)), np.ones(1), np.array([0.1, 0.2])
        module.likelihood_evidence(counts, 0.5 * counts, one, -1.0, -1.0, -1.0, one.copy())
        module.meeting_rates(counts, one, 1.0, two, two[::-1].copy(), -1.0, np.empty((1, 3)))
    return module
