"""Who senses what of one request: its senses by their position, those that are answered and those that are lent.

The senses of input x of channel j that a request asks for are numbered 0, 1, 2, …: a part is a range of them. A lease
lends parts to a sensor; a piece answers a part. Which positions are answered decides alone what is kept: every
position is answered once, whoever answers it and whatever became of the lease. Leases only keep two sensors from doing
the same work.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from bestchannel.errors import InputError
from bestchannel.policies import ChannelLabels, Request
from bestchannel.promises import several
from bestchannel.runs.pieces import AnswerPiece
from bestchannel.service.messages import KEPT, REFUSED, REPEATED, LentPart, OfferedPiece, PieceOutcome

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
    """Parts lent to a sensor until a moment of the clock; `parts` are those that it has not answered yet.

    `answered` is when it last answered something, or was lent.
    """

    id: str
    sensor: Sensor
    parts: list[Part]
    expires: float
    answered: float

    def senses_of(self, channels: Collection[int]) -> int:
        """How many senses of these channels it has."""
        return sum(part.count for part in self.parts if part.channel in channels)


@dataclass
class _Answered:
    """The pieces of one row by where they start, which never overlap."""

    counts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)

    def overlap(self, start: int, end: int) -> tuple[int, int] | None:
        """A piece that covers some of these positions, as its start and end."""
        after = bisect_right(self.starts, start)
        for first in self.starts[max(0, after - 1) : after + 1]:
            last = first + sum(self.counts[first])
            if first < end and start < last:
                return first, last
        return None


class Ledger:
    """The state of one request: everything but the leases follows from the pieces that are on disk."""

    def __init__(self, request: Request, pieces: Iterable[AnswerPiece] = ()) -> None:
        self.number = request.number
        self.leases: dict[str, Lease] = {}
        self._asked = {
            (channel, x): count for channel, senses in request.senses.items() for x, count in enumerate(senses) if count
        }
        self._free = {row: [Part(*row, 0, count)] for row, count in self._asked.items()}
        self._answered = {row: _Answered() for row in self._asked}
        unplaced = [piece for piece in pieces if position_of(piece) is None or self.take_in(piece).outcome != KEPT]
        for piece in unplaced:
            self._place(piece)

    @property
    def asked_senses(self) -> int:
        """All senses of the request."""
        return sum(self._asked.values())

    @property
    def answered_senses(self) -> int:
        """Senses that are on disk."""
        return sum(sum(map(sum, row.counts.values())) for row in self._answered.values())

    def take_in(self, piece: AnswerPiece) -> PieceOutcome:
        """What becomes of a piece whose identifier says its position; from now on, one that is kept is answered."""
        start, asked = position_of(piece) or 0, self._asked.get((piece.channel, piece.x), 0)
        if start + piece.senses > asked:
            return PieceOutcome(REFUSED, f"request {self.number} asks for {several(asked, 'sense')} of this input")
        answered = self._answered[piece.channel, piece.x]
        if answered.counts.get(start) == piece.counts:
            return PieceOutcome(REPEATED)
        taken = answered.overlap(start, start + piece.senses)
        if taken:
            return PieceOutcome(REFUSED, f"senses {taken[0]:,} to {taken[1] - 1:,} of this input were answered before")
        self._add(Part(piece.channel, piece.x, start, piece.senses), piece.counts)
        return PieceOutcome(KEPT)

    def lend(
        self, id: str, sensor: Sensor, channels: Collection[int], most: int, most_parts: int, expires: float, now: float
    ) -> Lease | None:
        """Lend what is free of these channels, at most so many senses and parts; None where nothing is."""
        parts: list[Part] = []
        for row, free in self._free.items():
            while row[0] in channels and free and most > 0 and len(parts) < most_parts:
                part = free.pop(0)
                if part.count > most:
                    free.insert(0, Part(*row, part.start + most, part.count - most))
                    part = Part(*row, part.start, most)
                parts.append(part)
                most -= part.count
        if not parts:
            return None
        lease = self.leases[id] = Lease(id, sensor, parts, expires, now)
        return lease

    def give_back(self, id: str) -> bool:
        """End a lease; what it has not answered is free again. Whether there was such a lease."""
        lease = self.leases.pop(id, None)
        for part in lease.parts if lease else ():
            self._free[part.row] = _merged([*self._free[part.row], part])
        return lease is not None

    def expire(self, now: float) -> list[Lease]:
        """End the leases whose time is over."""
        over = [lease for lease in self.leases.values() if lease.expires <= now]
        for lease in over:
            self.give_back(lease.id)
        return over

    def free_in(self, channels: Collection[int]) -> int:
        """Senses of these channels that are neither answered nor lent."""
        return sum(part.count for row, parts in self._free.items() if row[0] in channels for part in parts)

    def lent_in(self, channels: Collection[int]) -> Counter[str]:
        """Senses of these channels that are lent, by whose token."""
        lent: Counter[str] = Counter()
        for lease in self.leases.values():
            lent[lease.sensor[0]] += lease.senses_of(channels)
        return lent

    def _add(self, part: Part, counts: tuple[int, ...]) -> None:
        answered = self._answered[part.row]
        answered.counts[part.start] = counts
        insort(answered.starts, part.start)
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
