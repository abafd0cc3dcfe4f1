"""How a check says that something does not hold."""

from __future__ import annotations

from collections.abc import Callable

from bestchannel.errors import InputError


def claim(holds: object, sentence: str) -> None:
    """Raise `AssertionError` with the sentence, unless it holds; `assert` would say nothing under `python -O`."""
    if not holds:
        raise AssertionError(sentence)


def claim_refused(call: Callable[[], object], what: str) -> None:
    """Claim that the call raises `InputError`."""
    try:
        found = call()
    except InputError:
        return
    raise AssertionError(f"{what} must be refused with an InputError; it is taken, and gives {found!r}")
