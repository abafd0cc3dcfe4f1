"""Who senses what: every position is free, lent or answered, and never two of these, whatever happens."""

from hypothesis import given
from hypothesis import strategies as st

from bestchannel.policies import Request
from bestchannel.runs.pieces import AnswerPiece
from bestchannel.service.ledger import Ledger, Part, identifier

REQUEST = Request(3, {0: (10, 4), 2: (0, 7)})
ASKED = 21


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
        (*row, i) for row, found in ledger._answered.items() for start, counts in found.counts.items() for i in range(start, start + sum(counts))
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
    ledger, leases = Ledger(REQUEST), 0
    for kind, *details in steps:
        if kind == "lend":
            channels, most, parts = details
            lease = ledger.lend(str(leases), ("t", "s"), channels, most, parts, expires=leases, now=0.0)
            leases += 1
            if lease:
                assert sum(part.count for part in lease.parts) <= most
                assert len(lease.parts) <= parts
                assert {part.channel for part in lease.parts} <= channels
        elif kind == "offer":
            (channel, x), start, count = details
            offered(ledger, channel, x, start, count, 0)
        elif kind == "give back":
            ledger.give_back(str(details[0]))
        else:
            ledger.expire(details[0])
        found = everything(ledger)
        assert len(set(found)) == len(found) == ASKED
        assert all(lease.parts for lease in ledger.leases.values())


def test_a_piece_is_kept_once_repeated_harmlessly_and_contradicted_in_vain():
    ledger = Ledger(REQUEST)
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
    ledger = Ledger(REQUEST)
    lease = ledger.lend("a", ("t", "s"), {0}, 12, 9, expires=5.0, now=0.0)
    assert lease.parts == [Part(0, 0, 0, 10), Part(0, 1, 0, 2)]
    assert offered(ledger, 0, 0, 4, 1, 0) == "kept"
    assert lease.parts == [Part(0, 0, 0, 4), Part(0, 0, 5, 5), Part(0, 1, 0, 2)]
    assert ledger.expire(4.9) == []
    assert [over.id for over in ledger.expire(5.0)] == ["a"]
    assert ledger.lend("b", ("t", "t"), {0}, 99, 9, 9.0, 0.0).parts == [
        Part(0, 0, 0, 4),
        Part(0, 0, 5, 5),
        Part(0, 1, 0, 4),
    ]


def test_a_late_piece_is_kept_where_nobody_else_has_answered():
    ledger = Ledger(REQUEST)
    ledger.lend("a", ("t", "slow"), {2}, 99, 9, 1.0, 0.0)
    ledger.expire(2.0)
    other = ledger.lend("b", ("t", "quick"), {2}, 99, 9, 9.0, 0.0)
    assert offered(ledger, 2, 1, 0, 3, 0) == "kept"
    assert other.parts == [Part(2, 1, 3, 4)]


def test_a_ledger_made_again_from_the_pieces_on_disk_is_the_same():
    ledger = Ledger(REQUEST)
    pieces = [piece(0, 0, 2, 3, 1), piece(2, 1, 0, 0, 7)]
    for each in pieces:
        assert offered(ledger, each.channel, each.x, int(each.id.partition("@")[2]), *each.counts) == "kept"
    again = Ledger(REQUEST, pieces)
    assert sorted(everything(again)) == sorted(everything(ledger))
    assert (again.asked_senses, again.answered_senses, again.free_in({0, 2})) == (ASKED, 11, 10)


def test_a_piece_that_a_person_told_is_placed_where_there_is_room():
    told = AnswerPiece("by hand", 0, 0, (4, 3))
    ledger = Ledger(REQUEST, [told, piece(0, 0, 2, 1, 0), AnswerPiece("0.1@0", 0, 0, (1, 0))])
    assert ledger.answered_senses == 9
    assert ledger.free_in({0}) == 5
    assert len(set(everything(ledger))) == ASKED
