"""Outputs that are measured numbers: how a label is read as one, and how a log of them is told from one of labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from bestchannel.errors import InputError

FEWEST = 10  # fewer different outputs are labels, whatever they look like
MOST_CLASSES = 1000  # so many different whole numbers may be the names of classes
MANY_LEVELS = 100  # more different whole numbers may be the names of classes, or what a converter measured
ONCE = 0.1
"""Where a larger share of the senses has an output that came once, the alphabet is not known from them.

That share is the Good–Turing estimate of the probability that the next output is a new one [Goo53]. As no more outputs
come once than there are, a channel with ten senses per output is never above it.
"""

_REAL = r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"

_NUMBER = re.compile(rf"(?:{_REAL}|[+-]?(?:inf|infinity))", re.IGNORECASE)

_COMPLEX = re.compile(rf"\(?({_REAL}(?=\s*[+-]))?\s*([+-]?)\s*({_REAL.removeprefix('[+-]?')})\s*[ijIJ]\)?")

_WHOLE = re.compile(r"[+-]?[0-9]+(?:[.,]0*)?")

_WITH_UNIT = re.compile(rf"(?=[^.,]*[.,]){_REAL}\s*[^\W\d_%]{{1,4}}%?")


def measured(label: str) -> tuple[float, ...] | None:
    """The number that a label spells, or the two of a complex number such as 0.3-1.2j; None for any other label.

    >>> measured("-0.5"), measured("0,25"), measured("1.5-2j"), measured("lost")
    ((-0.5,), (0.25,), (1.5, -2.0), None)
    """
    text = label.strip()
    if _NUMBER.fullmatch(text):
        return (float(text.replace(",", ".")),)
    point = _COMPLEX.fullmatch(text)
    if point is None:
        return None
    real, sign, imaginary = ((part or "").replace(",", ".") for part in point.groups())
    return float(real or 0), float(sign + imaginary)  # Python writes 2j where the real part is 0


def point(first: str, second: str) -> str:
    """The complex number with these parts, as a label.

    >>> point("0.5", "-2"), point("0.5", "2")
    ('0.5-2j', '0.5+2j')
    """
    second = second.strip()
    return f"{first.strip()}{'' if second.startswith(('+', '-')) else '+'}{second}j"


def looks_measured(labels: Sequence[str], totals: NDArray[Any]) -> bool:
    """Whether labels are numbers of which too many came once."""
    return len(labels) >= FEWEST and bool((totals == 1).sum() > ONCE * totals.sum()) and _are_numbers(labels)


def _are_numbers(labels: Sequence[str]) -> bool:
    """Whether all labels are numbers, not all of them whole unless there are very many."""
    if all(map(_WHOLE.fullmatch, labels)):
        return len(labels) > MOST_CLASSES
    return all(measured(label) is not None or _WITH_UNIT.fullmatch(label) for label in labels)


def refuse_measured_inputs(channel: object, inputs: Sequence[str], totals: NDArray[Any]) -> None:
    """Refuse inputs that are numbers of which too many were sent once: totals[x] senses sent inputs[x]."""
    if looks_measured(inputs, totals):
        raise InputError(
            f'the inputs of channel "{channel}" look like measured values: {int(totals.sum()):,} senses have'
            f" {len(inputs):,} different numbers, and an input is a symbol that is sent again and again; if x and y are"
            ' exchanged, say --transpose (transpose=True); if they are labels, --bins none (bins="none")'
        )


def refuse_measured(channel: object, outputs: Sequence[str], totals: NDArray[Any]) -> None:
    """Refuse outputs that are numbers of which too many came once: totals[y] senses gave outputs[y]."""
    if not looks_measured(outputs, totals):
        return
    senses, once = int(totals.sum()), int((totals == 1).sum())
    raise InputError(
        f'the outputs of channel "{channel}" look like measured values: {senses:,} senses have {len(outputs):,}'
        f" different numbers, of which {once:,} came once, so that counts say nothing; cut them into bins, --bins 8"
        " (bins=8, bc.quantise), or with edges, --bins=-1,0,1 (bins=[-1, 0, 1]); if they are labels, say --bins none"
        ' (bins="none")'
    )


def hint_about_bins(channel: str, outputs: Sequence[str]) -> str | None:
    """What is said of outputs that are labels, and may as well be measured: whole numbers of very many kinds."""
    if len(outputs) <= MANY_LEVELS or not all(map(_WHOLE.fullmatch, outputs)):
        return None
    return (
        f'channel "{channel}" has {len(outputs):,} different whole numbers as outputs; if they were measured, as by a'
        " converter, --bins 8 (bins=8) puts them into bins, which proves more with the same senses"
    )
