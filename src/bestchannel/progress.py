"""How far something has come, for whoever waits: the library prints nothing itself."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how much of how much is done: rows, runs, channels or bytes."""
