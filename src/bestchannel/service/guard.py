"""The rules that every call passes before anything is done for it: host, origin, token, rate, size, time."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from bestchannel.service.calls import NOBODY
from bestchannel.service.limits import Party, Places
from bestchannel.service.messages import RefusedError
from bestchannel.service.scopes import Scope, Tokens

MOST_BODY = 2**20
"""Bytes of a body."""

BODY_S = 10.0
"""Seconds in which a body must have arrived."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

MOST_KNOWN = 10_000
"""Clients whose rates are remembered."""

Receive = Callable[[], Awaitable[Any]]


class Rates:
    """At most `burst` calls at once, and `rate` per second in the long run, for each client."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, client: Hashable) -> float:
        """Count a call: 0, or the seconds after which the client may try again."""
        now = time.monotonic()
        left, then = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._rate
        self._left[client] = (left - 1.0 if wait == 0.0 else left), now
        if len(self._left) > MOST_KNOWN:
            self._left.popitem(last=False)
        return wait


class Guard:
    """What lets calls pass or refuses them; `names` are the hosts that the service is called by."""

    def __init__(self, tokens: Tokens, names: Collection[str], *, any_address: bool, cookie: str) -> None:
        self.tokens, self._cookie = tokens, cookie
        self._names, self._any_address = LOOPBACK | {name.lower() for name in names}, any_address
        self._owner, self._others = Rates(10_000, 20_000), Rates(2000, 4000)
        self._strangers, self._failures = Rates(100, 400), Rates(1, 20)

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse a name that the service does not have: another site may have been made to point here."""
        name = _host_name(headers.get("host", ""))
        if name not in self._names and not (self._any_address and _is_address(name)):
            raise RefusedError(403, "host", "this service has another name; start it with --allow-host to be called so")

    def check_origin(self, method: str, headers: Mapping[str, str], by_cookie: bool) -> None:
        """Refuse what another site makes a browser send.

        Pages without a Referer send their forms with the origin "null"; the browser then says itself whose form it was.
        """
        if method in SAFE:
            return
        origin = headers.get("origin")
        if origin is None and not by_cookie:
            return  # no browser
        if origin == "null" and headers.get("sec-fetch-site") == "same-origin":
            return
        if origin is None or urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
            raise RefusedError(403, "origin", "only pages of this service may send this")

    def admit(self, headers: Mapping[str, str], peer: str) -> tuple[Scope, bool]:
        """What the token of a call permits, and whether a cookie brought it; NOBODY without a token."""
        bearer = headers.get("authorization", "")
        by_cookie = not bearer
        token = self._cookie_token(headers) if by_cookie else bearer.removeprefix("Bearer ").strip()
        judged = self.tokens.judged(token)
        if isinstance(judged, Scope):
            self._limit(self._owner if judged.owns else self._others, judged.party, "rate")
            return judged, by_cookie
        if token and not by_cookie:
            self._limit(self._failures, Party.at(peer), "token rate")
            raise RefusedError(401, "token", judged, {"www-authenticate": "Bearer"})
        self._limit(self._strangers, Party.at(peer), "rate")
        return NOBODY, False

    def signed_in(self, token: str, peer: str) -> Scope | None:
        """What a token permits that a person brings, by address or form."""
        scope = self.tokens.scope(token)
        if scope is None:
            self._limit(self._failures, Party.at(peer), "token rate")
        return scope

    def set_cookie(self, token: str, *, secure: bool) -> str:
        """The header that lets a browser keep the token, for this service only and out of reach of scripts."""
        return f"{self._cookie}={token}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"

    def _limit(self, rates: Rates, client: Party | None, rule: str) -> None:
        if wait := rates.take(client):
            raise RefusedError(
                429, rule, "too many calls; wait as Retry-After says", {"retry-after": str(int(wait) + 1)}
            )

    def _cookie_token(self, headers: Mapping[str, str]) -> str:
        try:
            cookies = SimpleCookie(headers.get("cookie", "")[:8192])
        except CookieError:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""


async def read_body(headers: Mapping[str, str], receive: Receive, room: Places, party: Party) -> bytes:
    """The body of a call, which must be short and arrive soon; it holds a place in the room meanwhile."""
    declared = headers.get("content-length", "0")
    if not declared.isascii() or not declared.isdigit() or int(declared[:20]) > MOST_BODY:
        raise _too_large()
    body = bytearray()
    try:
        async with room.held(party), asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RefusedError(400, "gone", "the client left before its body was complete")
                body += message.get("body", b"")
                if len(body) > MOST_BODY:
                    raise _too_large()
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise RefusedError(408, "slow", f"the body must arrive within {BODY_S:g} seconds") from None


def require_json(headers: Mapping[str, str]) -> None:
    """Refuse a body of another kind, as a form of another site sends it."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, "content type", "the body must be application/json; say so in Content-Type")


def _too_large() -> RefusedError:
    return RefusedError(413, "size", f"a body has at most {MOST_BODY:,} bytes; send fewer pieces at once")


def _host_name(host: str) -> str:
    """The name without the port."""
    name = host.lower()
    return name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
