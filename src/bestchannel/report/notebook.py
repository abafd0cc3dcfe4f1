"""Notebooks and data frames: what the results of the lower layers ask for is registered here.

The face of the package imports this module, and `cards`, which draws, is imported when first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from bestchannel.capacity import Capacities, Capacity
from bestchannel.channels import Channel
from bestchannel.display import Frame, card_of, frame_of
from bestchannel.errors import MissingExtraError
from bestchannel.intervals import Estimate
from bestchannel.lower_bound.bound import LowerBound
from bestchannel.policies import Identification, Status

CARDS: dict[type, str] = {
    Capacities: "capacities_card",
    Capacity: "capacity_card",
    Channel: "channel_card",
    Estimate: "estimate_card",
    Identification: "identification_card",
    LowerBound: "bound_card",
}
"""What draws each result, in `report.cards`."""


def _later(name: str) -> Callable[[Any], Any]:
    return lambda result: getattr(import_module("bestchannel.report.cards"), name)(result)


for _kind, _name in CARDS.items():
    card_of.register(_kind, _later(_name))


def _frame(content: Mapping[str, Any] | list[dict[str, Any]], index: Iterable[Any], name: str) -> Frame:
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("a data frame", "frames") from None
    return pandas.DataFrame(content, index=pandas.Index(list(index), name=name, tupleize_cols=False))


@frame_of.register(Capacities)
def _capacities_frame(result: Capacities) -> Frame:
    """One row per channel of the stack, in its order."""
    result = result.on_host()
    columns = {name: getattr(result, name).ravel() for name in ("value", "lower", "upper", "converged")}
    frame, shape = _frame(columns, range(result.lower.size), "channel"), result.lower.shape
    return frame if len(shape) < 2 else frame.set_index([*np.indices(shape).reshape(len(shape), -1)])


@frame_of.register(Estimate)
def _estimate_frame(result: Estimate) -> Frame:
    """One row per channel, in the order of the counts."""
    rows = [
        {
            "senses": c.senses,
            "capacity": c.capacity,
            "lower": c.lower,
            "upper": c.upper,
            "asymptotic_lower": c.asymptotic.lower if c.asymptotic else math.nan,
            "asymptotic_upper": c.asymptotic.upper if c.asymptotic else math.nan,
        }
        for c in result.channels
    ]
    return _frame(rows, [c.name for c in result.channels], "channel")


@frame_of.register(LowerBound)
def _bound_frame(result: LowerBound) -> Frame:
    """One row per channel, in the order in which they were given."""
    rows = [{"gap": gap, "share": float(result.allocation[name].sum())} for name, gap in result.gaps.items()]
    return _frame(rows, result.gaps, "channel")


@frame_of.register(Identification)
def _identification_frame(result: Identification) -> Frame:
    """One row per answered request."""
    keys = [labels.key for labels in result.audit.channels]
    rows = [_course_row(step.status, keys) for step in result.audit.steps]
    return _frame(rows, [step.request.number for step in result.audit.steps], "request")


def _course_row(status: Status, keys: list[Any]) -> dict[str, Any]:
    """Where the step left the policy; the evidence is that against the rival which lacks most of its threshold."""
    rival = min(status.evidence_nats, key=lambda j: status.evidence_nats[j] - status.threshold_nats[j], default=None)
    return {
        "senses": status.senses,
        "channels_left": len(status.candidates),
        "leader": None if status.leader is None else keys[status.leader],
        "rival": None if rival is None else keys[rival],
        "evidence_nats": None if rival is None else status.evidence_nats[rival],
        "threshold_nats": None if rival is None else status.threshold_nats[rival],
    }
