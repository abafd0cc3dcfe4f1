"""Who senses what of the open request of a run: its senses by their position, each of them free, lent or answered.

The senses of input x of channel j that a request asks for are numbered 0, 1, 2, …. A lease lends ranges of them to a
sensor; a piece answers a range. Which positions are answered decides alone what is kept: every position is answered
once, whoever answers it and whatever became of the lease. Leases only keep two sensors from doing the same work.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from typing import NamedTuple

from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Request
from bestchannel.promises import several
from bestchannel.record import SensorStatus
from bestchannel.runs.history import AnswerPiece
from bestchannel.runs.laboratory_files import numbered
from bestchannel.service.messages import LentPart, OfferedPiece, PieceOutcome

MOST_LEASES, MOST_LEASES_OF_ONE = 1000, 500  # of a run, and of the bearers of one token
MOST_PARTS, MOST_SENSORS = 256, 1000  # parts of a lease, and sensors of a run that are remembered
RECENT_S = 60.0  # a sensor that was not heard of for so long does not share in the work
# times of a lease after which one that was renewed and not answered goes to a sensor with another token without any;
# not sooner: whoever takes longer for some answers than for others would lose these more often
QUIET_LEASES = 10

Row = tuple[int, int]  # the numbers of a channel and of one of its inputs
Sensor = tuple[str, str]  # whose token a sensor uses, and what it is called


FREE, ANSWERED = "free", "answered"  # what senses are that nobody has been lent


@dataclass(eq=False)
class Lease:
    """Senses of a request, in these rows, lent to a sensor until a moment of the clock.

    `answered` is when it last answered something, or was lent.
    """

    id: str
    request: int
    sensor: Sensor
    expires: float
    answered: float
    rows: set[Row] = field(default_factory=set)


class Span(NamedTuple):
    """The senses `start` to `end` - 1 of a row, and who has them: a lease, or they are free or answered."""

    start: int
    end: int
    holder: Lease | str


@dataclass
class SeenSensor:
    """A sensor that was heard of: its channels by number, when last, and how many senses it has answered."""

    channels: frozenset[int]
    seen: float
    senses: int = 0


class Ledger:
    """Who senses what of a run, of whose requests one is open or none; any thread may ask.

    Everything but leases and sensors follows from the pieces that are on disk. `changed` is called where work that was
    lent is free again.
    """

    def __init__(self, lease_s: float, changed: Callable[[], None]) -> None:
        self.lease_s, self._changed = lease_s, changed
        self.sensors: dict[Sensor, SeenSensor] = {}
        self._lock = threading.RLock()
        self.begin(None)

    def begin(self, request: Request | None, pieces: Iterable[AnswerPiece] = ()) -> None:
        """Begin with another request, of whose answer there are these pieces; None: there is none."""
        with self._lock:
            self.number = None if request is None else request.number
            self.leases: dict[str, Lease] = {}
            self._pieces: dict[str, AnswerPiece] = {}
            senses = {} if request is None else request.senses
            # the spans of each row: they follow one upon the other, and no two neighbours have the same holder
            asked = {(c, x): count for c, of in senses.items() for x, count in enumerate(of) if count}
            self._rows = {row: [Span(0, count, FREE)] for row, count in asked.items()}
            for piece in [p for p in pieces if position_of(p) is None or self.take_in(p).outcome != "kept"]:
                self._place(piece)

    def take_in(self, piece: AnswerPiece) -> PieceOutcome:
        """What becomes of a piece whose identifier says its position; from now on, one that is kept is answered."""
        row, start = (piece.channel, piece.x), position_of(piece) or 0
        end = start + piece.senses
        with self._lock:
            if self._pieces.get(piece.id) == piece:
                return PieceOutcome("repeated")
            spans = self._rows.get(row, [Span(0, 0, FREE)])
            if end > spans[-1].end:
                asked = several(spans[-1].end, "sense")
                return PieceOutcome("refused", f"request {self.number} asks for {asked} of this input")
            before = [span for span in spans if span.holder == ANSWERED and span.start < end and start < span.end]
            if before or piece.id in self._pieces:
                first, last, _ = before[0] if before else (start, end, ANSWERED)
                return PieceOutcome("refused", f"senses {first:,} to {last - 1:,} of this input were answered before")
            self._pieces[piece.id] = piece
            self._assign(row, start, end, ANSWERED)
            return PieceOutcome("kept")

    def lend(self, sensor: Sensor, channels: Collection[int], most: int, now: float) -> Lease | None:
        """A lease on some of the open request: at most so many senses of what is free of these channels.

        What is open is shared among the tokens whose sensors can reach these channels, and then among those of each.
        """
        with self._lock:
            if self.number is None or not self._make_room(sensor[0], channels, now):
                return None
            most = min(most, self._share(sensor[0], channels, now))
            if most == 0:
                return None
            lease = Lease(secrets.token_urlsafe(12), self.number, sensor, now + self.lease_s, now)
            self.leases[lease.id] = lease
            rows = ((row, spans) for row, spans in self._rows.items() if row[0] in channels)
            free = ((row, span) for row, spans in rows for span in spans if span.holder == FREE)
            for row, span in list(islice(free, MOST_PARTS)):
                taken = min(most, span.end - span.start)
                if taken:
                    lease.rows.add(row)
                    self._assign(row, span.start, span.start + taken, lease)
                most -= taken
            return lease

    def parts_of(self, lease: Lease) -> list[tuple[Row, Span]]:
        """What a lease has lent and is not answered yet."""
        with self._lock:
            return [(row, span) for row in sorted(lease.rows) for span in self._rows[row] if span.holder is lease]

    def renew(self, id: str, now: float, *, answered: bool = False) -> bool:
        """Let a lease last again; whether there is one."""
        with self._lock:
            if (lease := self.leases.get(id)) is None:
                return False
            lease.expires = now + self.lease_s
            lease.answered = now if answered else lease.answered
            return True

    def give_back(self, *ids: str) -> list[Lease]:
        """End leases; what they have not answered is free again. One that is over already stays so."""
        with self._lock:
            ended = [self.leases.pop(id) for id in ids if id in self.leases]
            for row, span in (part for lease in ended for part in self.parts_of(lease)):
                self._assign(row, span.start, span.end, FREE)
        if ended:
            self._changed()
        return ended

    def expire(self, now: float) -> list[Lease]:
        """End the leases whose time is over."""
        with self._lock:
            return self.give_back(*[lease.id for lease in self.leases.values() if lease.expires <= now])

    def take_back(self, token: str) -> None:
        """End all leases of the bearers of a token, and forget their sensors."""
        self.sensors = {sensor: seen for sensor, seen in self.sensors.items() if sensor[0] != token}
        with self._lock:
            self.give_back(*[lease.id for lease in self.leases.values() if lease.sensor[0] == token])

    def hear_of(self, sensor: Sensor, channels: Collection[int], now: float) -> None:
        """Remember a sensor; of too many, one of the token that has the most is forgotten, the longest silent."""
        known = self.sensors.pop(sensor, None)
        self.sensors[sensor] = SeenSensor(frozenset(channels), now, known.senses if known else 0)
        if len(self.sensors) > MOST_SENSORS:
            [(most, _)] = Counter(token for token, _ in self.sensors).most_common(1)
            self.sensors.pop(next(seen for seen in self.sensors if seen[0] == most))

    def standing(self, names: Sequence[str]) -> tuple[int, int, tuple[SensorStatus, ...]]:
        """Senses of the open request, those answered, and the sensors by name; `names` are those of the channels."""
        now, leased = time.monotonic(), Counter[Sensor]()
        with self._lock:
            held = self._held(None)
            for lease in self.leases.values():
                leased[lease.sensor] += held[lease]
        sensors = (
            SensorStatus(
                name=sensor[1],
                channels=tuple(names[number] for number in sorted(seen.channels)),
                senses=seen.senses,
                leased=leased[sensor],
                silent_s=int(now - seen.seen),
            )
            for sensor, seen in sorted(self.sensors.items(), key=lambda item: item[0][1])
        )
        return sum(held.values()), held[ANSWERED], tuple(sensors)

    def _share(self, token: str, channels: Collection[int], now: float) -> int:
        """Senses that a sensor with this token may have now."""
        recent = ((owner, seen) for (owner, _), seen in self.sensors.items() if now - seen.seen < RECENT_S)
        colleagues = Counter(owner for owner, seen in recent if not seen.channels.isdisjoint(channels))
        held, lent = self._held(channels), Counter[str]()
        for lease in self.leases.values():
            lent[lease.sensor[0]] += held[lease]
        tokens = len({token, *colleagues})
        due = -(-(held[FREE] + lent.total()) // tokens) - lent[token]
        return max(0, -(-min(held[FREE], due) // max(1, colleagues[token])))

    def _make_room(self, token: str, channels: Collection[int], now: float) -> bool:
        """Whether a sensor with this token may have a lease; if need be, one of the token with the most ends for it."""
        leases = list(self.leases.values())
        held = Counter(lease.sensor[0] for lease in leases)
        if len(leases) >= MOST_LEASES:
            over = [lease for lease in leases if held[lease.sensor[0]] > held[token] + 1]
        elif not held[token] and not (senses := self._held(channels))[FREE]:
            long_ago = now - QUIET_LEASES * self.lease_s
            over = [lease for lease in leases if lease.answered < long_ago and senses[lease]]
        else:
            return held[token] < MOST_LEASES_OF_ONE
        if over:
            self.give_back(max(over, key=lambda lease: held[lease.sensor[0]]).id)  # the oldest of them
        return bool(over)

    def _held(self, channels: Collection[int] | None) -> dict[Lease | str, int]:
        """How many senses of these channels, or of all, are free, answered, and of each lease."""
        held = defaultdict[Lease | str, int](int)
        for (channel, _), spans in self._rows.items():
            if channels is None or channel in channels:
                for start, end, holder in spans:
                    held[holder] += end - start
        return held

    def _assign(self, row: Row, start: int, end: int, holder: Lease | str) -> None:
        """Let these senses of a row be lent, free or answered; a lease of which nothing is left ends."""
        every, spans = self._rows[row], [Span(start, end, holder)]
        # those that it changes, and a neighbour on either side: there may be very many others
        first = max(bisect_right(every, start, key=itemgetter(0)) - 2, 0)
        last = bisect_left(every, end, key=itemgetter(0)) + 1
        before = every[first:last]
        for span in before:
            around = span._replace(end=min(span.end, start)), span._replace(start=max(span.start, end))
            spans += (rest for rest in around if rest.start < rest.end)
        neighbours = (list(same) for _, same in groupby(sorted(spans, key=itemgetter(0)), itemgetter(2)))
        every[first:last] = [Span(same[0].start, same[-1].end, same[0].holder) for same in neighbours]
        for lease in {span.holder for span in before if span.start < end and start < span.end}:
            if isinstance(lease, Lease) and lease.id in self.leases and not self.parts_of(lease):
                del self.leases[lease.id]

    def _place(self, piece: AnswerPiece) -> None:
        """Put a piece that says no position, as a person told it, where its senses fit: cut, if need be."""
        row, left = (piece.channel, piece.x), piece.senses
        self._pieces[piece.id] = piece
        for span in list(self._rows[row]):
            if span.holder == FREE and left:
                taken = min(left, span.end - span.start)
                self._assign(row, span.start, span.start + taken, ANSWERED)
                left -= taken


def identifier(channel: int, x: int, start: int) -> str:
    """What a piece is called on disk: its row and position, so that a piece sent again has the same name.

    >>> identifier(3, 0, 128)
    '3.0@128'
    """
    return f"{channel}.{x}@{start}"


def position_of(piece: AnswerPiece) -> int | None:
    """The position of a piece's first sense, where the service has written it into the identifier."""
    digits = piece.id.rpartition("@")[2]
    start = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else -1
    return start if piece.id == identifier(piece.channel, piece.x, start) else None


class Labels:
    """Channels, inputs and outputs of one run: by name, as clients write them, and by number, as runs hold them."""

    def __init__(self, channels: Iterable[ChannelLabels]) -> None:
        self._channels = list(channels)
        self._numbers = numbered(dict(enumerate(self._channels)))

    def numbers(self, channels: Collection[str]) -> frozenset[int]:
        """The numbers of those channels that the run has."""
        return frozenset(self._numbers[name][0] for name in channels if name in self._numbers)

    def piece(self, offered: OfferedPiece) -> AnswerPiece:
        """The piece in numbers, or an `InputError` that names what the run does not have."""
        if offered.channel not in self._numbers:
            raise InputError(f"the run has no channel {offered.channel!r}")
        channel, inputs, outputs = self._numbers[offered.channel]
        if (x := inputs.get(offered.x)) is None:
            raise InputError(f"channel {offered.channel!r} has no input {offered.x!r}")
        counts = [0] * len(outputs)
        for label, count in offered.counts.items():
            if (y := outputs.get(label)) is None:
                raise InputError(f"channel {offered.channel!r} has no output {label!r}")
            counts[y] = count
        if not any(counts):
            raise InputError(f"a piece counts at least one sense; that of channel {offered.channel!r} counts none")
        return AnswerPiece(identifier(channel, x, offered.start), channel, x, tuple(counts))

    def lent(self, row: Row, span: Span) -> LentPart:
        """What is lent with its names."""
        labels = self._channels[row[0]]
        return LentPart(str(labels.key), labels.inputs[row[1]], span.start, span.end - span.start, labels.outputs)
