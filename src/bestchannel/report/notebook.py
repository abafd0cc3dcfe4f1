"""Notebooks and data frames: what the results of the lower layers ask for is registered here, by their class.

The face of the package imports this module, and what draws is imported when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from bestchannel import display

CARDS = {
    "Capacities": "capacities_card",
    "Capacity": "capacity_card",
    "Channel": "channel_card",
    "Estimate": "estimate_card",
    "Identification": "identification_card",
    "LowerBound": "bound_card",
}
"""What draws a result of each class, in `report.cards`."""

FRAMES = {
    "Capacities": "capacities_frame",
    "Estimate": "estimate_frame",
    "Identification": "identification_frame",
    "LowerBound": "bound_frame",
}
"""What tabulates a result of each class, in `report.result_frames`."""


def _later(module: str, name: str) -> Callable[[Any], Any]:
    return lambda result: getattr(import_module(f"bestchannel.report.{module}"), name)(result)


display.CARDS.update((kind, _later("cards", name)) for kind, name in CARDS.items())
display.FRAMES.update((kind, _later("result_frames", name)) for kind, name in FRAMES.items())
