"""What a file says of one channel, before anything is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bestchannel.errors import InputError


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """A matrix as it stands in a file, with its labels; None stands for the labels 0, 1, 2, ..."""

    name: str
    rows: object
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None


def labels_or_none(labels: Sequence[str]) -> Sequence[str] | None:
    """The labels, or None if they are 0, 1, 2, ... and need not be stored."""
    return None if list(labels) == [str(i) for i in range(len(labels))] else labels


def refuse_text(name: object, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuse a name or label that not every format and terminal can hold."""
    for text in (name, *inputs, *outputs):
        if not isinstance(text, str) or "\0" in text or not _is_unicode(text):
            raise InputError(f"names and labels must be Unicode text without NUL; one of channel {name!r} is {text!r}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        return False
    return True
