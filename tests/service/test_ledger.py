"""Who senses what: every position is free, lent or answered, and never two of these, whatever happens."""

import sys
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from bestchannel.policies import Request
from bestchannel.runs.history import AnswerPiece
from bestchannel.service import ledger as module
from bestchannel.service.ledger import ANSWERED, FREE, Ledger, identifier

REQUEST = Request(3, {0: (10, 4), 2: (0, 7)})
ASKED = 21
WIDE = Request(1, {0: (10_000, 10_000)})


def begun(request=REQUEST, pieces=(), lease_s=5.0):
    ledger = Ledger(lease_s, lambda: None)
    ledger.begin(request, pieces)
    return ledger


def piece(channel, x, start, *counts):
    return AnswerPiece(identifier(channel, x, start), channel, x, counts)


def offered(ledger, channel, x, start, *counts):
    """What becomes of a piece, which is added where it is kept."""
    return ledger.take_in(piece(channel, x, start, *counts)).outcome


def parts(ledger, lease):
    """What a lease still has: channel, input, start, end."""
    return [(*row, span.start, span.end) for row, span in ledger.parts_of(lease)]


def senses(ledger, lease):
    return sum(end - start for *_, start, end in parts(ledger, lease))


def free(ledger):
    return ledger._held({0, 1, 2})[FREE]


def check(ledger):
    """Every position is in one span, and what is lent is in leases that have not ended."""
    asked = {(channel, x): count for channel, row in REQUEST.senses.items() for x, count in enumerate(row) if count}
    for row, spans in ledger._rows.items():
        assert all(span.start < span.end for span in spans)
        assert [0, *(span.end for span in spans)] == [*(span.start for span in spans), asked[row]]
    assert ledger._held(None).keys() - {FREE, ANSWERED} == set(ledger.leases.values())
    assert all(parts(ledger, lease) for lease in ledger.leases.values())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("lend"), st.sampled_from([{0}, {2}, {0, 2}, {1}]), st.integers(1, 9), st.integers(1, 3)),
        st.tuples(st.just("offer"), st.sampled_from([(0, 0), (0, 1), (2, 1), (2, 0), (5, 5)]), st.integers(0, 12), st.integers(1, 6)),
        st.tuples(st.just("give back"), st.integers(0, 8)),
        st.tuples(st.just("expire"), st.integers(0, 20)),
    ),
    max_size=40,
)  # fmt: skip


@given(STEPS)
def test_every_position_is_free_or_lent_or_answered_once(steps):
    ledger, leases = begun(lease_s=0.0), []
    for kind, *details in steps:
        if kind == "lend":
            channels, most, most_parts = details
            with mock.patch.object(module, "MOST_PARTS", most_parts):
                lease = ledger.lend(("t", "s"), channels, most, now=float(len(leases)))
            leases.append(lease.id if lease else "")
            if lease:
                lent = parts(ledger, lease)
                assert senses(ledger, lease) <= most
                assert len(lent) <= most_parts
                assert {channel for channel, *_ in lent} <= channels
        elif kind == "offer":
            (channel, x), start, count = details
            offered(ledger, channel, x, start, count, 0)
        elif kind == "give back":
            ledger.give_back(*leases[details[0] : details[0] + 1])
        else:
            ledger.expire(details[0])
        check(ledger)


def test_a_lease_on_what_lies_between_very_many_pieces_is_made_and_ended_at_once():
    """A sensor may answer every other sense of a large request: others get work in milliseconds, not in seconds."""
    ledger, pieces, calls = begun(Request(1, {0: (20_000,)})), 4000, 0
    for i in range(pieces):
        assert offered(ledger, 0, 0, 2 * i, 1, 0) == "kept"

    def count(*_):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    lease = ledger.lend(("token", "sensor"), {0}, module.MOST_PARTS, 0.0)
    lent = parts(ledger, lease)
    ledger.give_back(lease.id)
    sys.setprofile(None)
    assert lent == [(0, 0, i, i + 1) for i in range(1, 2 * module.MOST_PARTS, 2)]
    assert calls < module.MOST_PARTS * pieces / 4  # fewer than where each part goes by all pieces


def test_a_piece_is_kept_once_repeated_harmlessly_and_contradicted_in_vain():
    ledger = begun()
    assert offered(ledger, 0, 0, 2, 3, 1) == "kept"
    assert offered(ledger, 0, 0, 2, 3, 1) == "repeated"
    assert offered(ledger, 0, 0, 2, 1, 3) == "refused"
    for start, count in ((0, 3), (5, 2), (3, 1), (0, 10)):
        assert offered(ledger, 0, 0, start, count, 0) == "refused"
    assert offered(ledger, 0, 0, 0, 2, 0) == offered(ledger, 0, 0, 6, 0, 4) == "kept"
    assert (
        offered(ledger, 0, 0, 10, 1, 0) == offered(ledger, 2, 0, 0, 1, 0) == offered(ledger, 9, 0, 0, 1, 0) == "refused"
    )


def test_what_a_lease_has_not_answered_is_free_again_when_it_is_over():
    ledger = begun()
    lease = ledger.lend(("t", "s"), {0}, 12, now=0.0)
    assert parts(ledger, lease) == [(0, 0, 0, 10), (0, 1, 0, 2)]
    assert offered(ledger, 0, 0, 4, 1, 0) == "kept"
    assert parts(ledger, lease) == [(0, 0, 0, 4), (0, 0, 5, 10), (0, 1, 0, 2)]
    assert ledger.expire(4.9) == []
    assert ledger.expire(5.0) == [lease]
    again = ledger.lend(("t", "t"), {0}, 99, now=5.0)
    assert parts(ledger, again) == [(0, 0, 0, 4), (0, 0, 5, 10), (0, 1, 0, 4)]


def test_a_late_piece_is_kept_where_nobody_else_has_answered():
    ledger = begun()
    ledger.lend(("t", "slow"), {2}, 99, now=0.0)
    ledger.expire(6.0)
    other = ledger.lend(("t", "quick"), {2}, 99, now=6.0)
    assert offered(ledger, 2, 1, 0, 3, 0) == "kept"
    assert parts(ledger, other) == [(2, 1, 3, 7)]


def test_a_ledger_made_again_from_the_pieces_on_disk_is_the_same():
    ledger = begun()
    pieces = [piece(0, 0, 2, 3, 1), piece(2, 1, 0, 0, 7)]
    for each in pieces:
        assert offered(ledger, each.channel, each.x, int(each.id.partition("@")[2]), *each.counts) == "kept"
    again = begun(REQUEST, pieces)
    assert again._rows == ledger._rows
    assert (*again.standing([])[:2], free(again)) == (ASKED, 11, 10)


def test_a_piece_that_a_person_told_is_placed_where_there_is_room():
    told = AnswerPiece("by hand", 0, 0, (4, 3))
    ledger = begun(REQUEST, [told, piece(0, 0, 2, 1, 0), AnswerPiece("0.1@0", 0, 0, (1, 0))])
    assert ledger.standing([])[1] == 9
    assert ledger._held({0})[FREE] == 5
    check(ledger)


def test_a_piece_of_a_person_that_is_called_like_one_of_a_sensor_is_not_taken_for_it():
    ledger = begun(REQUEST, [AnswerPiece(identifier(0, 1, 0), 0, 0, (1, 0))])
    assert offered(ledger, 0, 1, 0, 1, 0) == "refused"
    assert offered(ledger, 0, 1, 1, 1, 0) == "kept"
    check(ledger)


def names(count, token):
    return [(token, f"{token}{i}") for i in range(count)]


def test_leases_of_one_token_do_not_starve_the_sensors_of_another():
    ledger = begun(WIDE, lease_s=30.0)
    for sensor in names(1200, "greedy"):
        ledger.hear_of(sensor, {0}, 0.0)
        ledger.lend(sensor, {0}, 1, 0.0)
    assert len(ledger.leases) < 1000
    for sensor in names(20, "modest"):
        ledger.hear_of(sensor, {0}, 0.0)
        lease = ledger.lend(sensor, {0}, 1, 0.0)
        assert lease.sensor == sensor


def test_work_is_shared_among_tokens_before_it_is_shared_among_their_sensors():
    ledger = begun(WIDE, lease_s=30.0)
    for sensor in [*names(9, "many"), ("one", "alone")]:
        ledger.hear_of(sensor, {0}, 0.0)
    all_of_it = free(ledger)
    lent = [ledger.lend(sensor, {0}, all_of_it, 0.0) for sensor in names(9, "many")]
    assert sum(senses(ledger, lease) for lease in lent) <= -(-all_of_it // 2)
    alone = ledger.lend(("one", "alone"), {0}, all_of_it, 0.0)
    assert senses(ledger, alone) >= all_of_it // 2


def test_lease_that_is_renewed_and_never_answered_goes_to_another_token_in_the_end():
    ledger = begun(WIDE, lease_s=30.0)
    all_of_it = free(ledger)
    kept = ledger.lend(("greedy", "g"), {0}, all_of_it, 0.0)
    for now in range(0, 300, 10):
        assert ledger.renew(kept.id, float(now))
        assert ledger.lend(("modest", "m"), {0}, all_of_it, float(now)) is None
    lease = ledger.lend(("modest", "m"), {0}, all_of_it, 301.0)
    assert parts(ledger, lease)
    assert not ledger.renew(kept.id, 301.0)


def test_sensors_of_one_token_do_not_push_those_of_another_out_of_memory():
    ledger = begun(WIDE, lease_s=30.0)
    ledger.hear_of(("modest", "m"), {0}, 0.0)
    for sensor in names(2000, "greedy"):
        ledger.hear_of(sensor, {0}, 1.0)
    assert ("modest", "m") in ledger.sensors
    assert len(ledger.sensors) <= 1000
