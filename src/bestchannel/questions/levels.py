"""What is the capacity of every channel: above a level or below, and between which ends?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from msgspec import UNSET, UnsetType

from bestchannel.arrays import Floats, number_in
from bestchannel.errors import InputError
from bestchannel.promises import criterion, exact, listed
from bestchannel.questions.question import MOST_BITS, NOTHING, Ends, Findings, Lead, Pairs, Question, Standpoint

MOST_RATE = 1e18


class Above(Question, frozen=True, tag="above"):
    """The question which channels have a capacity above a level; the others are below it, or at it.

    Parameters
    ----------
    level
        In bits, at least 0; with rates in bits per second.
    tolerance
        What is called above is then above level - tolerance, what is called below is below level + tolerance: near the
        level, either may be said.
    rates
        Symbols per second of every channel, in their order: its level is then level/rate bits per symbol.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"good": bc.bsc(0.05), "bad": bc.bsc(0.3)}, rng=1)
    >>> policy = bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Above(0.4))
    >>> bc.identify(sensor, policy).findings.answers
    {'good': 'above', 'bad': 'below'}
    """

    level: float
    tolerance: float = 0.0
    rates: tuple[float, ...] | UnsetType = UNSET

    @property
    def line(self) -> float | None:  # type: ignore[override]
        """The level in bits, where it is that of all channels."""
        levels = {self.level / self._rate(channel) for channel in range(len(self.rates or (1.0,)))}
        return levels.pop() if len(levels) == 1 else None

    @property
    def unit(self) -> str:
        """Of the level."""
        return "bit/s" if self.rates else "bit"

    def ends(self, channel: int) -> dict[str, float]:
        """The bits per symbol that a channel must be past to be called above, and below.

        Parameters
        ----------
        channel
            Its number.

        Returns
        -------
        dict of str to float
            One of each side.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.Above(1e5, rates=(2e5, 4e5)).ends(1)
        {'above': 0.25, 'below': 0.25}
        """
        low, high = self._levels
        return {"above": low / self._rate(channel), "below": high / self._rate(channel)}

    def by_alphabet(self, channel: int, alphabet: Sequence[int]) -> str | None:
        """The side on which a channel is by its alphabet alone: none carries more than log2 of the smaller number.

        Parameters
        ----------
        channel
            Its number.
        alphabet
            (n_inputs, n_outputs).

        Returns
        -------
        str or None
            "above", "below", or None where senses must tell.

        Examples
        --------
        >>> import bestchannel as bc
        >>> bc.Above(1.5).by_alphabet(0, (2, 4)), bc.Above(0.5).by_alphabet(0, (2, 4))
        ('below', None)
        """
        if self.level / self._rate(channel) >= math.log2(min(alphabet)):
            return "below"
        return "above" if self.ends(channel)["above"] < 0.0 else None

    @property
    def _levels(self) -> tuple[float, float]:
        """The level less the tolerance and with it, of the numbers as they are written: 0.4 - 0.1 is 0.3."""
        level, tolerance = Decimal(exact(self.level)), Decimal(exact(self.tolerance))
        return float(level - tolerance), float(level + tolerance)

    def _rate(self, channel: int) -> float:
        return self.rates[channel] if self.rates else 1.0

    def refuse_unless_possible(self, channels: int) -> None:
        if self.rates and len(self.rates) != channels:
            raise InputError(f"every channel requires a rate; there are {len(self.rates)} for {channels}")
        for rate in self.rates or ():
            number_in(rate, "a rate (in symbols per second)", low=0.0, high=MOST_RATE)
        most = MOST_BITS * min(self.rates or (1.0,))
        number_in(self.level, f"the level (of capacity, in {self.unit})", low=0.0, high=most, low_open=False)
        number_in(self.tolerance, f"the tolerance (in {self.unit})", low=0.0, high=most, low_open=False)

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        answers = {name: self._side(i, *ends) for i, (name, ends) in enumerate(intervals.items())}
        return Findings(all(answers.values()), answers=answers)

    def _side(self, channel: int, lower: float, upper: float) -> str | None:
        ends = self.ends(channel)
        if lower > ends["above"]:
            return "above"
        return "below" if upper < ends["below"] or upper == self.level / self._rate(channel) else None

    def _promised(self, P: Sequence[float] | None) -> str:
        low, high = map(exact, self._levels)
        at_most = "<" if self.tolerance else "<="
        value, unit = f"{criterion(P)}{' times its rate' if self.rates else ''}", self.unit
        return f"every {value} called above is > {low} {unit}, every one called below {at_most} {high} {unit},"

    def answer(self, standpoint: Standpoint) -> str:
        answers = (standpoint.findings or NOTHING).answers or {}
        sides = {"above": "above", "below": "below", None: "undecided"}
        level = exact(self.level) + (f" ± {exact(self.tolerance)}" if self.tolerance else "")
        parts = [
            f"{what} {level} {self.unit}: {listed(named)}" if side else f"{what}: {listed(named)}"
            for side, what in sides.items()
            if (named := [channel for channel, said in answers.items() if said == side])
        ]
        return "; ".join(parts)

    def _proved(self, standpoint: Standpoint, P: Sequence[float] | None) -> str | None:
        said = (standpoint.findings or NOTHING).says_something
        return "what is called above or below is so" if said else None

    def _holds(self, found: Findings, values: Floats, same: float) -> bool:
        signs = {"above": 1.0, "below": -1.0}
        answers = [(channel, side, signs[side]) for channel, side in (found.answers or {}).items() if side]
        return all(sign * values[channel] >= sign * self.ends(channel)[side] - same for channel, side, sign in answers)


class Within(Question, frozen=True, tag="within"):
    """The question how large every capacity is, between ends that are at most so many bits apart.

    Parameters
    ----------
    width
        Of every interval, in bits.
    relative
        That the width is a part of the lower end instead.

    Examples
    --------
    >>> import bestchannel as bc
    >>> sensor = bc.Simulator({"link": bc.bsc(0.1)}, rng=1)
    >>> result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=bc.Within(0.1)))
    >>> lower, upper = result.findings.brackets["link"]
    >>> lower < 0.531 < upper < lower + 0.1
    True
    """

    width: float
    relative: bool = False

    def refuse_unless_possible(self, channels: int) -> None:
        number_in(self.width, "the width (of every interval, in bits)", low=0.0, high=MOST_BITS)

    def proved_by(self, intervals: Ends, pairs: Pairs, lead: Lead) -> Findings:
        return Findings(not self._wide(intervals), brackets=dict(intervals))

    def _wide(self, brackets: Ends) -> list[Any]:
        """The channels whose ends are too far apart."""
        return [c for c, (low, high) in brackets.items() if high - low > self.width * (low if self.relative else 1.0)]

    def _promised(self, P: Sequence[float] | None) -> str:
        return f"every {criterion(P)} is within its interval"

    def answer(self, standpoint: Standpoint) -> str:
        brackets = (standpoint.findings or NOTHING).brackets or {}
        ends = [f"{channel} {low:.6g} to {high:.6g} bit" for channel, (low, high) in brackets.items()]
        said = f"capacities: {listed(ends)}"
        most = f"{100.0 * self.width:.6g} %" if self.relative else f"{exact(self.width)} bit"
        return said + (f"; wider than {most}: {listed(wide)}" if (wide := self._wide(brackets)) else "")

    def _proved(self, standpoint: Standpoint, P: Sequence[float] | None) -> str:
        return self._promised(P)

    def _holds(self, found: Findings, values: Floats, same: float) -> bool:
        brackets = (found.brackets or {}).items()
        return all(low - same <= values[channel] <= high + same for channel, (low, high) in brackets)
