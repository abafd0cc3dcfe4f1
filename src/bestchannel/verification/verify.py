"""The verdict on the record of an identification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bestchannel.verification.adaptive_check import check_adaptive
from bestchannel.verification.paper_check import check_best_chan_id, check_median, check_naive
from bestchannel.verification.record import NotValidError, Record, read
from bestchannel.verification.structure import check_structure

POLICIES: dict[str, Callable[[Record], None]] = {
    "adaptive": check_adaptive,
    "best-chan-id": check_best_chan_id,
    "naive": check_naive,
    "median": check_median,
}
"""What a policy's record must satisfy beyond the structure of all."""


@dataclass(frozen=True)
class CheckedRecord:
    """Whether a record holds: `checks` that were passed, and the `failure` that ended them, one sentence or None.

    `claim` is what a valid record proves; an undecided one claims nothing.
    """

    valid: bool
    checks: tuple[str, ...]
    failure: str | None
    claim: str


def verify(document: object) -> CheckedRecord:
    """Check the JSON of an identification again, from its counts and stakes alone: docs/theory/certificate.md.

    A document that is no such JSON is refused with an `InputError`.
    """
    passed: list[str] = []
    try:
        record = read(document)
        claim = _claim(record)
        for name, check in _checks(record):
            with np.errstate(all="ignore"):  # what is no number proves nothing, and is found by that
                check(record)
            passed.append(name)
    except NotValidError as fault:
        return CheckedRecord(False, tuple(passed), str(fault), "nothing is proved")
    return CheckedRecord(True, tuple(passed), None, claim)


def _checks(record: Record) -> list[tuple[str, Callable[[Record], None]]]:
    if record.policy not in POLICIES:
        raise NotValidError(f"the policy must be one of {', '.join(POLICIES)}; it is {record.policy!r}")
    return [("structure", check_structure), (record.policy, POLICIES[record.policy])]


def _claim(record: Record) -> str:
    if record.best is None:
        return "undecided: nothing is claimed"
    P = None if record.fixed_input is None else record.fixed_input.tolist()
    largest = "the best" if P is None else f"the largest I(P;W) at P = ({', '.join(map(repr, P))})"
    what = f"is within {record.epsilon!r} bit of {largest}" if record.epsilon else f"{'has' if P else 'is'} {largest}"
    return f"{record.names[record.best]} {what} with an error probability of at most {record.delta!r}"
