"""The verdict on the record of an identification; and whether the policy that it names makes its choices.

Evidence is worth something where bets were fixed before their answers, which numbers alone cannot show. But a policy is
a function of what it was told: its requests and stakes are made again from the answers, and held against the record
entry by entry; those that were picked afterwards do not come out. This is the one module that uses the policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pkgutil import resolve_name
from typing import Any

import numpy as np
from msgspec.json import encode

from bestchannel.capacity import capacity
from bestchannel.errors import InputError
from bestchannel.json_text import shortened
from bestchannel.policies import Identification, Observation, Policy, Supply, make_policy
from bestchannel.policies.catalogue import POLICIES
from bestchannel.policies.policy import outcome
from bestchannel.policies.transcript import as_document, from_document, identification_of, result_of, seal_of
from bestchannel.process import VERSION
from bestchannel.promises import conditional
from bestchannel.record import LARGEST, Floats
from bestchannel.verification.record import NotValidError, Record, Watch, check_structure, read, reading, require

CLOSE = 1e-6  # relatively: how closely numbers must agree, which another processor may round otherwise
TINY, TINY_NATS = 1e-12, 1e-6  # absolutely: the same near 0, of what was chosen, and of what is said of the state
ABSENT = object()  # stands where a document has nothing
REVISION_OF_VERSION = {"0.2.0": 1}  # of all policies in the versions whose records name none

WORDED = ("guarantee", "channels")
"""What a result says beyond what was decided: a sentence, and intervals, for which another version may find others."""

Difference = tuple[str, Any, Any]  # where two documents differ, and what each has there


def policy_of(record: Record, others: Iterable[type[Policy]]) -> type[Policy]:
    """The policy that a record names: of the project, or one of the others. None is imported since a file names it."""
    known, name = {**POLICIES, **{kind.reference(): kind for kind in others}}, record.policy
    require(name in known, f"the policy must be one of {', '.join(known)}; it is {name!r}")
    checked = known[name].checked_by is not None
    require(checked, f"the policy {name} must name what checks its records (checked_by); it does not")
    knows = not record.stated.question or "question" in known[name].option_names()
    require(knows, f"the policy {name} answers which channel is the best, and no other question")
    return known[name]


def taken_on_trust(record: Record, ours: int) -> str | None:
    """Why revision `ours` of the policy may choose otherwise than the record has it, in one sentence; None if not."""
    revision, version = record.stated.audit.revision, record.stated.audit.version
    if revision is None:
        revision = REVISION_OF_VERSION.get(version or "")
    if revision == ours:
        return None
    made = "a revision that it does not name" if revision is None else f"revision {revision}"
    wrote = "the version of bestchannel that wrote it" if version is None else f"bestchannel {version}"
    return (
        f"that its requests and bets were fixed before their answers is taken on trust, since {made} of the policy"
        f" {record.policy} chose them and this is revision {ours}; verify the record with {wrote}"
    )


class Replay:
    """The policy of a record, told the answers again as long as it asks for what the record says was asked."""

    policy: Policy | None = None
    """None where the record has options that it does not take."""

    def __init__(self, kind: type[Policy], document: Mapping[str, Any], watch: Watch) -> None:
        self.kind, self._document, self._stated = kind, document, from_document(document)
        self._fault: NotValidError | None = None
        stated, accurate = self._stated, "epsilon" in kind.option_names()
        promised = {"delta": stated.delta} | ({"epsilon": stated.epsilon} if accurate else {})
        alphabets = [labels.alphabet for labels in stated.audit.channels]
        try:
            self.policy = make_policy(stated.policy, alphabets, **{**stated.audit.options, **promised})
            self.policy.limit(Supply())
            _tell(self.policy, stated, watch)
        except NotValidError as fault:
            self._fault = fault
        except InputError as error:
            self._fault = NotValidError(f"the answers cannot be told to the policy that the record names: {error}")

    @staticmethod
    def input_of(W: Floats) -> Floats:
        """An input distribution at which a channel shows its capacity, for whoever checks that it does."""
        P = np.array(capacity(W, tol=1e-11, normalize=True).input)
        return P / P.sum()

    def check(self) -> None:
        """Raise `NotValidError` at the first thing that the policy, told the same answers, does otherwise."""
        if self._fault is not None:
            raise self._fault
        assert self.policy is not None
        audit = self._stated.audit
        result = outcome(self.policy, audit.channels, inferred_outputs=audit.inferred_outputs)
        written_here = audit.revision is not None and audit.version == VERSION
        for difference in _differences(as_document(result), self._document, () if written_here else WORDED):
            raise _other_choice(self._stated.policy, *difference)


def _tell(policy: Policy, stated: Identification, watch: Watch) -> None:
    """Bring the policy to the end of the record, as long as it asks what the record says was asked."""
    names = [labels.key for labels in stated.audit.channels]
    for number, step in enumerate([*stated.audit.steps, None], start=1):
        for supply in (supply for request, supply in stated.audit.limits if request == number):
            policy.limit(supply)  # what there was to be sensed from this request on
        if step is None:
            return
        ours, theirs = (
            {names[channel]: senses for channel, senses in request.senses.items()} if request else {}
            for request in (policy.ask(), step.request)
        )
        for difference in _entries(ours, theirs, f"request {number}: senses"):
            raise _other_choice(stated.policy, *difference)
        policy.tell(Observation(number, step.told))
        watch(number)


def _other_choice(policy: str, where: str, *choices: Any) -> NotValidError:
    ours, theirs = ("nothing" if value is ABSENT else shortened(value) for value in choices)
    return NotValidError(
        f"the record must be what the policy {policy} makes of its answers; in {where} that is {ours},"
        f" and the record has {theirs}"
    )


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], free: Sequence[str]) -> Iterator[Difference]:
    """Step by step first, so that the earliest one comes first; keys of the result that are `free` may be anything."""
    for mine, other in zip(ours["audit"]["steps"], theirs["audit"]["steps"], strict=True):
        if encode(mine) != encode(other):
            yield from _entries(mine, other, f"request {mine['request']}")
    # who wrote the record decides nothing, and the revision has been compared
    yield from _entries(ours["audit"], theirs["audit"], "the audit", but=("steps", "revision", "version"))
    # checks are of the recording that answered, which the record does not hold; earlier versions said no evidence
    free = ("audit", "checks", "source", *free, *(() if "evidence" in theirs else ("evidence",)))
    yield from _entries(ours, theirs, "the result", but=free)


def _entries(
    ours: Any, theirs: Any, where: str, tiny: float = TINY, *, but: Sequence[str] = ()
) -> Iterator[Difference]:
    """The places where two values of JSON differ, in other keys than some."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in dict.fromkeys(key for key in chain(ours, theirs) if key not in but):
            near = TINY_NATS if key == "status" else tiny
            yield from _entries(ours.get(key, ABSENT), theirs.get(key, ABSENT), f"{where}, {key}", near)
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _entries(mine, other, f"{where}[{place}]", tiny)
    elif not _agree(ours, theirs, tiny):
        yield where, ours, theirs


def _agree(ours: Any, theirs: Any, tiny: float) -> bool:
    """Whether two values are the same; numbers that are not whole need only be close."""
    if isinstance(ours, float) and type(theirs) in (int, float):
        return abs(theirs) <= LARGEST and math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=tiny)
    return type(ours) is type(theirs) and bool(ours == theirs)


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
    document: Any = as_document(result) if isinstance(result, Identification) else result
    passed: list[str] = []
    show = progress or (lambda _done, _total: None)
    try:
        record = read(result_of(document))
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
            sealed = record.stated.audit.seal in (None, seal_of(record.stated.audit))
            require(sealed, "the answers must be those that the seal of the record is of; they are others")
            return CheckedRecord(False, tuple(passed), doubt, f"{_claim(record)}, if its choices are trusted", TRUSTED)
    except NotValidError as fault:
        return CheckedRecord(False, tuple(passed), str(fault), "nothing is proved", None)
    return CheckedRecord(True, (*passed, "choices"), None, _claim(record), REPLAYED)


def _claim(record: Record) -> str:
    stated, nearly = record.stated, record.stated.nearly_best
    wrong = conditional(f"with an error probability of at most {record.delta!r}", stated.audit.inferred_outputs)
    if stated.question:
        result = identification_of(stated)
        if stated.decided or stated.question.proved_so_far(result, record.delta, None) is not None:
            return f"{stated.question.answer(result)}, {wrong}"
    if record.best is not None:
        channel, bits, undecided = record.best, record.epsilon, ""
    elif nearly is not None:
        channel, bits, undecided = nearly.channel, nearly.within_bits, "undecided: "
    else:
        return "undecided: nothing is claimed"
    P = None if record.fixed_input is None else record.fixed_input.tolist()
    largest = "the best" if P is None else f"the largest I(P;W) at P = ({', '.join(map(repr, P))})"
    what = f"is within {bits!r} bit of {largest}" if bits else f"{'has' if P else 'is'} {largest}"
    return f"{undecided}{channel} {what} {wrong}"
