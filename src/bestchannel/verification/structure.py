"""What must be so in every record, whatever the policy: nothing missing, nothing double, sums that add up."""

from __future__ import annotations

import math

from bestchannel.verification.record import NotValidError, Record, Step


def check_structure(record: Record) -> None:
    """Raise `NotValidError` at the first thing that does not add up."""
    _check_promise(record)
    _check_steps(record)
    _check_claim(record)
    _check_nearly_best(record)


def _check_promise(record: Record) -> None:
    if not 0.0 < record.delta < 1.0:
        raise NotValidError(f"delta must lie between 0 and 1; the record has {record.delta:g}")
    if record.epsilon < 0.0:
        raise NotValidError(f"epsilon must not be negative; the record has {record.epsilon:g}")
    P = record.fixed_input
    for channel, (n_inputs, _) in enumerate(record.alphabets):
        if P is None or record.worthless(channel):
            continue
        if P.shape != (n_inputs,) or (P < 0.0).any() or abs(P.sum() - 1.0) > 1e-9:
            name = record.names[channel]
            raise NotValidError(
                f"the fixed input distribution must be one of the inputs of {name!r}; it is {P.tolist()}"
            )


def _check_steps(record: Record) -> None:
    senses = 0
    for place, step in enumerate(record.steps, start=1):
        if step.request != place:
            raise NotValidError(f"requests must be numbered 1, 2, 3 …; number {place} of them has {step.request}")
        _check_counts(record, step)
        senses += sum(map(sum, step.senses.values()))
        if step.total != senses:
            raise NotValidError(f"{senses} senses were made up to request {place}; the record says {step.total}")
        if not step.candidates:
            raise NotValidError(f"no candidate is left after request {place}")
    if record.stated.senses != senses:
        raise NotValidError(f"the steps hold {senses} senses; the record says {record.stated.senses}")
    _check_cost(record)


def _check_cost(record: Record) -> None:
    """The cost that is stated is that of the senses, by the costs of the policy."""
    costs = record.costs
    if costs is None or record.stated.cost is None:
        if (costs is None) != (record.stated.cost is None):
            raise NotValidError("a record with costs says what its senses cost, and no other does; this one does not")
        return
    if [each.shape for each in costs] != [(n,) for n, _ in record.alphabets] or not all((c > 0.0).all() for c in costs):
        raise NotValidError("the record must have a positive cost for every input of every channel; it has not")
    paid = sum(float(costs[c] @ senses) for step in record.steps for c, senses in step.senses.items())
    if not math.isclose(record.stated.cost, paid, rel_tol=1e-9):
        raise NotValidError(f"the senses cost {paid:g}; the record says {record.stated.cost:g}")


def _check_counts(record: Record, step: Step) -> None:
    """The answer has the channels, the shape and the sums that were asked for."""
    if step.counts.keys() != step.senses.keys():
        raise NotValidError(f"request {step.request} must be answered for the channels that it asks for, and no other")
    for channel, table in step.counts.items():
        where = f"channel {record.names[channel]!r} in request {step.request}"
        if table.shape != record.alphabets[channel] or len(step.senses[channel]) != len(table):
            raise NotValidError(f"the counts of {where} must be a table of {record.alphabets[channel]}")
        for x, (asked, row) in enumerate(zip(step.senses[channel], table.tolist(), strict=True)):
            if asked < 0 or sum(row) != asked:
                raise NotValidError(f"input x={x} of {where} was sensed {asked} times; its counts add up to {sum(row)}")


def _check_nearly_best(record: Record) -> None:
    """It is said of a candidate, and by Adaptive alone."""
    if record.nearly_best is None:
        return
    channel, bits = record.nearly_best
    if record.policy != "adaptive":
        raise NotValidError(f"the policy {record.policy} proves nothing before its end; the record has nearly_best")
    if channel not in record.candidates or bits < 0.0 or (record.best is not None and channel != record.best):
        raise NotValidError(
            f"nearly_best must be the best channel or a candidate, within bits >= 0; it is {record.names[channel]!r}"
            f" within {bits:g}"
        )


def _check_claim(record: Record) -> None:
    """decided ⇔ a best channel is named ⇔ one candidate is left, or several of value 0 by their alphabets."""
    everyone = frozenset(range(len(record.names)))
    last = record.steps[-1].candidates if record.steps else everyone
    if record.candidates != last and not all(map(record.worthless, everyone)):
        raise NotValidError("the candidates of the result must be those after the last request; they are others")
    if record.stated.decided != (record.best is not None):
        raise NotValidError("a decided record names a best channel, an undecided one names none; this one does neither")
    decided = len(record.candidates) == 1 or all(map(record.worthless, record.candidates))
    if record.stated.decided != decided:
        raise NotValidError(
            f"decided means that one candidate is left; decided is {record.stated.decided}"
            f", and the candidates number {len(record.candidates)}"
        )
    if record.best is not None and record.best not in record.candidates:
        raise NotValidError(f"the best channel must be a candidate; {record.names[record.best]!r} was ruled out")
