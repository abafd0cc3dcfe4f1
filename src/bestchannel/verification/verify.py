"""The verdict on the record of an identification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

import numpy as np

from bestchannel.verification.choices import Replay, answered, document_of, policy_of, taken_on_trust
from bestchannel.verification.record import NotValidError, Record, check_structure, read, reading

REPLAYED, TRUSTED = "replayed", "trusted"


@dataclass(frozen=True)
class CheckedRecord:
    """Whether a record holds.

    Attributes
    ----------
    valid
        Whether it proves what it claims.
    checks
        Those that were passed.
    failure
        What ended them, in one sentence, or None.
    claim
        What the record proves; an undecided one claims how near to the best a channel is, or nothing.
    choices
        How it is known that requests and bets were not picked after their answers: "replayed" where the policy makes
        them again, "trusted" where it does not, and another revision of it chose; then the record is not valid, and
        the claim has that condition.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.3)}, rng=1)
    >>> bc.verify(bc.identify(sensor)).claim
    'good is the best with an error probability of at most 0.05'
    """

    valid: bool
    checks: tuple[str, ...]
    failure: str | None
    claim: str
    choices: str | None


def verify(
    result: object, *, policies: Sequence[Any] = (), progress: Callable[[int, int], None] | None = None
) -> CheckedRecord:
    """Check the record of an identification again: its evidence, and who chose its bets (docs/theory/certificate.md).

    Parameters
    ----------
    result
        An `Identification`, or its JSON (`bestchannel identify --json`) as a dictionary.
    policies
        Classes of policies of other packages that may be asked about their records (docs/how-to/own-policy.md).
    progress
        Called with (done, total); it counts the steps of the record twice: as the policy is told their answers, and as
        their evidence is found.

    Returns
    -------
    CheckedRecord
        Whether it is `valid`, and what it proves, or fails at.

    Raises
    ------
    InputError
        Where this is no record of an identification.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.3)}, rng=1)
    >>> checked = bc.verify(bc.identify(sensor))
    >>> checked.valid, checked.claim
    (True, 'good is the best with an error probability of at most 0.05')
    """
    document = document_of(result)
    passed: list[str] = []
    show = progress or (lambda _done, _total: None)
    try:
        record = read(document)
        steps, kind = len(record.steps), policy_of(record, policies)
        with np.errstate(all="ignore"), reading():  # what is no number proves nothing, and is found by that
            check_structure(record)
            passed.append("structure")
            replay = Replay(kind, document, lambda done: show(done, 2 * steps))
            resolve_name(str(kind.checked_by))(record, lambda done: show(steps + done, 2 * steps), replay)
            passed.append(record.policy)
        try:
            replay.check()
        except NotValidError:
            if not (doubt := taken_on_trust(record, kind.revision)):
                raise
            return CheckedRecord(False, tuple(passed), doubt, f"{_claim(record)}, if its choices are trusted", TRUSTED)
    except NotValidError as fault:
        return CheckedRecord(False, tuple(passed), str(fault), "nothing is proved", None)
    return CheckedRecord(True, (*passed, "choices"), None, _claim(record), REPLAYED)


def _claim(record: Record) -> str:
    nothing = "undecided: nothing is claimed"
    condition = ", conditional on the observed alphabet" if record.stated.audit.inferred_outputs else ""
    if record.stated.question:
        said = answered(record)
        return nothing if said is None else f"{said}, with an error probability of at most {record.delta!r}{condition}"
    if record.best is None and record.nearly_best is None:
        return nothing
    channel, bits = (record.best, record.epsilon) if record.best is not None else record.nearly_best  # type: ignore[misc]
    P = None if record.fixed_input is None else record.fixed_input.tolist()
    largest = "the best" if P is None else f"the largest I(P;W) at P = ({', '.join(map(repr, P))})"
    what = f"is within {bits!r} bit of {largest}" if bits else f"{'has' if P else 'is'} {largest}"
    undecided = "undecided: " if record.best is None else ""
    return f"{undecided}{record.names[channel]} {what} with an error probability of at most {record.delta!r}{condition}"
