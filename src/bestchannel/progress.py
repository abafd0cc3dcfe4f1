"""How far something has come, for whoever waits: the library prints nothing itself."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how much of how much is done: rows, runs, channels or bytes."""


def part_of(progress: Progress | None, before: int, total: int) -> Progress:
    """The progress of a part of some work: `before` is what other parts have done of its `total`.

    A part that begins again, as a search in rounds does, stays where it was until it is further.
    """
    furthest = before

    def show(done: int, _total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, before + done)
        if progress:
            progress(furthest, total)

    return show
