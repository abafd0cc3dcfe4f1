"""Tokens and what they permit.

The owner's token is random, or given. Every other token is made from it: `kind.channels.seal` with the HMAC-SHA256 of
what stands before it, so that nothing has to be stored and a service that is started again with the same owner's
token knows the others. Tokens are compared in constant time.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from bestchannel.errors import InputError

OWN, VIEW, SENSE = "own", "view", "sense"

SHORTEST, LONGEST = 16, 4096
"""Letters of a token."""


@dataclass(frozen=True)
class Scope:
    """What a token permits: everything, to look, or to sense these channels (None: any)."""

    kind: str
    channels: frozenset[str] | None = None

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


class Tokens:
    """The tokens of a service."""

    def __init__(self, owner: str | None = None) -> None:
        self.owner = owner or secrets.token_urlsafe(24)
        if not SHORTEST <= len(self.owner) <= LONGEST or not self.owner.isascii() or not self.owner.isprintable():
            raise InputError(f"the token must have {SHORTEST} to {LONGEST} visible ASCII letters; give a longer one")
        if set(self.owner) & set(' .;,"\\&?#%+'):
            raise InputError(
                "the token must consist of letters that stand in addresses as they are, as A-Z a-z 0-9 - _"
            )

    def made_for(self, kind: str, channels: Collection[str] | None = None) -> str:
        """The token that permits to look, or to sense these channels."""
        named = "" if channels is None else json.dumps(sorted(channels), ensure_ascii=False)
        content = f"{kind}.{_encoded(named.encode())}"
        return f"{content}.{self._seal(content)}"

    def scope(self, token: str) -> Scope | None:
        """What a token permits, or None."""
        if hmac.compare_digest(token.encode(), self.owner.encode()):
            return Scope(OWN)
        content, _, seal = token.rpartition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(content).encode()):
            return None
        kind, _, named = content.partition(".")
        channels = _decoded(named)
        return Scope(kind, frozenset(json.loads(channels)) if channels else None)

    def _seal(self, content: str) -> str:
        return _encoded(hmac.digest(self.owner.encode(), content.encode(), "sha256"))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:  # no token of ours: its seal would not have fitted
        return b""
