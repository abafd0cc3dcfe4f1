"""Who senses what: every position is free, lent or answered, and never two of these, whatever happens."""

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from bestchannel.policies import Request
from bestchannel.runs.history import AnswerPiece
from bestchannel.service import ledger as module
from bestchannel.service.ledger import Ledger, Part, identifier

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


def positions(parts):
    return [(part.channel, part.x, i) for part in parts for i in range(part.start, part.end)]


def everything(ledger):
    """Every position with where it is."""
    free = positions(part for parts in ledger._free.values() for part in parts)
    lent = positions(part for lease in ledger.leases.values() for part in lease.parts)
    answered = [
        (*row, i) for row, found in ledger._answered.items() for start, _, counts in found for i in range(start, start + sum(counts))
    ]  # fmt: skip
    return free + lent + answered


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
            channels, most, parts = details
            with mock.patch.object(module, "MOST_PARTS", parts):
                lease = ledger.lend(("t", "s"), channels, most, now=float(len(leases)))
            leases.append(lease.id if lease else "")
            if lease:
                assert sum(part.count for part in lease.parts) <= most
                assert len(lease.parts) <= parts
                assert {part.channel for part in lease.parts} <= channels
        elif kind == "offer":
            (channel, x), start, count = details
            offered(ledger, channel, x, start, count, 0)
        elif kind == "give back":
            ledger.give_back(*leases[details[0] : details[0] + 1])
        else:
            ledger.expire(details[0])
        found = everything(ledger)
        assert len(set(found)) == len(found) == ASKED
        assert all(lease.parts for lease in ledger.leases.values())


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
    assert lease.parts == [Part(0, 0, 0, 10), Part(0, 1, 0, 2)]
    assert offered(ledger, 0, 0, 4, 1, 0) == "kept"
    assert lease.parts == [Part(0, 0, 0, 4), Part(0, 0, 5, 5), Part(0, 1, 0, 2)]
    assert ledger.expire(4.9) == []
    assert ledger.expire(5.0) == [lease]
    assert ledger.lend(("t", "t"), {0}, 99, now=5.0).parts == [
        Part(0, 0, 0, 4),
        Part(0, 0, 5, 5),
        Part(0, 1, 0, 4),
    ]


def test_a_late_piece_is_kept_where_nobody_else_has_answered():
    ledger = begun()
    ledger.lend(("t", "slow"), {2}, 99, now=0.0)
    ledger.expire(6.0)
    other = ledger.lend(("t", "quick"), {2}, 99, now=6.0)
    assert offered(ledger, 2, 1, 0, 3, 0) == "kept"
    assert other.parts == [Part(2, 1, 3, 4)]


def test_a_ledger_made_again_from_the_pieces_on_disk_is_the_same():
    ledger = begun()
    pieces = [piece(0, 0, 2, 3, 1), piece(2, 1, 0, 0, 7)]
    for each in pieces:
        assert offered(ledger, each.channel, each.x, int(each.id.partition("@")[2]), *each.counts) == "kept"
    again = begun(REQUEST, pieces)
    assert sorted(everything(again)) == sorted(everything(ledger))
    assert (*again.standing([])[:2], again._free_in({0, 2})) == (ASKED, 11, 10)


def test_a_piece_that_a_person_told_is_placed_where_there_is_room():
    told = AnswerPiece("by hand", 0, 0, (4, 3))
    ledger = begun(REQUEST, [told, piece(0, 0, 2, 1, 0), AnswerPiece("0.1@0", 0, 0, (1, 0))])
    assert ledger.standing([])[1] == 9
    assert ledger._free_in({0}) == 5
    assert len(set(everything(ledger))) == ASKED


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
    free = ledger._free_in({0})
    lent = [ledger.lend(sensor, {0}, free, 0.0) for sensor in names(9, "many")]
    assert sum(part.count for lease in lent for part in lease.parts) <= -(-free // 2)
    alone = ledger.lend(("one", "alone"), {0}, free, 0.0)
    assert sum(part.count for part in alone.parts) >= free // 2


def test_lease_that_is_renewed_and_never_answered_goes_to_another_token_in_the_end():
    ledger = begun(WIDE, lease_s=30.0)
    free = ledger._free_in({0})
    kept = ledger.lend(("greedy", "g"), {0}, free, 0.0)
    for now in range(0, 300, 10):
        assert ledger.renew(kept.id, float(now))
        assert ledger.lend(("modest", "m"), {0}, free, float(now)) is None
    lease = ledger.lend(("modest", "m"), {0}, free, 301.0)
    assert lease.parts
    assert not ledger.renew(kept.id, 301.0)


def test_sensors_of_one_token_do_not_push_those_of_another_out_of_memory():
    ledger = begun(WIDE, lease_s=30.0)
    ledger.hear_of(("modest", "m"), {0}, 0.0)
    for sensor in names(2000, "greedy"):
        ledger.hear_of(sensor, {0}, 1.0)
    assert ("modest", "m") in ledger.sensors
    assert len(ledger.sensors) <= 1000
