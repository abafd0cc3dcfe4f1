"""Notebooks and data frames: what the results of the lower layers ask for is registered here.

The face of the package imports this module, and what draws is imported when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from bestchannel.capacity import Capacities, Capacity
from bestchannel.channels import Channel
from bestchannel.display import card_of, frame_of
from bestchannel.intervals import Estimate
from bestchannel.lower_bound.bound import LowerBound
from bestchannel.policies import Identification

CARDS: dict[type, str] = {
    Capacities: "capacities_card",
    Capacity: "capacity_card",
    Channel: "channel_card",
    Estimate: "estimate_card",
    Identification: "identification_card",
    LowerBound: "bound_card",
}
"""What draws each result, in `report.cards`."""

FRAMES: dict[type, str] = {
    Capacities: "capacities_frame",
    Estimate: "estimate_frame",
    Identification: "identification_frame",
    LowerBound: "bound_frame",
}
"""What tabulates each result, in `report.result_frames`."""


def _later(module: str, name: str) -> Callable[[Any], Any]:
    return lambda result: getattr(import_module(f"bestchannel.report.{module}"), name)(result)


for _kind, _name in CARDS.items():
    card_of.register(_kind, _later("cards", _name))
for _kind, _name in FRAMES.items():
    frame_of.register(_kind, _later("result_frames", _name))
