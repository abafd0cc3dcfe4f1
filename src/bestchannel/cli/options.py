"""Arguments and options that several verbs share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from bestchannel.arrays import number_in
from bestchannel.channels.channel import sense_costs
from bestchannel.channels.families import family_list
from bestchannel.disk import read_bytes
from bestchannel.errors import InputError
from bestchannel.json_text import json_of


def option(default: Any, help: str, *names: str, **more: Any) -> Any:
    """An option with its help and what it is unless it is given, which the help shows of a number alone."""
    return typer.Option(default, *names, help=help, **{"show_default": isinstance(default, int | float), **more})


def flag(help: str, name: str) -> Any:
    """An option without a value."""
    return typer.Option(False, name, help=help)


def file(default: Any, help: str, *names: str, **more: Any) -> Any:
    """An option that is a path, or several; whether it can be read is found out, and said, where it is read."""
    return option(default, help, *names, readable=False, **more)


def argument(help: str, **more: Any) -> Any:
    """What must be given, without a name; a path is as in `file`."""
    return typer.Argument(..., help=help, readable=False, show_default=False, **more)


class DesignChoice(StrEnum):
    """How the numbers of senses came about."""

    fixed = "fixed"
    adaptive = "adaptive"
    joint = "joint"
    shared = "shared"


CHANNELS = argument(
    "Files of channels, a folder of them, - for standard input, or channels of families, as bsc:0.11 z:0.2:"
    f" {family_list()}."
)
DELTA = option(0.05, "Largest probability of a wrong answer.")
EPSILON = option(None, "Accept a channel within this many bits of the best.")
MAX_SENSES = option(None, "Take no more senses than this.")
SEED = option(0, "Seed of the simulated senses.", min=0)
NO_CHECKS = flag("Do not look for drift and memory in the order of the senses.", "--no-checks")
SHOTS = flag("Count shots that all channels answer at once, as the policy joint does.", "--shots")
INPUT_DISTRIBUTION = option(None, "Compare I(P;W) at this P instead of capacities, as 0.5,0.5: one for each input.")
RATE = option(
    None, "Symbols per second, so that levels are in bits per second: q0=1e6, or 1e6 for all.", metavar="[NAME=]NUMBER"
)
COST = option(
    None,
    "What a sense costs, as q0=2, of one input as q0:1=3, or a JSON file; 1 where nothing is said.",
    metavar="CHANNEL=COST",
)
TOKEN = option(None, "The token, in place of that in the address.", envvar="BESTCHANNEL_TOKEN")
"""Of a service, for its clients."""


def parse_distribution(text: str | None) -> list[float] | None:
    """0.5,0.5 as numbers."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--input-distribution must look like 0.5,0.5; it is {text!r}") from None


def given(options: Any) -> dict[str, Any]:
    """Those fields of a dataclass of options that the command has: --no-checks as no_checks, with its value."""
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def as_typed(names: Iterable[str]) -> list[str]:
    """The names of options as a command has them."""
    return [f"--{name.replace('_', '-')}" for name in names]


def as_words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Options with their values as a command has them."""
    pairs = zip(as_typed(options), options.values(), strict=True)
    return tuple(name if value is True else f"{name}={value}" for name, value in pairs)


def refuse_for_result(*options: Any) -> None:
    """Refuse options that say how counts are to be read or judged: the file has a result."""
    if names := as_typed(chain.from_iterable(map(given, options))):
        are = "is an option" if len(names) == 1 else "are options"
        raise InputError(
            f"{', '.join(names)} {are} for files of counts, and this is a result, which says itself what was"
            " sensed and promised; leave out what is for counts"
        )


def parse_costs(texts: Sequence[str] | None, letters: Mapping[str, Sequence[str]]) -> dict[str, list[list[float]]]:
    """{"cost": that of every input of every channel}, or nothing where no text says any; `letters` are the inputs."""
    if not texts:
        return {}
    given: dict[tuple[str, str | None], Any] = {}
    for place, cost in chain.from_iterable(map(_named_costs, texts)):
        name, _, x = (place, "", None) if place in letters else place.rpartition(":")
        if name not in letters:
            known = ", ".join(list(letters)[:12])
            raise InputError(f"--cost names channel {place!r}, which takes no part; those that do: {known}")
        if x is not None and x not in letters[name]:
            known = ", ".join(letters[name][:12])
            raise InputError(f"--cost names input {x!r} of channel {name!r}, which has {known}")
        if (name, x) in given:
            raise InputError(f"--cost must name each channel and each input once; {place!r} has two costs")
        given[name, x] = cost
    # that of an input comes before that of its channel
    costs = {
        name: [given.get((name, x), given.get((name, None), 1.0)) for x in inputs] for name, inputs in letters.items()
    }
    return {"cost": list(map(list, sense_costs(costs, list(costs), [*map(len, letters.values())])))}


def _named_costs(text: str) -> list[tuple[str, Any]]:
    """q0=2 as a place and a number; of a file, all that it has."""
    place, sign, number = text.rpartition("=")
    if sign and place.strip():
        try:
            return [(place.strip(), float(number))]
        except ValueError:
            raise InputError(f"--cost must end with a number, as q0=2; it is {text!r}") from None
    document = json_of(read_bytes(Path(text)))
    if not isinstance(document, dict):
        raise InputError(f'{text}: a file of costs must be JSON as {{"q0": 2, "q1": {{"0": 1, "1": 5}}}}')
    return [
        (f"{name}:{x}" if x is not None else name, cost)
        for name, given in document.items()
        for x, cost in (given.items() if isinstance(given, dict) else [(None, given)])
    ]


@dataclass(frozen=True)
class Asked:
    """What is asked in place of the best."""

    above: float | None = option(
        None, "Say of every channel whether its capacity is above this many bits.", metavar="BITS"
    )
    tolerance: float | None = option(None, "With --above: this near to it, either may be said.")
    top: int | None = option(None, "Name the best so many channels.", metavar="M")
    order: bool = flag("Put all channels in order.", "--order")
    within: str | None = option(
        None, "Find every capacity to within so many bits, or as 5% of itself.", metavar="WIDTH"
    )
    rate: list[str] | None = RATE

    def __post_init__(self) -> None:
        _ = self.question  # what cannot be asked is refused before anything is read

    @cached_property
    def question(self) -> dict[str, Any] | None:
        """The question as JSON has it, or None for the best; without rates."""
        possible: dict[str, dict[str, Any]] = {
            "above": {"level": self.above, "tolerance": self.tolerance or 0.0},
            "top": {"m": self.top},
            "order": {},
            "within": _width(self.within or "1"),
        }
        asked = [kind for kind in possible if kind in given(self)]
        if len(asked) > 1:
            raise InputError(f"one question at a time: {' and '.join(as_typed(asked))} were given")
        if self.tolerance is not None and self.above is None:
            raise InputError("--tolerance belongs to --above, which was not given")
        if self.rate and self.above is None:
            raise InputError("--rate makes the level of --above bits per second; which is the fastest is not asked yet")
        return {"kind": asked[0], **possible[asked[0]]} if asked else None

    def of(self, names: Sequence[str]) -> dict[str, Any] | None:
        """The question about channels of these names."""
        if self.question is None or not self.rate:
            return self.question
        return self.question | {"rates": list(parse_rates(self.rate, names).values())}


def parse_rates(texts: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """q0=1e6 as the symbols per second of a channel, 1e6 as those of all others."""
    rates: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if name and name not in names:
            raise InputError(f"--rate must name a channel, as {names[0]}=1e6; there is no {name!r}")
        if name in rates:
            raise InputError(f"--rate must be given once for each channel; it is given twice in {' '.join(texts)!r}")
        value: float | str = number
        with suppress(ValueError):
            value = float(number)
        rates[name] = number_in(value, f"--rate {text} (symbols per second)", low=0.0, high=1e18)
    missing = [name for name in names if name not in rates and "" not in rates]
    if missing:
        raise InputError(f"every channel requires a rate; {missing[0]!r} has none: add --rate {missing[0]}=1e6")
    return {name: rates.get(name, rates.get("", 1.0)) for name in names}


def _width(text: str) -> dict[str, Any]:
    """0.01 as a width in bits, 5% as a part of the capacity."""
    number, percent, rest = text.strip().partition("%")
    try:
        if rest:
            raise ValueError
        return {"width": float(number) / 100.0, "relative": True} if percent else {"width": float(number)}
    except ValueError:
        raise InputError(f"--within must be a number of bits, as 0.01, or a part, as 5%; it is {text!r}") from None
