"""The verdict on the record of an identification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bestchannel.verification.adaptive_check import Covers, check_adaptive
from bestchannel.verification.choices import Replay, document_of, taken_on_trust
from bestchannel.verification.paper_check import check_paper
from bestchannel.verification.record import NotValidError, Record, Watch, read
from bestchannel.verification.structure import check_structure

POLICIES: dict[str, Callable[[Record, Watch, Covers], None]] = {
    "adaptive": check_adaptive,
    "best-chan-id": check_paper,
    "naive": check_paper,
    "median": check_paper,
}
"""What a policy's record must satisfy beyond the structure of all."""

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


def verify(result: object, *, progress: Callable[[int, int], None] | None = None) -> CheckedRecord:
    """Check the record of an identification again: its evidence, and who chose its bets (docs/theory/certificate.md).

    Parameters
    ----------
    result
        An `Identification`, or its JSON (`bestchannel identify --json`) as a dictionary.
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
    >>> bc.verify(bc.identify(sensor)).valid
    True
    """
    document = document_of(result)
    passed: list[str] = []
    show = progress or (lambda _done, _total: None)
    try:
        record = read(document)
        steps = len(record.steps)
        check = _check_of(record)
        with np.errstate(all="ignore"):  # what is no number proves nothing, and is found by that
            check_structure(record)
            passed.append("structure")
            replay = Replay(document, lambda done: show(done, 2 * steps))
            check(record, lambda done: show(steps + done, 2 * steps), replay.covers)
            passed.append(record.policy)
        try:
            replay.check()
        except NotValidError:
            if not (doubt := taken_on_trust(record)):
                raise
            return CheckedRecord(False, tuple(passed), doubt, f"{_claim(record)}, if its choices are trusted", TRUSTED)
    except NotValidError as fault:
        return CheckedRecord(False, tuple(passed), str(fault), "nothing is proved", None)
    return CheckedRecord(True, (*passed, "choices"), None, _claim(record), REPLAYED)


def _check_of(record: Record) -> Callable[[Record, Watch, Covers], None]:
    if record.policy not in POLICIES:
        raise NotValidError(f"the policy must be one of {', '.join(POLICIES)}; it is {record.policy!r}")
    return POLICIES[record.policy]


def _claim(record: Record) -> str:
    if record.best is None and record.nearly_best is None:
        return "undecided: nothing is claimed"
    channel, bits = (record.best, record.epsilon) if record.best is not None else record.nearly_best  # type: ignore[misc]
    P = None if record.fixed_input is None else record.fixed_input.tolist()
    largest = "the best" if P is None else f"the largest I(P;W) at P = ({', '.join(map(repr, P))})"
    what = f"is within {bits!r} bit of {largest}" if bits else f"{'has' if P else 'is'} {largest}"
    condition = ", conditional on the observed alphabet" if record.inferred_outputs else ""
    undecided = "undecided: " if record.best is None else ""
    return f"{undecided}{record.names[channel]} {what} with an error probability of at most {record.delta!r}{condition}"
