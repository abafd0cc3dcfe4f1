"""The compiled kernels of the bets, loaded at first use."""

from __future__ import annotations

import functools
from types import ModuleType

from bestchannel.capacity.kernels import announced


@functools.cache
def leader() -> ModuleType:
    """The module `bestchannel.confidence.leader_kernels`, compiled on first use and cached on disk."""
    with announced():
        from bestchannel.confidence import leader_kernels as module
    return module


@functools.cache
def binary() -> ModuleType:
    """The module `bestchannel.confidence.binary_kernels`, compiled on first use and cached on disk."""
    with announced():
        from bestchannel.confidence import binary_kernels as module
    return module
