"""What columns are called that are not called channel, x, y and count: a proposal that can be written as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_KNOWN = {
    "x": "x tx sent send in input inputs stimulus prepared prep true truth actual target label secret source src symbol"
    " transmitted cause gold reference written",
    "y": "y rx got received receive out output outputs response measured outcome predicted prediction pred observed"
    " observation destination dst decoded effect answer read spikes called",
    "channel": "channel ch link device qubit antenna subject sensor cable path name carrier subcarrier cell listener"
    " classifier model user node station port neuron participant person patient electrode detector unit",
    "count": "count counts n number freq frequency times occurrences total trials senses shots hits",
    "p": "p prob probability probabilities w",
}
"""Words that people use for each role."""

_PERCENTAGE = re.compile(r"[0-9.,]+ ?%")

_WORDS = {word: role for role, words in _KNOWN.items() for word in words.split()}


def proposal(header: Sequence[str] | None, *, value: str = "count", strict: bool = False) -> dict[str, str] | None:
    """Which column may have which role: by their names, then by their order; None where there is no telling.

    With `strict`, by their names alone. `value` is the role of the last column, `count` or `p`.
    """
    titles = [title.strip() for title in header or []]
    if not all(titles) or any(map(_PERCENTAGE.fullmatch, titles)) or len(set(map(str.casefold, titles))) < len(titles):
        return None
    found: dict[str, str] = {}
    for title in titles:
        found.setdefault(role_of(title) or "", title)
    if not strict:
        found |= _by_order(found, [title for title in titles if role_of(title) is None], value)
    if not {"x", "y"} <= found.keys() or any(set(',="') & set(title) for title in found.values()):
        return None
    return {role: found[role] for role in ("channel", "x", "y", value) if role in found}


def role_of(title: str) -> str | None:
    """The role of a title as `tx`, `Tx symbol` or `sent_bit`; in `y_true` it is `true` that says it."""
    words = re.findall(r"[a-z]+", title.casefold())
    known = [word for word in words if word in _WORDS]
    return next((_WORDS[word] for word in sorted(known, key=lambda word: word in ("x", "y"))), None)


def say_roles(header: Sequence[str]) -> bool:
    """Whether titles are those of columns: one is x, y or channel, or two have different roles."""
    small = [title.strip().casefold() for title in header]
    return not {"x", "y", "channel"}.isdisjoint(small) or len({role_of(title) for title in small} - {None}) > 1


def _by_order(found: Mapping[str, str], others: Sequence[str], value: str) -> dict[str, str]:
    """The roles of columns whose names say nothing, if there are as many of them as roles to be had."""
    missing = [role for role in ("x", "y") if role not in found]
    every = {2: missing, 3: ["channel", *missing], 4: ["channel", *missing, value]}
    roles = every.get(len(others), []) if len(missing) == 2 else missing
    return dict(zip(roles, others, strict=True)) if len(roles) == len(others) else {}


def stated(columns: Mapping[str, str]) -> str:
    """The columns as `--columns` takes them, quoted for a shell where that is required."""
    text = ",".join(f"{role}={title}" for role, title in columns.items())
    return text if re.fullmatch(r"[\w.,=:@%+-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def way_out(header: Sequence[str], value: str = "count") -> str:
    """How to say which column is which."""
    found = proposal(header, value=value)
    if found is not None:
        return f"if these are the columns, write --columns {stated(found)} (columns={found} in Python)"
    needed = ("x", "y", "p") if value == "p" else ("x", "y")
    titles = list(dict.fromkeys(title.strip() for title in header if title.strip() and not set(',="') & set(title)))
    if any(map(_PERCENTAGE.fullmatch, titles)):
        return "write percentages as fractions of 1, 0.9 in place of 90%"
    if len(titles) < len(needed):
        return "write other names above the columns"
    if "x" in map(str.casefold, titles) and len(titles) > 2:
        y, cells = {"y": titles[-1]}, f"write one row per cell below channel,x,y,{value} (pandas: stack())"
        if titles[-1].isdecimal():
            return f"these may be outputs side by side; {cells}"
        return (
            f"say which column is y, as --columns {stated(y)} (columns={y} in Python), or, where each output has a"
            f" column, {cells}"
        )
    example = dict(zip(needed, titles[-len(needed) :], strict=True))
    return f"say which is which, for instance with --columns {stated(example)} (columns={example} in Python)"
