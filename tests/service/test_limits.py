"""Rooms and turns: whoever comes finds a place as long as others hold more, and the owner always does."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestchannel.service.limits import OWNER, Client, Limits, Places, Turns
from bestchannel.service.messages import RefusedError

CLIENTS = [OWNER, *map(Client, "abc")]


def room(most=6, most_each=4, reserve=1):
    return Places("calls", most, most_each, reserve)


def alone(work):
    """What a coroutine returns, in a loop of its own: that of a browser may be running in this thread."""
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(asyncio.run, work).result()


@given(st.lists(st.tuples(st.sampled_from(CLIENTS), st.booleans(), st.booleans()), max_size=40))
def test_no_room_is_overcrowded_and_the_owner_is_never_refused(steps):
    place, lost, held = room(), [], []
    for client, leaves, always in steps:
        if leaves and held:
            held.pop(0).leave()
            continue
        try:
            hold = place.enter(client, lambda: None, always=always)
        except RefusedError:
            assert not client.owns
            assert not always
            continue
        hold.evict = lambda hold=hold: lost.append(hold)
        held.append(hold)
        held = [each for each in held if each in place]
        assert len(place) == len(held) <= place.most
        assert len(place) - place.held_by(OWNER) <= place.most - place.reserve
        assert all(place.held_by(each) <= place.most_each for each in CLIENTS[1:])
    assert not [hold for hold in lost if hold in place]


def test_client_with_the_most_places_loses_its_oldest_to_whoever_has_fewer():
    place, lost = room(), []
    for i in range(4):
        place.enter(Client("many"), lambda i=i: lost.append(i))
    place.enter(Client("few"), lambda: lost.append("few"))
    place.enter(Client("new"), lambda: lost.append("new"))
    assert lost == [0]
    place.enter(OWNER, lambda: lost.append("owner"))
    place.enter(OWNER, lambda: lost.append("owner"))
    assert lost == [0, 1]
    with pytest.raises(RefusedError, match="too many calls now"):
        place.enter(Client("few"), lambda: None)


def test_line_of_an_unknown_caller_replaces_the_oldest_of_its_own_address():
    place, lost = room(most_each=3), []
    for i in range(5):
        place.enter(Client.at("10.0.0.1"), lambda i=i: lost.append(i), always=True)
    assert lost == [0, 1]


def test_one_machine_does_not_have_as_many_parties_as_addresses_of_the_sixth_version():
    assert Client.at("2001:db8::1") == Client.at("2001:db8::ffff:1") != Client.at("2001:db8:1::1")
    assert Client.at("127.0.0.1") != Client.at("127.0.0.2")


async def evicted():
    place = room(most=1, most_each=1, reserve=0)

    async def wait():
        async with place.held(Client("a")):
            await asyncio.sleep(3600)

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    async with place.held(OWNER):
        with pytest.raises(RefusedError, match="others needed the place"):
            await waiting
        return place.held_by(OWNER), len(place)


def test_what_waits_is_refused_when_the_owner_needs_its_place():
    assert alone(evicted()) == (1, 1)


async def order(names):
    turns, begun = Turns(), []

    async def begin(client):
        await turns.take(client)
        begun.append(client.name)

    await asyncio.gather(*(begin(OWNER if name == "owner" else Client(name)) for name in names))
    return begun


def test_owner_begins_at_once_and_others_in_turn():
    assert alone(order([*"aaaab", "owner"])) == ["a", "owner", "a", "b", "a", "a"]


def test_connections_leave_files_for_the_runs():
    limits = Limits()
    limits.fit(800)
    assert limits.anonymous.most + limits.connections.most == 400


def test_revoked_client_loses_all_that_it_holds():
    limits, lost = Limits(), []
    for each in (limits.connections, limits.streams):
        each.enter(Client.of_token("1"), lambda: lost.append("1"))
        each.enter(Client.of_token("2"), lambda: lost.append("2"))
    limits.clear(Client.of_token("1"))
    assert lost == ["1", "1"]
