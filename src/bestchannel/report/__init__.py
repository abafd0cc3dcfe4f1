"""Results as pictures and pages for people; their cards in notebooks and data frames are registered here, by class.

The face of the package imports this, and `cards`, which draws and tabulates, is imported when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from bestchannel import display

FRAMES = {kind: f"{kind.lower()}_frame" for kind in ("Capacities", "Estimate", "Identification", "LowerBound")}
CARDS = {kind: f"{kind.lower()}_card" for kind in (*FRAMES, "Capacity", "Channel")}


def _later(name: str) -> Callable[[Any], Any]:
    return lambda result: getattr(import_module("bestchannel.report.cards"), name)(result)


display.CARDS.update((kind, _later(name)) for kind, name in CARDS.items())
display.FRAMES.update((kind, _later(name)) for kind, name in FRAMES.items())
