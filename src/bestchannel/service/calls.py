"""A call of a client and the reply, without the protocol between them; and why one is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote

from bestchannel.service.limits import Party, Places
from bestchannel.service.messages import Refusal, RefusedError, encoded
from bestchannel.service.scopes import Scope

JSON, HTML, TEXT, EVENTS = (
    "application/json",
    "text/html; charset=utf-8",
    "text/plain; charset=utf-8",
    "text/event-stream",
)

MOST_FIELDS = 20
"""Of a query or a form."""

NOBODY = Scope("nobody")
"""What a call without a token may do: what is open to all."""


@dataclass(frozen=True)
class Call:
    """What a client asks, after every rule has let it pass."""

    method: str
    path: str
    query_text: str
    headers: Mapping[str, str]
    peer: str = "local"
    secure: bool = False
    scope: Scope = NOBODY
    body: bytes = b""
    names: Mapping[str, str] = field(default_factory=dict)

    def query(self, key: str) -> str | None:
        """The first value of a key in the query."""
        return field_of(self.query_text, key)

    @property
    def party(self) -> Party:
        """Who calls: the bearer of the token, or the address."""
        return self.scope.party or Party.at(self.peer)

    @property
    def wants_page(self) -> bool:
        """Whether a browser asks, that is a person."""
        return "text/html" in self.headers.get("accept", "")

    @property
    def from_elsewhere(self) -> bool:
        """Whether a browser says that a link on another site was followed."""
        return self.headers.get("sec-fetch-site") == "cross-site"


@dataclass(frozen=True)
class Reply:
    """What a client gets: a body, or a stream that goes on until the client or the service ends it.

    A stream holds a place in the `room` until it ends.
    """

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    room: Places | None = None


def field_of(form: str, key: str) -> str | None:
    """The first value of a key in a query or a form; of one with very many fields, none."""
    try:
        return parse_qs(form, max_num_fields=MOST_FIELDS).get(key, [None])[0]
    except ValueError:
        return None


def answer(message: object, status: int = 200) -> Reply:
    """A message as a reply."""
    return Reply(status, encoded(message))


def redirect(path: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Look there instead; what a path holds beyond letters is escaped, so that it cannot become a header."""
    return Reply(303, kind=TEXT, headers={"location": quote(path, safe="/?="), **(headers or {})})


def refusal(error: RefusedError) -> Reply:
    """A refusal as a reply."""
    return Reply(error.status, encoded(Refusal(str(error))), headers=error.headers)
