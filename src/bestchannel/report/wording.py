"""The verdict and what surrounds it, in sentences."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from bestchannel.intervals.verdict import one_digit
from bestchannel.policies.catalogue import POLICIES
from bestchannel.promises import amount, in_words
from bestchannel.report.numerals import several
from bestchannel.report.provenance import Provenance
from bestchannel.report.summary import Summary

MOST_NAMED = 4
LONGEST_NAME = 60

SOURCES = {
    "simulation": ("identify", "--simulate", "CHANNELS"),
    "recording": ("identify", "--replay", "TRIALS"),
    "laboratory": ("run", "new", "RUN.db", "--alphabets", "FILE"),
    "counts": ("estimate", "COUNTS"),
}
"""How identifications begin, by who answers."""

FLAGS = ("subroutine", "sampling", "threshold", "input_distribution")
"""The options of policies that the command line has words of its own for."""


def brief(name: str, longest: int = LONGEST_NAME) -> str:
    """The name, its middle left out where it is longer than so many signs."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}…{name[len(name) - tail :]}"


def named(names: Sequence[str]) -> str:
    """a, b and c; of many the first few and how many others.

    >>> named(["a", "b", "c"]), named(list("abcdef"))
    ('a, b and c', 'a, b, c, d and 2 others')
    """
    first = [brief(name) for name in names[:MOST_NAMED]]
    rest = len(names) - len(first)
    if rest:
        first.append(several(rest, "other"))
    return first[0] if len(first) == 1 else f"{', '.join(first[:-1])} and {first[-1]}"


def verdict(summary: Summary) -> str:
    """What was found, in one sentence."""
    result, value = summary.result, "capacity" if summary.input_distribution is None else "I(P;W)"
    if result.decided and len(summary.channels) == 1:
        return f"{brief(str(result.best))} is the only channel."
    if result.decided and result.epsilon:
        return f"{brief(str(result.best))} is within {result.epsilon:g} bit of the largest {value}."
    if result.decided:
        return f"{brief(str(result.best))} has the largest {value}."
    names = [channel.name for channel in summary.channels if channel.name in set(map(str, result.candidates))]
    return f"Undecided between {named(names)}." if names else "Undecided."


def promise(summary: Summary) -> str:
    """The guarantee of the verdict, or what is missing to one."""
    if summary.result.decided:
        return in_words(summary.result.guarantee)
    if not summary.course and summary.found is None:
        return "Nothing has been sensed yet."
    proved = summary.result.proved_so_far
    return f"{in_words(proved)} {_forecast(summary)}" if proved else _forecast(summary)


def _forecast(summary: Summary) -> str:
    if summary.more_senses is None:
        return "There is no forecast of the senses that it would still take."
    return f"Some {several(one_digit(summary.more_senses), 'more sense')} would decide, if the estimates are right."


def spent(summary: Summary) -> str:
    """How much was sensed."""
    senses, channels = several(summary.result.senses, "sense"), several(len(summary.channels), "channel")
    paid = "" if summary.result.cost is None else f", which cost {amount(summary.result.cost)},"
    return f"{senses} of {channels}{paid} in {several(len(summary.course), 'request')}."


def command(summary: Summary, about: Provenance) -> str:
    """The command that asks the same question again; what is not known of it stands in capitals."""
    if about.source in ("laboratory", "sensor") and about.run:
        return shlex.join(["bestchannel", "run", "resume", about.run])
    result, options = summary.result, summary.result.audit.options
    *verb, placeholder = SOURCES.get(about.source, SOURCES["simulation"])
    words = ["bestchannel", *verb, about.data or placeholder]
    words += ["--policy", result.policy] if result.policy else []
    words += ["--delta", f"{result.delta:g}"]
    if result.epsilon:
        words += ["--epsilon", f"{result.epsilon:g}"]
    for name, value in options.items():
        words += _flag(name, value) if name in FLAGS else ["--policy-option", f"{name}={json.dumps(value)}"]
    if summary.found is not None:
        words += ["--design", "adaptive"] if summary.found.design == "adaptive" else []
        words += ["--rank"] if summary.found.order else []
    words += [] if about.seed is None else ["--seed", str(about.seed)]
    return shlex.join(words)


def checking(summary: Summary, about: Provenance) -> str:
    """The command that checks the record again, where there is something to check and a file that holds it."""
    if not summary.result.decided or summary.result.policy not in POLICIES:
        return ""
    held = about.run or (about.report if about.has_record else "") or "RESULT.json"
    return shlex.join(["bestchannel", "verify", held])


def _flag(name: str, value: object) -> list[str]:
    plain = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [f"--{name.replace('_', '-')}", plain]
