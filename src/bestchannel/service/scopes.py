"""Tokens and what they permit.

The owner's token is random, or given. Every other token is made from it: `kind.channels.end.id.seal` with the
HMAC-SHA256 of what stands before it, so that nothing has to be stored and a service that is started again with the same
owner's token knows the others until their end. Only the ids of those that were revoked are kept, in a file. Tokens are
compared in constant time.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import math
import re
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bestchannel.disk import read_bytes, write_bytes
from bestchannel.errors import InputError
from bestchannel.service.limits import OWNER, Party
from bestchannel.service.messages import LONGEST_DAYS

OWN, VIEW, SENSE = "own", "view", "sense"

SHORTEST, LONGEST = 16, 4096
"""Letters of a token."""

ID = re.compile("[0-9a-f]{16}")
"""Of a token: by it, the token is revoked."""

INVALID = "the token is not valid here"

DAY_S = 86_400.0

DAYS = 30.0
"""How long a token for others is valid unless something else is said."""


@dataclass(frozen=True)
class Scope:
    """What a token permits: everything, to look, or to sense these channels (None: any); until when, and its id."""

    kind: str
    channels: frozenset[str] | None = None
    expires: float = math.inf
    id: str = ""

    @property
    def party(self) -> Party | None:
        """The bearer; None of what permits nothing."""
        return OWNER if self.owns else Party.of_token(self.id) if self.id else None

    @property
    def views(self) -> bool:
        """Whether it may look at everything."""
        return self.kind in (OWN, VIEW)

    @property
    def owns(self) -> bool:
        """Whether it may create, pause, limit and end runs, and make tokens."""
        return self.kind == OWN

    def senses(self, channel: str) -> bool:
        """Whether it may answer for the channel."""
        return self.kind == OWN or (self.kind == SENSE and (self.channels is None or channel in self.channels))


class Revoked:
    """The ids of tokens that were revoked, in a file, which is none until there is one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._until: dict[str, float] = _revoked_in(path)

    def __contains__(self, id: str) -> bool:
        """Whether the token was revoked."""
        return id in self._until

    def add(self, id: str) -> None:
        """Revoke a token; on return that is on disk. Those that have ended since are forgotten."""
        now = time.time()
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
            raise InputError(
                "the token must consist of letters that stand in addresses as they are, as A-Z a-z 0-9 - _"
            )

    def made_for(self, kind: str, channels: Collection[str] | None = None, days: float | None = None) -> str:
        """A token that permits to look, or to sense these channels, for so many days."""
        named = "" if channels is None else json.dumps(sorted(channels), ensure_ascii=False)
        end = math.ceil(time.time() + (self.days if days is None else days) * DAY_S)
        content = f"{kind}.{_encoded(named.encode())}.{end}.{secrets.token_hex(8)}"
        return f"{content}.{self._seal(content)}"

    def scope(self, token: str) -> Scope | None:
        """What a token permits, or None."""
        judged = self.judged(token)
        return judged if isinstance(judged, Scope) else None

    def judged(self, token: str) -> Scope | str:
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
        channels = _decoded(named)
        return Scope(kind, frozenset(json.loads(channels)) if channels else None, float(end), id)

    def revoke(self, id: str) -> None:
        """Let a token be valid no more; on return that is on disk."""
        assert self.revoked is not None
        self.revoked.add(id)

    def _seal(self, content: str) -> str:
        return _encoded(hmac.digest(self.owner.encode(), content.encode(), "sha256"))


def _revoked_in(path: Path) -> dict[str, float]:
    try:
        kept = json.loads(read_bytes(path)) if path.exists() else {}
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or not all(isinstance(until, int | float) for until in kept.values()):
        raise InputError(
            f"{path}: the file must hold the revoked tokens as {{id: end}} in JSON; restore it from a copy"
        )
    return kept


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:  # no token of ours: its seal would not have fitted
        return b""
