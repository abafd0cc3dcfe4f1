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

from bestchannel.policies import Request
from bestchannel.promises import several
from bestchannel.runs.pieces import AnswerPiece
from bestchannel.service.messages import KEPT, REFUSED, REPEATED, PieceOutcome

Row = tuple[int, int]
"""The numbers of a channel and of one of its inputs."""

Sensor = tuple[str, str]
"""Whose token a sensor uses, and what it is called."""


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
        """What is left of this part outside of another one of the same row."""
        for start, end in ((self.start, min(self.end, other.start)), (max(self.start, other.end), self.end)):
            if start < end:
                yield Part(self.channel, self.x, start, end - start)


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

    def concerns(self, channels: Collection[int]) -> bool:
        """Whether it has senses of one of these channels."""
        return any(part.channel in channels for part in self.parts)


@dataclass
class _Answered:
    """The pieces of one row by where they start, which never overlap."""

    counts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)

    def overlap(self, start: int, end: int) -> tuple[int, int] | None:
        """A piece that covers some of these positions, as its start and end."""
        for i in (bisect_right(self.starts, start) - 1, bisect_right(self.starts, start)):
            if 0 <= i < len(self.starts):
                first = self.starts[i]
                last = first + sum(self.counts[first])
                if first < end and start < last:
                    return first, last
        return None

    def add(self, start: int, counts: tuple[int, ...]) -> None:
        self.counts[start] = counts
        insort(self.starts, start)


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
        unplaced = []
        for piece in pieces:
            start = position_of(piece)
            if start is None or self.judge(piece, start).outcome != KEPT:
                unplaced.append(piece)
            else:
                self.add(piece, start)
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

    def judge(self, piece: AnswerPiece, start: int) -> PieceOutcome:
        """What is to become of a piece whose first sense has this position; nothing is changed."""
        asked = self._asked.get((piece.channel, piece.x), 0)
        if start + piece.senses > asked:
            return PieceOutcome(REFUSED, f"request {self.number} asks for {several(asked, 'sense')} of this input")
        answered = self._answered[piece.channel, piece.x]
        if answered.counts.get(start) == piece.counts:
            return PieceOutcome(REPEATED)
        taken = answered.overlap(start, start + piece.senses)
        if taken:
            return PieceOutcome(REFUSED, f"senses {taken[0]:,} to {taken[1] - 1:,} of this input were answered before")
        return PieceOutcome(KEPT)

    def add(self, piece: AnswerPiece, start: int) -> None:
        """Take in a piece that was judged to be kept."""
        part = Part(piece.channel, piece.x, start, piece.senses)
        self._answered[part.row].add(start, piece.counts)
        self._free[part.row] = [rest for free in self._free[part.row] for rest in free.without(part)]
        for lease in list(self.leases.values()):
            lease.parts = [rest for lent in lease.parts for rest in _outside(lent, part)]
            if not lease.parts:
                del self.leases[lease.id]

    def lend(
        self, id: str, sensor: Sensor, channels: Collection[int], most: int, most_parts: int, expires: float, now: float
    ) -> Lease | None:
        """Lend what is free of these channels, at most so many senses and parts; None where nothing is."""
        parts: list[Part] = []
        for row in self._free:
            if row[0] in channels:
                parts += self._take(row, most - sum(part.count for part in parts), most_parts - len(parts))
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
            lent[lease.sensor[0]] += sum(part.count for part in lease.parts if part.channel in channels)
        return lent

    def _take(self, row: Row, most: int, most_parts: int) -> list[Part]:
        taken: list[Part] = []
        while self._free[row] and most > 0 and len(taken) < most_parts:
            part = self._free[row].pop(0)
            if part.count > most:
                rest = Part(*row, part.start + most, part.count - most)
                part, self._free[row] = Part(*row, part.start, most), [rest, *self._free[row]]
            taken.append(part)
            most -= part.count
        return taken

    def _place(self, piece: AnswerPiece) -> None:
        """Put a piece that says no position, as a person told it, where its senses fit: cut, if need be."""
        counts = list(piece.counts)
        for gap in list(self._free[piece.channel, piece.x]):
            here = _first(counts, gap.count)
            if any(here):
                self.add(AnswerPiece(piece.id, piece.channel, piece.x, here), gap.start)


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


def _outside(lent: Part, part: Part) -> Iterable[Part]:
    return lent.without(part) if lent.row == part.row else (lent,)


def _first(counts: list[int], most: int) -> tuple[int, ...]:
    """Take at most so many senses out of the counts."""
    taken: list[int] = []
    for y, count in enumerate(counts):
        here = min(count, most - sum(taken))
        counts[y] -= here
        taken.append(here)
    return tuple(taken)


def _merged(parts: Iterable[Part]) -> list[Part]:
    """The parts of one row in their order, neighbours joined."""
    joined: list[Part] = []
    for part in sorted(parts):
        if joined and joined[-1].end == part.start:
            before = joined.pop()
            part = Part(part.channel, part.x, before.start, before.count + part.count)
        joined.append(part)
    return joined
