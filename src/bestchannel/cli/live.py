"""What an identification looks like while it runs: a few lines on a terminal, a plain one now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from bestchannel.cli import terminal
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.verdict import one_digit
from bestchannel.policies import ChannelLabels, Status
from bestchannel.policies.identify import Watch
from bestchannel.promises import several

if TYPE_CHECKING:
    from rich.console import RenderableType


def watched(parties: Sequence[ChannelLabels]) -> AbstractContextManager[Watch]:
    """A progress callback for `identify` that shows on stderr where it stands."""
    return terminal.current(lambda status: sentence(status, parties), lambda status: _rows(status, parties))


def sentence(status: Status, parties: Sequence[ChannelLabels]) -> str:
    """Where it stands, in one line."""
    course = f"{len(status.candidates)} of {len(parties)} left, {several(status.senses, 'sense')}{_forecast(status)}"
    rival = status.challenger
    if status.leader is None or rival is None:
        return course
    evidence, threshold = _bits(status, rival)
    names = f"{parties[status.leader].key} before {parties[rival].key}"
    return f"{course}; {names}: {evidence:.1f} of {threshold:.1f} bits"


def _forecast(status: Status) -> str:
    if status.more_senses is None or len(status.candidates) < 2:
        return ""
    return f", some {one_digit(status.more_senses):,} to go"


def _bits(status: Status, rival: int) -> tuple[float, float]:
    return status.evidence_nats[rival] / NATS_PER_BIT, status.threshold_nats[rival] / NATS_PER_BIT


def _rows(status: Status, parties: Sequence[ChannelLabels]) -> Iterator[tuple[RenderableType, RenderableType]]:
    rival = status.challenger
    if status.leader is not None and rival is not None:
        yield "leader", terminal.name(str(parties[status.leader].key), bold=True)
        yield "challenger", terminal.name(str(parties[rival].key))
        yield "evidence", _bar(*_bits(status, rival))
    yield "left", f"{len(status.candidates)} of {several(len(parties), 'channel')}"
    yield "senses", f"{status.senses:,}{_forecast(status)}"


def _bar(evidence: float, threshold: float) -> RenderableType:
    from rich.columns import Columns
    from rich.progress_bar import ProgressBar

    bar = ProgressBar(total=threshold, completed=max(evidence, 0.0), width=30)
    return Columns([bar, f"{evidence:.1f} of {threshold:.1f} bits"], padding=(0, 2))
