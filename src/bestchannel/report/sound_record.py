"""Records from outside are held against themselves before anything is drawn from them."""

from __future__ import annotations

from itertools import pairwise

from bestchannel.errors import InputError
from bestchannel.policies import Audit, Identification, Status, Step

MOST = 10**30
"""More senses than any record that 64-bit counts can hold."""


def require_sound(result: Identification) -> None:
    """Raise `InputError` where the record has values of a wrong kind, or contradicts itself."""
    _require_outcome(result)
    _require_channels(result.audit)
    names = {str(labels.key) for labels in result.audit.channels}
    named = {str(key) for key in result.candidates} | ({str(result.best)} if result.decided else set())
    if named - names or (result.nearly_best and str(result.nearly_best.channel) not in names):
        raise InputError("the record names a best channel, or a candidate, that is none of its channels")
    for step in result.audit.steps:
        _require_step(step, result.audit)
    told = sum(int(row) for step in result.audit.steps for table in step.counts.values() for row in table.sum(axis=1))
    if told != result.senses:
        raise InputError(
            f"the record contradicts itself: its senses are said to be {result.senses}, and its counts add up to {told}"
        )
    totals = [0, *(step.status.senses for step in result.audit.steps)]
    if any(later < earlier for earlier, later in pairwise(totals)) or totals[-1] > result.senses:
        raise InputError("the record contradicts itself: its senses must grow from step to step")


def _require_outcome(result: Identification) -> None:
    kinds = {
        "decided": isinstance(result.decided, bool) and result.decided == (result.best is not None),
        "senses": _whole(result.senses),
        "rounds": _whole(result.rounds),
        "policy": isinstance(result.policy, str),
        "guarantee": isinstance(result.guarantee, str),
        "delta": _number(result.delta) and 0.0 < result.delta < 1.0,
        "epsilon": _number(result.epsilon) and result.epsilon >= 0.0,
        "cost": result.cost is None or (_number(result.cost) and result.cost >= 0.0),
        "nearly_best": _nearly_best_is_sound(result),
    }
    for key, good in kinds.items():
        if not good:
            raise InputError(f"{key} of the record cannot be right; it is {str(getattr(result, key))[:80]!r}")


def _nearly_best_is_sound(result: Identification) -> bool:
    nearly = result.nearly_best
    if nearly is None:
        return True
    return isinstance(nearly.channel, str | int) and _number(nearly.within_bits) and nearly.within_bits >= 0.0


def _require_channels(audit: Audit) -> None:
    names = [str(labels.key) for labels in audit.channels]
    if not names or len(set(names)) < len(names):
        raise InputError("the record must have at least one channel, and names that differ")
    for labels in audit.channels:
        letters = (*labels.inputs, *labels.outputs)
        if not labels.inputs or not labels.outputs or not all(isinstance(letter, str) for letter in letters):
            raise InputError(f"channel {str(labels.key)[:80]!r} of the record must have inputs and outputs, as texts")


def _require_step(step: Step, audit: Audit) -> None:
    where = f"step {str(step.request.number)[:20]} of the record"
    for channel, table in step.counts.items():
        labels = audit.channels[channel]
        if table.shape != labels.alphabet or table.min() < 0:
            size = " x ".join(map(str, labels.alphabet))
            raise InputError(f"{where} must have {size} counts >= 0 of channel {str(labels.key)!r}")
    if not _status_is_sound(step.status) or not _whole(step.request.number):
        raise InputError(f"{where} has a status that cannot be right")


def _status_is_sound(status: Status) -> bool:
    more = status.more_senses is None or _whole(status.more_senses)
    return more and all(map(_whole, (status.senses, status.requests, status.rounds, status.next_senses)))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST
