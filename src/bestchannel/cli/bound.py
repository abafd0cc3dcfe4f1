"""`bestchannel bound CHANNELS`: how many senses no policy can do without, and where an oracle would sense."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bestchannel.arrays import Floats
from bestchannel.channels import Channel
from bestchannel.cli import options, terminal, verbs
from bestchannel.cli.reading import Reading
from bestchannel.json_text import finite_or_none
from bestchannel.lower_bound.bound import LowerBound, lower_bound

MOST_INPUTS = 8  # of a channel with more inputs only the sum of their shares is shown


@verbs.verb("Example: bestchannel bound links.json --delta 0.01 --json")
def bound(
    channels: list[Path] = options.CHANNELS,
    delta: float = options.DELTA,
    cost: list[str] | None = options.COST,
    rtol: float = options.option(0.01, "Width of the bracket of T* to aim at, relative to T*."),
    *,
    reading: Reading,
    json: bool = options.JSON,
) -> None:
    """Show how many senses every policy needs on average to name the best of known channels.

    The files hold probabilities, as for `capacity`, or the counts of a pilot, as for `estimate`, whose relative
    frequencies are then the channels.
    The characteristic time T* is the price of a nat of confidence: no policy that errs with
    probability at most delta, whatever the channels are, needs fewer than T* kl(delta, 1-delta)
    senses. It comes with the share of the senses that an oracle would give to each input, with
    Theorem 4 of the paper where that applies, and with the approximation for small gaps.
    With --cost it says as well what every policy must pay on average, and where an oracle senses to pay the least.
    """
    read = reading.guessed(channels)
    with terminal.progress("proofs") as progress:
        answer = lower_bound(read, delta, **options.costs_of_known(cost, read), rtol=rtol, progress=progress)
    terminal.answer(_as_json(answer), lambda: _show(read, answer), json=json)
    if answer.characteristic_time.relative_gap > 1.1 * rtol:
        terminal.note(f"the bracket of T* is valid, and wider than the {rtol:.2g} aimed at")


def _as_json(answer: LowerBound) -> dict[str, Any]:
    cost = answer.cost
    return {
        "delta": answer.delta,
        "best": answer.best,
        "gaps": dict(answer.gaps),
        "theorem4_senses": answer.theorem4 and ends(answer.theorem4),
        "characteristic_time": ends(answer.characteristic_time),
        "senses_lower_bound": finite_or_none(answer.senses_lower_bound),
        "allocation": _lists(answer.allocation),
        "gaussian_time": finite_or_none(answer.gaussian.time),
        "cost_per_nat": cost and ends(cost.per_nat),
        "cost_lower_bound": cost and finite_or_none(cost.lower_bound),
        "cost_allocation": cost and _lists(cost.allocation),
    }


def ends(bracket: Any) -> dict[str, float | None]:
    """The ends of a bracket as JSON has them."""
    return {"lower": finite_or_none(bracket.lower), "upper": finite_or_none(bracket.upper)}


def _lists(allocation: Mapping[Any, Floats]) -> dict[Any, list[float]]:
    return {name: shares.tolist() for name, shares in allocation.items()}


def _show(channels: Mapping[str, Channel], answer: LowerBound) -> None:
    rows = list(_rows(channels, answer))
    terminal.show_table(("channel", "size", "gap, bits", "oracle", "by input"), rows, bold=str(answer.best))
    terminal.note_few(len(rows), len(channels), "smallest gaps")
    terminal.say(*str(answer).splitlines())


def _rows(channels: Mapping[str, Channel], answer: LowerBound) -> Iterator[tuple[str, ...]]:
    for name in terminal.few(list(channels), key=lambda name: answer.gaps[name]):
        shares = (answer.cost or answer).allocation[name]
        by_input = " ".join(f"{share:.1%}" for share in shares) if len(shares) <= MOST_INPUTS else ""
        yield name, terminal.size(channels[name]), f"{answer.gaps[name]:.6g}", f"{shares.sum():.1%}", by_input
