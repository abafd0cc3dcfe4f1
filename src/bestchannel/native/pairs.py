"""Linear bets on pairs of answers: the kernels of `evidence.pair_bets`, with the arrays that they read and fill."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from bestchannel.arrays import Floats, Integers
from bestchannel.native.library import Kernel

LANES = 8
"""The terms of a letter are a multiple of these, filled up with counts of 0."""

_TERMS = "k n m first[f]i8 often[k] alpha[k] beta[k] kappa[k] drift[m] level[n] slope[n] weight."
_climbed = Kernel("pair_climbed", f"{_TERMS} P[n] logW[nm] logR[m] largest. room(knm)", ctypes.c_double, positive="nm")
_bounded = Kernel(
    "pair_bounded", f"{_TERMS} P[n] logW[nm] logR[m] c ends[c2n] target. b room(knmb)", ctypes.c_double, positive="nmcb"
)
_row = Kernel("pair_row", f"{_TERMS} at p. logR[m] logw[m] room(knm)", ctypes.c_double, positive="nm")

Place = tuple[Floats, Floats, Floats]
"""P [x], log W [x, y] and log R [y]."""


class Terms(NamedTuple):
    """What was bet and counted on the trials of a rival, as pair_rows.h has it; a letter begins at first[x m + y]."""

    first: Integers
    often: Floats
    alpha: Floats
    beta: Floats
    kappa: Floats
    drift: Floats  # [y]
    level: Floats  # [x]
    slope: Floats  # [x]
    weight: float


def climbed(terms: Terms, place: Place, largest: float) -> float:
    """The most that seems to be lost at inputs without an entry above `largest`; the place moves to where that is."""
    return float(_climbed(*_checked(terms), *place, largest))


def bounded(terms: Terms, place: Place, ends: Floats, target: float, boxes: int) -> float:
    """An upper bound of what is lost at inputs within any of ends [i, 2, x]: the target, if so many boxes show it."""
    if len(ends) > boxes:
        raise ValueError(f"there must be at least {len(ends)} boxes; there are {boxes}")
    return float(_bounded(*_checked(terms), *place, ends, target, b=boxes))


def row(terms: Terms, x: int, p: float, log_R: Floats, log_w: Floats) -> float:
    """The most that is lost at input x of the probability p, from above; for tests."""
    if not 0 <= x < len(terms.level):
        raise ValueError(f"x must be one of {len(terms.level)} inputs; it is {x}")
    return float(_row(*_checked(terms), x, p, log_R, log_w))


def _checked(terms: Terms) -> Terms:
    """The terms, whose places must be within them and begin whole lanes."""
    first, cells = terms.first, len(terms.level) * len(terms.drift)
    inside = len(first) == cells + 1 and first[0] == 0 and first[-1] == len(terms.often)
    if not (inside and (first[1:] >= first[:-1]).all() and not (first % LANES).any()):
        raise ValueError(f"the terms of {cells} letters must begin at multiples of {LANES} that rise to their number")
    return terms
