"""Who senses what of the open request of a run: its senses by their position, those that are answered and those lent.

The senses of input x of channel j that a request asks for are numbered 0, 1, 2, …: a part is a range of them. A lease
lends parts to a sensor; a piece answers a part. Which positions are answered decides alone what is kept: every
position is answered once, whoever answers it and whatever became of the lease. Leases only keep two sensors from doing
the same work.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Request
from bestchannel.promises import several
from bestchannel.record import SensorStatus
from bestchannel.runs.history import AnswerPiece
from bestchannel.service.messages import LentPart, OfferedPiece, PieceOutcome

MOST_LEASES, MOST_LEASES_OF_ONE = 1000, 500  # of a run, and of the bearers of one token
MOST_PARTS, MOST_SENSORS = 256, 1000  # parts of a lease, and sensors of a run that are remembered
RECENT_S = 60.0  # a sensor that was not heard of for so long does not share in the work
# times of a lease after which one that was renewed and not answered goes to a sensor with another token without any;
# not sooner: whoever takes longer for some answers than for others would lose these more often
QUIET_LEASES = 10

Row = tuple[int, int]  # the numbers of a channel and of one of its inputs
Sensor = tuple[str, str]  # whose token a sensor uses, and what it is called


@dataclass(frozen=True, order=True)
class Part:
    """The senses `start` to `start + count - 1` of input `x` of a channel."""

    channel: int
    x: int
    start: int
    count: int

    @property
    def end(self) -> int:
        """The position after the last one."""
        return self.start + self.count

    @property
    def row(self) -> Row:
        """Its channel and input."""
        return self.channel, self.x

    def without(self, other: Part) -> Iterator[Part]:
        """What is left of this part outside of another one."""
        if self.row != other.row:
            yield self
            return
        for start, end in ((self.start, min(self.end, other.start)), (max(self.start, other.end), self.end)):
            if start < end:
                yield Part(*self.row, start, end - start)


@dataclass
class Lease:
    """Parts of a request lent to a sensor until a moment of the clock: those that it has not answered yet.

    `answered` is when it last answered something, or was lent.
    """

    id: str
    request: int
    sensor: Sensor
    parts: list[Part]
    expires: float
    answered: float

    def senses_of(self, channels: Collection[int]) -> int:
        """How many senses of these channels it has."""
        return sum(part.count for part in self.parts if part.channel in channels)


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
            senses = {} if request is None else request.senses
            self._asked = {(c, x): count for c, of in senses.items() for x, count in enumerate(of) if count}
            self._free = {row: [Part(*row, 0, count)] for row, count in self._asked.items()}
            # the pieces of each row in their order, which never overlap: start, end, counts
            self._answered = {row: list[tuple[int, int, tuple[int, ...]]]() for row in self._asked}
            for piece in [p for p in pieces if position_of(p) is None or self.take_in(p).outcome != "kept"]:
                self._place(piece)

    def take_in(self, piece: AnswerPiece) -> PieceOutcome:
        """What becomes of a piece whose identifier says its position; from now on, one that is kept is answered."""
        start, asked = position_of(piece) or 0, self._asked.get((piece.channel, piece.x), 0)
        if start + piece.senses > asked:
            return PieceOutcome("refused", f"request {self.number} asks for {several(asked, 'sense')} of this input")
        answered = self._answered[piece.channel, piece.x]
        after = bisect_right(answered, start, key=itemgetter(0))
        for first, end, counts in answered[max(0, after - 1) : after + 1]:
            if (first, counts) == (start, piece.counts):
                return PieceOutcome("repeated")
            if first < start + piece.senses and start < end:
                return PieceOutcome("refused", f"senses {first:,} to {end - 1:,} of this input were answered before")
        self._add(Part(piece.channel, piece.x, start, piece.senses), piece.counts)
        return PieceOutcome("kept")

    def lend(self, sensor: Sensor, channels: Collection[int], most: int, now: float) -> Lease | None:
        """A lease on some of the open request: at most so many senses of what is free of these channels.

        What is open is shared among the tokens whose sensors can reach these channels, and then among those of each.
        """
        with self._lock:
            if self.number is None or not self._make_room(sensor[0], channels, now):
                return None
            parts, most = list[Part](), min(most, self._share(sensor[0], channels, now))
            for row, free in self._free.items():
                while row[0] in channels and free and most > 0 and len(parts) < MOST_PARTS:
                    part = free.pop(0)
                    if part.count > most:
                        free.insert(0, Part(*row, part.start + most, part.count - most))
                        part = Part(*row, part.start, most)
                    parts.append(part)
                    most -= part.count
            if not parts:
                return None
            lease = Lease(secrets.token_urlsafe(12), self.number, sensor, parts, now + self.lease_s, now)
            self.leases[lease.id] = lease
            return lease

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
        if ended := self._end(ids):
            self._changed()
        return ended

    def _end(self, ids: Iterable[str]) -> list[Lease]:
        with self._lock:
            ended = [self.leases.pop(id) for id in ids if id in self.leases]
            for part in (part for lease in ended for part in lease.parts):
                self._free[part.row] = _merged([*self._free[part.row], part])
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
            asked = sum(self._asked.values())
            answered = sum(end - start for row in self._answered.values() for start, end, _ in row)
            for lease in self.leases.values():
                leased[lease.sensor] += sum(part.count for part in lease.parts)
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
        return asked, answered, tuple(sensors)

    def _share(self, token: str, channels: Collection[int], now: float) -> int:
        """Senses that a sensor with this token may have now."""
        recent = ((owner, seen) for (owner, _), seen in self.sensors.items() if now - seen.seen < RECENT_S)
        colleagues = Counter(owner for owner, seen in recent if not seen.channels.isdisjoint(channels))
        free, lent = self._free_in(channels), Counter[str]()
        for lease in self.leases.values():
            lent[lease.sensor[0]] += lease.senses_of(channels)
        tokens = len({token, *colleagues})
        due = -(-(free + lent.total()) // tokens) - lent[token]
        return max(0, -(-min(free, due) // max(1, colleagues[token])))

    def _make_room(self, token: str, channels: Collection[int], now: float) -> bool:
        """Whether a sensor with this token may have a lease; if need be, one of the token with the most ends for it."""
        leases = list(self.leases.values())
        held = Counter(lease.sensor[0] for lease in leases)
        if len(leases) >= MOST_LEASES:
            over = [lease for lease in leases if held[lease.sensor[0]] > held[token] + 1]
        elif not held[token] and not self._free_in(channels):
            long_ago = now - QUIET_LEASES * self.lease_s
            over = [lease for lease in leases if lease.answered < long_ago and lease.senses_of(channels)]
        else:
            return held[token] < MOST_LEASES_OF_ONE
        if over:
            self._end([max(over, key=lambda lease: held[lease.sensor[0]]).id])  # the oldest of them
        return bool(over)

    def _free_in(self, channels: Collection[int]) -> int:
        """Senses of these channels that are neither answered nor lent."""
        return sum(part.count for row, parts in self._free.items() if row[0] in channels for part in parts)

    def _add(self, part: Part, counts: tuple[int, ...]) -> None:
        with self._lock:
            insort(self._answered[part.row], (part.start, part.end, counts))
            self._free[part.row] = [rest for free in self._free[part.row] for rest in free.without(part)]
            for lease in list(self.leases.values()):
                lease.parts = [rest for lent in lease.parts for rest in lent.without(part)]
                if not lease.parts:
                    del self.leases[lease.id]

    def _place(self, piece: AnswerPiece) -> None:
        """Put a piece that says no position, as a person told it, where its senses fit: cut, if need be."""
        left = list(piece.counts)
        for gap in list(self._free[piece.channel, piece.x]):
            here: list[int] = []
            for count in left:
                here.append(min(count, gap.count - sum(here)))
            left = [count - taken for count, taken in zip(left, here, strict=True)]
            if any(here):
                self._add(Part(*gap.row, gap.start, sum(here)), tuple(here))


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


def _merged(parts: Iterable[Part]) -> list[Part]:
    """The parts of one row in their order, neighbours joined."""
    joined: list[Part] = []
    for part in sorted(parts):
        if joined and joined[-1].end == part.start:
            before = joined.pop()
            part = Part(*part.row, before.start, before.count + part.count)
        joined.append(part)
    return joined


class Labels:
    """Channels, inputs and outputs of one run: by name, as clients write them, and by number, as runs hold them."""

    def __init__(self, channels: Iterable[ChannelLabels]) -> None:
        def numbered(labels: Iterable[str]) -> dict[str, int]:
            return {label: number for number, label in enumerate(labels)}

        self._channels = list(channels)
        self._numbers = {
            str(labels.key): (number, numbered(labels.inputs), numbered(labels.outputs))
            for number, labels in enumerate(self._channels)
        }

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

    def lent(self, part: Part) -> LentPart:
        """The part with its names."""
        labels = self._channels[part.channel]
        return LentPart(str(labels.key), labels.inputs[part.x], part.start, part.count, labels.outputs)
