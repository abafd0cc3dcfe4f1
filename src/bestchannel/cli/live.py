"""What an identification looks like while it runs: a few lines on a terminal, a plain one now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bestchannel.cli import terminal
from bestchannel.information import NATS_PER_BIT
from bestchannel.intervals.verdict import one_digit
from bestchannel.policies import ChannelLabels, Status
from bestchannel.policies.identify import Watch
from bestchannel.promises import several

TERMINAL_S = 0.1
"""Seconds between two looks on a terminal."""


@contextmanager
def watched(parties: Sequence[ChannelLabels]) -> Iterator[Watch]:
    """A progress callback for `identify` that shows on stderr where it stands."""
    err = Console(stderr=True, highlight=False)
    if not err.is_terminal:
        yield terminal.now_and_then(terminal.PLAIN_S, lambda status: terminal.note(sentence(status, parties)))
        return
    with Live(console=err, auto_refresh=False, transient=True) as display:
        yield terminal.now_and_then(
            TERMINAL_S, lambda status: display.update(_panel(status, parties), refresh=True), at_once=True
        )


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


def _panel(status: Status, parties: Sequence[ChannelLabels]) -> Group:
    grid = Table.grid(padding=(0, 2))
    rival = status.challenger
    if status.leader is not None and rival is not None:
        evidence, threshold = _bits(status, rival)
        grid.add_row("leader", terminal.name(str(parties[status.leader].key), bold=True))
        grid.add_row("challenger", terminal.name(str(parties[rival].key)))
        grid.add_row("evidence", _evidence_row(evidence, threshold))
    grid.add_row("left", Text(f"{len(status.candidates)} of {several(len(parties), 'channel')}"))
    grid.add_row("senses", Text(f"{status.senses:,}{_forecast(status)}"))
    return Group(grid)


def _evidence_row(evidence: float, threshold: float) -> Table:
    bar = ProgressBar(total=threshold, completed=max(evidence, 0.0), width=30)
    row = Table.grid(padding=(0, 2))
    row.add_row(bar, f"{evidence:.1f} of {threshold:.1f} bits")
    return row
