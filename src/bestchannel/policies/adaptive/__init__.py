"""Adaptive: a leader, bets against every rival, and senses where they are still needed."""

from bestchannel.policies.adaptive.adaptive_policy import Adaptive

__all__ = ["Adaptive"]
