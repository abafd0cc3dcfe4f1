"""An answer that arrives in pieces: what each sensor, or each sitting, has counted of a request.

A piece has an identifier of its sender's choice, and counts some senses of one input of one channel. The answer is the
sum of its pieces, so the order in which they arrive does not matter; a piece that arrives twice counts once; two
pieces with one identifier, or more senses than were asked for, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bestchannel.arrays import Integers
from bestchannel.errors import InputError
from bestchannel.policies import Request
from bestchannel.promises import several

LONGEST_ID = 200

Rows = Mapping[tuple[int, int], Sequence[int]]  # how often each output came, by (channel, input)


@dataclass(frozen=True)
class AnswerPiece:
    """Some senses of input `x` of a channel, both by number: `counts[y]` of them gave output y.

    Its `id` tells a piece from every other of its request: a piece sent again has the same.

    >>> AnswerPiece("sensor 1, batch 7", channel=0, x=1, counts=(3, 61)).senses
    64
    """

    id: str
    channel: int
    x: int
    counts: tuple[int, ...]

    @property
    def senses(self) -> int:
        """All senses of the piece."""
        return sum(self.counts)


def as_pieces(rows: Rows, sender: str = "") -> list[AnswerPiece]:
    """A piece for every input; the same sender has the same pieces again."""
    return [AnswerPiece(f"{sender}channel {c}, input {x}", c, x, tuple(counts)) for (c, x), counts in rows.items()]


class PartialAnswer:
    """The pieces of one request that have arrived."""

    def __init__(self, request: Request, alphabets: Sequence[tuple[int, int]]) -> None:
        self.request = request
        self.pieces: dict[str, AnswerPiece] = {}
        self._alphabets = alphabets
        self._missing = {channel: list(senses) for channel, senses in request.senses.items()}

    @property
    def missing(self) -> dict[int, tuple[int, ...]]:
        """How many senses of each input of each channel are still to come."""
        return {channel: tuple(senses) for channel, senses in self._missing.items()}

    @property
    def total_missing(self) -> int:
        """How many senses are still to come."""
        return sum(map(sum, self._missing.values()))

    def new_among(self, pieces: Iterable[AnswerPiece]) -> list[AnswerPiece]:
        """Those that have not arrived yet, or an `InputError` where one of them can not be added."""
        new: dict[str, AnswerPiece] = {}
        left = {channel: list(senses) for channel, senses in self._missing.items()}
        for piece in pieces:
            known, where = self.pieces.get(piece.id) or new.get(piece.id), f"of request {self.request.number}"
            if known is None:
                self._refuse_unfit(piece)
                missing = left[piece.channel][piece.x]
                if piece.senses > missing:
                    asked = self.request.senses[piece.channel][piece.x]
                    raise InputError(
                        f"piece {piece.id!r} {where} has {several(piece.senses, 'sense')} of input x={piece.x} of"
                        f" channel {piece.channel}; of the {asked:,} that were asked for, {missing:,} are missing"
                    )
                left[piece.channel][piece.x] -= piece.senses
                new[piece.id] = piece
            elif known != piece:
                raise InputError(
                    f"piece {piece.id!r} {where} was told otherwise before; a piece stays as"
                    " it was told, and other counts require another identifier"
                )
        return list(new.values())

    def add(self, pieces: Iterable[AnswerPiece]) -> None:
        """Take in pieces that are new."""
        for piece in pieces:
            self.pieces[piece.id] = piece
            self._missing[piece.channel][piece.x] -= piece.senses

    def amended(self, rows: Rows, name: str) -> PartialAnswer:
        """The same with these counts in place of all pieces of their inputs."""
        answer = PartialAnswer(self.request, self._alphabets)
        kept = [piece for piece in self.pieces.values() if (piece.channel, piece.x) not in rows]
        answer.add(answer.new_among([*kept, *as_pieces(rows, f"{name}: ")]))
        return answer

    def counts(self, more: Iterable[AnswerPiece] = ()) -> dict[int, Integers]:
        """All that the pieces, and some more, have counted, by channel: shape (n_inputs, n_outputs)."""
        tables = {channel: np.zeros(self._alphabets[channel], dtype=np.int64) for channel in self.request.senses}
        for piece in (*self.pieces.values(), *more):
            tables[piece.channel][piece.x] += np.array(piece.counts, dtype=np.int64)
        return tables

    def refuse_less(self, counts: Mapping[int, Integers]) -> None:
        """Refuse a whole answer that leaves out what a piece has counted."""
        for channel, table in self.counts().items():
            for x in np.flatnonzero((table > counts[channel]).any(axis=1)):
                raise InputError(
                    f"the answer to request {self.request.number} must contain what was told of it in pieces; it has"
                    f" {counts[channel][x].tolist()} for input x={x} of channel {channel}, and the pieces have"
                    f" {table[x].tolist()}"
                )

    def _refuse_unfit(self, piece: AnswerPiece) -> None:
        request = self.request
        where = f"piece {str(piece.id)[:LONGEST_ID]!r} of request {request.number}"
        if not isinstance(piece.id, str) or not 0 < len(piece.id) <= LONGEST_ID or not piece.id.isprintable():
            raise InputError(f"{where} must have an identifier of 1 to {LONGEST_ID} visible letters")
        if piece.channel not in request.senses or piece.x not in range(len(request.senses[piece.channel])):
            raise InputError(f"{where} must count what was asked; it counts input {piece.x} of channel {piece.channel}")
        if len(piece.counts) != (n_outputs := self._alphabets[piece.channel][1]):
            raise InputError(f"{where} must have {n_outputs} counts, one for each output; it has {len(piece.counts)}")
        if not all(type(count) is int and count >= 0 for count in piece.counts) or not piece.senses:
            raise InputError(f"{where} must have counts that are whole numbers from 0 on, not all 0")
