"""Who holds how much of what there is little of: connections, bodies on their way, calls that wait, streams, drawings.

A room has places. Who holds them are clients: the bearers of a token, or an address that has shown none. Where there is
no place left, the client that holds the most loses its oldest one to whoever holds fewer, so nobody is kept out by
another's number of calls; some places are for the owner alone, who loses none to others.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from bestchannel.service.messages import RefusedError

AGAIN_S = 2  # seconds after which whoever found no place, or lost one, is to try again


@dataclass(frozen=True)
class Client:
    """Who holds places."""

    name: str
    owns: bool = False

    @staticmethod
    @lru_cache(1000)
    def at(address: str) -> Client:
        """An address; of the sixth version a network, all of which one machine may have."""
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:
            return Client(address)
        return Client(str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else address)

    @staticmethod
    def of_token(id: str) -> Client:
        """The bearers of a token that was made for others."""
        return Client(f"token {id}")


OWNER = Client("owner", owns=True)


class Hold:
    """One place of a client in a room; `evict` ends what holds it."""

    def __init__(self, room: Places, client: Client, evict: Callable[[], None]) -> None:
        self.room, self.client, self.evict = room, client, evict

    def leave(self) -> None:
        """Give the place back; one that was lost stays so."""
        if self in self.room:
            holds = self.room.holds[self.client]
            del holds[self]
            if not holds:
                del self.room.holds[self.client]


@dataclass
class Places:
    """At most `most` places, `most_each` for one client other than the owner, and `reserve` for the owner alone."""

    what: str
    most: int
    most_each: int
    reserve: int
    holds: dict[Client, dict[Hold, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Places that are held."""
        return sum(map(len, self.holds.values()))

    def __contains__(self, hold: Hold) -> bool:
        """Whether the place is still held."""
        return hold in self.holds.get(hold.client, {})

    def held_by(self, client: Client) -> int:
        """Places that a client holds."""
        return len(self.holds.get(client, ()))

    def enter(self, client: Client, evict: Callable[[], None], *, always: bool = False) -> Hold:
        """Take a place, of another if need be; where the client itself holds the most it is refused.

        `always` lets it in even so, in the place of its own oldest: nobody knows yet who calls on a new connection.
        """
        hold = Hold(self, client, evict)
        self._add(hold, always=always)
        return hold

    def receive(self, hold: Hold, client: Client) -> None:
        """Let a place of any room become one of this client here, always; one that was lost stays so."""
        if hold in hold.room and (hold.room is not self or hold.client != client):
            hold.leave()
            hold.room, hold.client = self, client
            self._add(hold, always=True)

    def clear(self, client: Client) -> None:
        """Take back all places of a client."""
        while client in self.holds:
            self._evict_oldest(client)

    @asynccontextmanager
    async def held(self, client: Client) -> AsyncIterator[Hold]:
        """Hold a place while something is waited for; whoever loses it meanwhile is refused."""
        hold = self.enter(client, lambda: None)
        try:
            async with asyncio.timeout(None) as timeout:
                hold.evict = lambda: timeout.reschedule(0.0)
                yield hold
        except TimeoutError:
            if timeout.expired():
                raise self._refusal("others needed the place of this call") from None
            raise
        finally:
            hold.leave()
            hold.evict = lambda: None  # which refers to the task that holds the place

    def _add(self, hold: Hold, *, always: bool) -> None:
        client, own, all_held = hold.client, self.held_by(hold.client), len(self)
        others = all_held - self.held_by(OWNER)
        fits = client.owns or (own < self.most_each and others < self.most - self.reserve)
        if not fits or all_held >= self.most:
            loser = client
            if client.owns or own < self.most_each:
                loser = max((other for other in self.holds if not other.owns), key=self.held_by, default=OWNER)
            fairer = loser != client and not loser.owns and self.held_by(loser) > own + 1
            if not (always or client.owns or fairer):
                raise self._refusal(f"there are too many {self.what} now")
            self._evict_oldest(loser)
        self.holds.setdefault(client, {})[hold] = None

    def _evict_oldest(self, client: Client) -> None:
        hold = next(iter(self.holds[client]))
        hold.leave()
        hold.evict()

    def _refusal(self, words: str) -> RefusedError:
        return RefusedError(429, "room", f"{words}; try again later", {"retry-after": str(AGAIN_S)})


class Turns:
    """Lets one call of others begin in each round of the event loop, clients in turn; the owner's begin at once."""

    def __init__(self) -> None:
        self._waiting: dict[Client, deque[asyncio.Future[None]]] = {}
        self._begun = False

    async def take(self, client: Client) -> None:
        """Wait for one's turn."""
        if client.owns:
            return
        loop = asyncio.get_running_loop()
        if self._begun:
            turn = loop.create_future()
            self._waiting.setdefault(client, deque()).append(turn)
            await turn
        else:
            self._begun = True
            loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._begun = bool(self._waiting)
        if self._begun:
            client = next(iter(self._waiting))
            turns = self._waiting.pop(client)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
            loop.call_soon(self._next, loop)


class Limits:
    """The rooms of a service."""

    def __init__(self) -> None:
        self.anonymous = Places("connections without a token", 1000, 500, 0)
        self.connections = Places("connections", 3000, 3000, 200)
        self.unread = Places("answers that nobody reads", 256, 64, 32)
        self.bodies = Places("bodies on their way", 256, 64, 32)
        self.waiting = Places("calls that wait for work", 1000, 500, 50)
        self.streams = Places("watchers", 500, 250, 50)
        self.drawings = Places("reports and results in the making", 32, 8, 8)
        self.copies = Places("files on their way", 8, 3, 2)

    def fit(self, files: int) -> None:
        """Let connections take at most half of the files that the system permits."""
        self.anonymous.most = min(self.anonymous.most, files // 8)
        self.connections.most = min(self.connections.most, 3 * files // 8)

    def clear(self, client: Client) -> None:
        """End all that a client holds."""
        for room in vars(self).values():
            room.clear(client)
