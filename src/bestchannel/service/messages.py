"""What clients and the service say to each other, as JSON: parsed, bounded and described from one definition.

What the service counts is said in the text form of Prometheus.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from bestchannel.errors import BestChannelError, InputError
from bestchannel.questions import AnyQuestion
from bestchannel.record import RunStatus

MOST_SENSES = 2**53  # of one part: what every reader of JSON holds exactly
MOST_PIECES, MOST_CHANNELS, MOST_LETTERS, MOST_OUTPUTS = 1000, 1000, 4096, 65_536
LONGEST_WAIT_S, LONGEST_DAYS = 30.0, 3650.0
BUCKETS_S = ("0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "5", "+Inf")  # of latency

NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # of a run
RunName = Annotated[str, Meta(pattern=rf"^{NAME}$(?!\n)", description="The name of a run.")]
# text that a terminal and a log show as it is: no control characters, no other lines, no marks that turn it
VISIBLE = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]*$(?!\n)"
Label = Annotated[str, Meta(min_length=1, max_length=200, pattern=VISIBLE)]
Count = Annotated[int, Meta(ge=0, le=MOST_SENSES)]
LeaseId = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$(?!\n)")]
Channels = Annotated[tuple[Label, ...], Meta(min_length=1, max_length=MOST_CHANNELS)]


class Sent(Struct, forbid_unknown_fields=True, frozen=True):
    """What clients send; a field that is not known is refused."""


class LeaseWish(Sent, frozen=True):
    """A sensor asks for work on channels that it can reach."""

    sensor: Annotated[Label, Meta(description="What the sensor is called; the page shows it.")]
    channels: Channels
    run: RunName | None = None
    most: Annotated[int, Meta(ge=1, le=MOST_SENSES, description="Lend at most so many senses.")] = 10_000
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for work.")] = 0.0


class LentPart(Struct, frozen=True):
    """Send input x over the channel `count` times: the senses `start`, `start` + 1, … of those requested."""

    channel: str
    x: str
    start: int
    count: int
    outputs: tuple[str, ...]


class Lent(Struct, frozen=True):
    """A lease, or none where there is nothing to do now."""

    run: str | None
    state: str
    request: int | None = None
    lease: str | None = None
    expires_s: float = 0.0
    parts: tuple[LentPart, ...] = ()


class OfferedPiece(Sent, frozen=True):
    """Of the senses of input x from position `start` on, so many gave each output: counts add up to their number."""

    channel: Label
    x: Label
    start: Count
    counts: Annotated[dict[Label, Count], Meta(min_length=1, max_length=MOST_OUTPUTS)]


class Offer(Sent, frozen=True):
    """Pieces of the answer to a request."""

    request: Annotated[int, Meta(ge=1, le=MOST_SENSES)]
    pieces: Annotated[tuple[OfferedPiece, ...], Meta(min_length=1, max_length=MOST_PIECES)]
    lease: LeaseId | None = None


class PieceOutcome(Struct, frozen=True):
    """What becomes of a piece: it is new and on disk, the run has it already, or it is refused, with the reason."""

    outcome: Literal["kept", "repeated", "refused"]
    reason: str = ""


class Received(Struct, frozen=True):
    """What became of an offer, piece by piece, and where the run stands."""

    state: str
    pieces: tuple[PieceOutcome, ...]


class Renewed(Struct, frozen=True):
    """A lease that lasts."""

    expires_s: float


class ChannelAlphabets(Sent, frozen=True):
    """The inputs and outputs of a channel."""

    inputs: Annotated[tuple[Label, ...], Meta(min_length=1, max_length=MOST_LETTERS)]
    outputs: Annotated[tuple[Label, ...], Meta(min_length=1, max_length=MOST_LETTERS)]


class NewRun(Sent, frozen=True):
    """A run to be created."""

    name: RunName
    channels: Annotated[dict[Label, ChannelAlphabets], Meta(min_length=1, max_length=MOST_CHANNELS)]
    policy: Annotated[str, Meta(max_length=64)] = "adaptive"
    delta: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    epsilon: Annotated[float, Meta(ge=0, le=64)] | None = None
    question: AnyQuestion | None = None
    max_senses: Count | None = None


class Change(Sent, frozen=True):
    """What an owner changes: pause or go on, another limit of senses, or the end."""

    paused: bool | None = None
    max_senses: Count | None = None
    end: bool = False


class TokenWish(Sent, frozen=True):
    """A token for others: to look, or to sense these channels."""

    scope: Literal["view", "sense"]
    channels: Channels | None = None
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS, description="How long it is valid.")] | None = None


class LoginForm(Sent, frozen=True):
    """What a person types: the token."""

    token: str = ""


class Made(Struct, frozen=True):
    """A token, the address with it, the id by which it is revoked, and when it ends."""

    token: str
    url: str
    id: str
    expires: str


class RevokedToken(Struct, frozen=True):
    """A token that is valid no more."""

    id: str


class RunList(Struct, frozen=True):
    """The runs of the folder."""

    runs: tuple[RunStatus, ...]


class Refusal(Struct, frozen=True):
    """Why something was refused, in one sentence."""

    error: str


class RefusedError(BestChannelError):
    """A call that a rule refuses: its status, the rule that logs and metrics name, and a sentence."""

    def __init__(self, status: int, rule: str, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.rule, self.headers = status, rule, headers or {}


S = TypeVar("S", bound=Sent)


def parsed(body: bytes, kind: type[S]) -> S:
    """The message in a body, or an `InputError` that says what is wrong where."""

    def refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
        """Readers of JSON take the last of two with one name, and an output would be counted in part."""
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise InputError(f"a name must occur once in an object of the body; {name[:60]!r} occurs twice")

    try:
        message = msgspec.json.decode(body, type=kind)
        json.loads(body, object_pairs_hook=refuse_repeated)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"the body must be JSON as /openapi.json describes it; {error}") from None
    return message


@dataclass
class Metrics:
    """Counts since the start; only the event loop changes them."""

    senses: int = 0
    leases: int = 0
    expired: int = 0
    pieces: Counter[str] = field(default_factory=Counter)
    responses: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    latencies: Counter[str] = field(default_factory=Counter)  # of BUCKETS_S, the first that holds each
    seconds: float = 0.0

    def took(self, seconds: float) -> None:
        """Count how long an answer took."""
        self.latencies[next(end for end in BUCKETS_S if seconds <= float(end))] += 1
        self.seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All counts, and what there is now, as {name: (what it is, value)}."""
        totals, meaning = accumulate(self.latencies[end] for end in BUCKETS_S), "Time from a request to its response"
        buckets = {f'_bucket{{le="{end}"}}': total for end, total in zip(BUCKETS_S, totals, strict=True)}
        histogram = {**buckets, "_sum": f"{self.seconds:.6f}", "_count": self.latencies.total()}
        blocks = [
            _block("senses_total", "counter", "Senses that were acknowledged.", {"": self.senses}),
            _block("leases_total", "counter", "Leases that were given.", {"": self.leases}),
            _block("leases_expired_total", "counter", "Leases that ran out.", {"": self.expired}),
            _block("pieces_total", "counter", "Pieces by what became of them.", _by("outcome", self.pieces)),
            _block("responses_total", "counter", "Responses by status.", _by("status", self.responses)),
            _block("refusals_total", "counter", "Refusals by rule.", _by("rule", self.refusals)),
            _block("response_seconds", "histogram", f"{meaning}, streams left out.", histogram),
            *(_block(name, "gauge", meaning, {"": f"{value:g}"}) for name, (meaning, value) in gauges.items()),
        ]
        return "".join(blocks)


def _by(label: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {f'{{{label}="{value}"}}': count for value, count in sorted(counts.items())}


def _block(name: str, kind: str, meaning: str, values: Mapping[str, object]) -> str:
    name = f"bestchannel_{name}"
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *(f"{name}{end} {n}" for end, n in values.items())]
    return "\n".join([*lines, ""])
