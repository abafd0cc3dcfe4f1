"""Words that several questions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bestchannel.promises import several

MOST_NAMED = 12
"""Channels that are named."""

MOST_BITS = 1e6
"""No level or width may be larger."""


def listed(channels: Sequence[Any]) -> str:
    """The first few, and how many others there are.

    >>> listed(["a", "b"]), listed(range(14))
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 others')
    """
    few, rest = channels[:MOST_NAMED], len(channels) - MOST_NAMED
    return ", ".join(map(str, few)) + (f" and {several(rest, 'other')}" if rest > 0 else "")
