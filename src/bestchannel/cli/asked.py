"""Which question a command asks: the best channel, unless an option says another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bestchannel.cli import options
from bestchannel.errors import InputError


@dataclass(frozen=True)
class Asked:
    """The question as JSON has it, or None for the best."""

    question: dict[str, Any] | None

    @staticmethod
    def from_options(
        above: float | None = options.option(
            None, "Say of every channel whether its capacity is above this many bits.", metavar="BITS"
        ),
        tolerance: float | None = options.option(None, "With --above: this near to it, either may be said."),
        top: int | None = options.option(None, "Name the best so many channels.", metavar="M"),
        order: bool = options.flag("Put all channels in order.", "--order"),
        within: str | None = options.option(
            None, "Find every capacity to within so many bits, or as 5% of itself.", metavar="WIDTH"
        ),
    ) -> Asked:
        """The question that these options ask."""
        asked: dict[str, dict[str, Any]] = {}
        if above is not None:
            asked["--above"] = {"kind": "above", "level": above, "tolerance": tolerance or 0.0}
        if top is not None:
            asked["--top"] = {"kind": "top", "m": top}
        if order:
            asked["--order"] = {"kind": "order"}
        if within is not None:
            asked["--within"] = {"kind": "within", **_width(within)}
        if len(asked) > 1:
            raise InputError(f"one question at a time: {' and '.join(asked)} were given")
        if tolerance is not None and above is None:
            raise InputError("--tolerance belongs to --above, which was not given")
        return Asked(next(iter(asked.values()), None))

    @property
    def settings(self) -> dict[str, Any]:
        """The option of a policy that answers it."""
        return {} if self.question is None else {"question": self.question}


def _width(text: str) -> dict[str, Any]:
    """0.01 as a width in bits, 5% as a part of the capacity."""
    number, percent, rest = text.strip().partition("%")
    try:
        if rest:
            raise ValueError
        return {"width": float(number) / 100.0, "relative": True} if percent else {"width": float(number)}
    except ValueError:
        raise InputError(f"--within must be a number of bits, as 0.01, or a part, as 5%; it is {text!r}") from None
