"""Names of channels and letters, as clients write them, and their numbers, as runs hold them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bestchannel.errors import InputError
from bestchannel.runs.pieces import AnswerPiece
from bestchannel.runs.settings import Settings
from bestchannel.service.ledger import Part, identifier
from bestchannel.service.messages import LentPart, OfferedPiece


@dataclass(frozen=True)
class Placed:
    """A piece with the position of its first sense."""

    piece: AnswerPiece
    start: int


@dataclass(frozen=True)
class _Sides:
    channel: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


class Dictionary:
    """Both directions for the channels of one run."""

    def __init__(self, settings: Settings) -> None:
        self._parties = settings.parties
        self._sides = {
            str(party.key): _Sides(channel, _numbered(party.inputs), _numbered(party.outputs))
            for channel, party in enumerate(settings.parties)
        }

    def numbers(self, channels: Collection[str]) -> frozenset[int]:
        """The numbers of those channels that the run has."""
        return frozenset(self._sides[name].channel for name in channels if name in self._sides)

    def placed(self, offered: OfferedPiece) -> Placed:
        """The piece in numbers, or an `InputError` that names what the run does not have."""
        sides = self._sides.get(offered.channel)
        if sides is None:
            raise InputError(f"the run has no channel {offered.channel!r}")
        if (x := sides.inputs.get(offered.x)) is None:
            raise InputError(f"channel {offered.channel!r} has no input {offered.x!r}")
        counts = [0] * len(sides.outputs)
        for label, count in offered.counts.items():
            if (y := sides.outputs.get(label)) is None:
                raise InputError(f"channel {offered.channel!r} has no output {label!r}")
            counts[y] = count
        if not any(counts):
            raise InputError(f"a piece counts at least one sense; that of channel {offered.channel!r} counts none")
        return Placed(
            AnswerPiece(identifier(sides.channel, x, offered.start), sides.channel, x, tuple(counts)), offered.start
        )

    def lent(self, part: Part) -> LentPart:
        """The part with its names."""
        party = self._parties[part.channel]
        return LentPart(str(party.key), party.inputs[part.x], part.start, part.count, party.outputs)


def _numbered(labels: Collection[str]) -> dict[str, int]:
    return {label: number for number, label in enumerate(labels)}
