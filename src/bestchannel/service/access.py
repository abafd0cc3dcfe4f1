"""Who may call and what a token permits: the rules that every call passes before anything is done for it.

The owner's token is random, or given. Every other token is made from it: `kind.channels.end.id.seal` with the
HMAC-SHA256 of what stands before it, so that nothing has to be stored and a service that is started again with the same
owner's token knows the others until their end. Only the ids of those that were revoked are kept, in a file. Tokens are
compared in constant time.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import json
import logging
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from msgspec.json import decode
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from bestchannel.disk import read_bytes, write_bytes
from bestchannel.errors import InputError
from bestchannel.service.limits import OWNER, Client, Places
from bestchannel.service.messages import LONGEST_DAYS, RefusedError

ALL, OWN, VIEW, SENSE = "all", "own", "view", "sense"  # nothing, or a token to do everything, to look, or to sense
SHORTEST, LONGEST = 16, 4096  # letters of a token
ID = re.compile("[0-9a-f]{16}")  # of a token: by it, the token is revoked
INVALID = "the token is not valid here"
DAY_S, DAYS = 86_400.0, 30.0  # seconds of a day; how long a token for others is valid unless something else is said
MOST_BODY, BODY_S = 2**20, 10.0  # bytes of a body, and seconds in which it must have arrived
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_KNOWN = 10_000  # clients whose rates are remembered

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scope:
    """What a token permits: everything, to look, or to sense these channels (None: any); until when, and its id."""

    kind: str
    channels: frozenset[str] | None = None
    expires: float = math.inf
    id: str = ""

    @property
    def bearer(self) -> Client | None:
        """Who has the token; None where there is none."""
        return OWNER if self.owns else Client.of_token(self.id) if self.id else None

    @property
    def owns(self) -> bool:
        """Whether it may create, pause, limit and end runs, and make tokens."""
        return self.kind == OWN

    def permits(self, needs: str) -> bool:
        """Whether a call that needs this may be made."""
        return self.owns or needs in (ALL, self.kind)

    def senses(self, channel: str) -> bool:
        """Whether it may answer for the channel."""
        return self.permits(SENSE) and (self.channels is None or channel in self.channels)


NOBODY = Scope("nobody")  # without a token: what is open to all


class Revoked:
    """The ids of tokens that were revoked and until when to keep them, in a file, which is none until there is one."""

    def __init__(self, path: Path) -> None:
        self._path, self._adding = path, threading.Lock()
        try:
            self._until = decode(read_bytes(path), type=dict[str, float]) if path.exists() else {}
        except ValueError:
            wanted = "the file must hold the revoked tokens as {id: end} in JSON"
            raise InputError(f"{path}: {wanted}; restore it from a copy") from None

    def __contains__(self, id: str) -> bool:
        """Whether the token was revoked."""
        return id in self._until

    def add(self, id: str) -> None:
        """Revoke a token; on return that is on disk. Those that have ended since are forgotten."""
        now = time.time()
        with self._adding:  # in several threads, as each waits for the disk
            kept = {known: until for known, until in self._until.items() if until > now}
            kept[id] = now + LONGEST_DAYS * DAY_S
            write_bytes(self._path, json.dumps(kept).encode())
            self._until = kept


class Tokens:
    """The tokens of a service, of which those for others are valid for so many days."""

    def __init__(self, owner: str | None = None, days: float = DAYS) -> None:
        self.owner, self.days = owner or secrets.token_urlsafe(24), days
        self.revoked: Revoked | None = None
        if not 0 < days <= LONGEST_DAYS:
            raise InputError(f"tokens must be valid for more than 0 and at most {LONGEST_DAYS:,.0f} days; not {days:g}")
        if not SHORTEST <= len(self.owner) <= LONGEST or not self.owner.isascii() or not self.owner.isprintable():
            raise InputError(f"the token must have {SHORTEST} to {LONGEST} visible ASCII letters; give a longer one")
        if set(self.owner) & set(' .;,"\\&?#%+'):
            wanted = "letters that stand in addresses as they are, as A-Z a-z 0-9 - _"
            raise InputError(f"the token must consist of {wanted}")

    def made_for(self, kind: str, channels: Collection[str] | None = None, days: float | None = None) -> str:
        """A token that permits to look, or to sense these channels, for so many days."""
        named = "" if channels is None else json.dumps(sorted(channels), ensure_ascii=False)
        end = math.ceil(time.time() + (self.days if days is None else days) * DAY_S)
        content = f"{kind}.{_encoded(named.encode())}.{end}.{secrets.token_hex(8)}"
        return f"{content}.{self._seal(content)}"

    def scope(self, token: str) -> Scope | str:
        """What a token permits, or why it permits nothing."""
        if not token or len(token) > LONGEST or not token.isascii():
            return INVALID
        if hmac.compare_digest(token.encode(), self.owner.encode()):
            return Scope(OWN)
        content, _, seal = token.rpartition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(content).encode()):
            return INVALID
        kind, named, *limits = content.split(".")
        if len(limits) != 2:
            return "the token was made by an earlier version, whose tokens had no end; ask the owner for another"
        end, id = limits
        if time.time() >= float(end):
            return "the token has expired; ask the owner for another"
        if self.revoked is not None and id in self.revoked:
            return "the token was revoked; ask the owner for another"
        channels = base64.urlsafe_b64decode(named + "=" * (-len(named) % 4))
        return Scope(kind, frozenset(json.loads(channels)) if channels else None, float(end), id)

    def _seal(self, content: str) -> str:
        return _encoded(hmac.digest(self.owner.encode(), content.encode(), "sha256"))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Rates:
    """At most `burst` calls at once, and `rate` per second in the long run, for each client: the rule of this name."""

    def __init__(self, rule: str, rate: float, burst: float) -> None:
        self._rule, self._rate, self._burst = rule, rate, burst
        self._left: OrderedDict[Client, tuple[float, float]] = OrderedDict()

    def take(self, client: Client) -> None:
        """Count a call, or refuse it, saying after how many seconds the client may try again."""
        now = time.monotonic()
        left, then = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._rate
        self._left[client] = (left - 1.0 if wait == 0.0 else left), now
        if len(self._left) > MOST_KNOWN:
            self._left.popitem(last=False)
        if wait:
            again = {"retry-after": str(int(wait) + 1)}
            raise RefusedError(429, self._rule, "too many calls; wait as Retry-After says", again)


class Guard:
    """What lets calls pass or refuses them; `names` are the hosts that the service is called by."""

    def __init__(self, tokens: Tokens, names: Collection[str], *, any_address: bool, cookie: str) -> None:
        self.tokens, self.cookie = tokens, cookie
        self._names, self._any_address = LOOPBACK | {name.lower() for name in names}, any_address
        self._owner, self._others = Rates("rate", 10_000, 20_000), Rates("rate", 2000, 4000)
        self._anonymous, self._failures = Rates("rate", 100, 400), Rates("token rate", 1, 20)

    def check_host(self, request: Request) -> None:
        """Refuse a name that the service does not have: another site may have been made to point here."""
        name = request.headers.get("host", "").lower()
        name = name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]
        with suppress(ValueError):  # where it is no address
            if name in self._names or (self._any_address and ipaddress.ip_address(name.strip("[]"))):
                return
        raise RefusedError(403, "host", "this service has another name; start it with --allow-host to be called so")

    def check_origin(self, request: Request, by_cookie: bool) -> None:
        """Refuse what another site makes a browser send.

        Pages without a Referer send their forms with the origin "null"; the browser then says itself whose form it was.
        """
        origin = request.headers.get("origin")
        if request.method in SAFE or (origin is None and not by_cookie):  # without an origin, it is no browser
            return
        if origin == "null" and request.headers.get("sec-fetch-site") == "same-origin":
            return
        if origin is None or origin.partition("://")[2].lower() != request.headers.get("host", "").lower():
            raise RefusedError(403, "origin", "only pages of this service may send this")

    def admit(self, request: Request) -> tuple[Scope, bool]:
        """What the token of a call permits, and whether a cookie brought it; NOBODY without a token."""
        bearer = request.headers.get("authorization", "")
        token = bearer.removeprefix("Bearer ").strip() if bearer else request.cookies.get(self.cookie, "")
        scope = self.tokens.scope(token)
        if isinstance(scope, Scope):
            (self._owner if scope.owns else self._others).take(scope.bearer or address_of(request))
            return scope, not bearer
        if token and bearer:
            self._failures.take(address_of(request))
            raise RefusedError(401, "token", scope, {"www-authenticate": "Bearer"})
        self._anonymous.take(address_of(request))
        return NOBODY, False

    def sign_in(self, token: str, request: Request, path: str) -> Response:
        """Put the token that a person brings, by address or form, into a cookie, and go on to a path without it.

        It then stays in no history and no Referer; the cookie is for this service only and out of reach of scripts.
        """
        if isinstance(self.tokens.scope(token), str):
            self._failures.take(address_of(request))
            fields = {"rule": "token", "path": request.scope["path"][:200], "peer": address_of(request).name}
            log.warning("refused", extra={"fields": fields})
            return redirect("/login?wrong=1")
        secure = request.scope["scheme"] == "https"
        response = redirect(path)
        response.set_cookie(self.cookie, token, secure=secure, httponly=True, samesite="strict")
        return response


def redirect(path: str) -> Response:
    """Look there instead; what a path holds beyond letters is escaped, so that it cannot become a header."""
    return RedirectResponse(quote(path, safe="/?="), 303)


def address_of(request: Request) -> Client:
    """The address that calls."""
    return Client.at(request.client.host if request.client else "local")


async def body_of(request: Request, room: Places) -> bytes:
    """The body of a call, which must be short and arrive soon; it holds a place in the room meanwhile."""
    too_large = RefusedError(413, "size", f"a body has at most {MOST_BODY:,} bytes; send fewer pieces at once")
    declared = request.headers.get("content-length", "0")
    if not declared.isascii() or not declared.isdigit() or int(declared[:20]) > MOST_BODY:
        raise too_large
    body = bytearray()
    try:
        async with room.held(request.state.client), asyncio.timeout(BODY_S):
            async for block in request.stream():
                body += block
                if len(body) > MOST_BODY:
                    raise too_large
    except ClientDisconnect:
        raise RefusedError(400, "gone", "the client left before its body was complete") from None
    except TimeoutError:
        raise RefusedError(408, "slow", f"the body must arrive within {BODY_S:g} seconds") from None
    return bytes(body)
