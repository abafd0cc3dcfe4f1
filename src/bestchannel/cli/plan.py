"""`bestchannel plan CHANNELS`: the senses that each policy would need, before anything is sensed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bestchannel.cli import options, terminal, verbs
from bestchannel.cli.bound import ends
from bestchannel.cli.reading import Reading
from bestchannel.json_text import finite_or_none
from bestchannel.promises import amount, several
from bestchannel.study.planning import MOST_SENSES, Plan
from bestchannel.study.planning import plan as planned


@verbs.verb("Example: bestchannel plan guessed.json --delta 0.01")
def plan(
    channels: list[Path] = options.CHANNELS,
    delta: float = options.DELTA,
    epsilon: float | None = options.EPSILON,
    cost: list[str] | None = options.COST,
    runs: int = options.option(100, "Simulated runs of the adaptive policy.", min=1),
    seed: int = options.SEED,
    *,
    reading: Reading,
    json: bool = options.JSON,
) -> None:
    """Show how many senses each policy would need if the channels were as in the file.

    The file holds guessed probabilities, as for `capacity`, or the counts of a pilot, as for `estimate`, whose relative
    frequencies are then the guess. The adaptive policy is simulated;
    the needs of the paper's policies follow from their formulas. Beside them stands the lower
    bound that no policy beats on average. With --cost the adaptive policy pays the least, and the plan says how much.
    """
    guessed = reading.guessed(channels)
    with terminal.progress("proofs and simulated runs") as progress:
        costs = options.costs_of_known(cost, guessed)
        result = planned(guessed, delta=delta, epsilon=epsilon or 0.0, **costs, runs=runs, seed=seed, progress=progress)
    terminal.answer(_as_json(result), lambda: _show(result), json=json)


def _as_json(result: Plan) -> dict[str, Any]:
    return {
        "unit": "bits",
        **{key: getattr(result, key) for key in ("delta", "epsilon", "best", "gap", "runs")},
        "characteristic_time": result.bound and ends(result.bound.characteristic_time),
        "senses_lower_bound": _bound(result),
        "cost_lower_bound": _cost_bound(result),
        "policies": [asdict(need) for need in result.needs],
        "advice": advice(result),
    }


def _bound(result: Plan) -> float | None:
    """The lower bound on the mean number of senses, None where it is infinite or does not apply."""
    return None if result.bound is None else finite_or_none(result.bound.senses_lower_bound)


def _cost_bound(result: Plan) -> float | None:
    """The lower bound on the mean cost, None where there is none."""
    cost = None if result.bound is None else result.bound.cost
    return None if cost is None else finite_or_none(cost.lower_bound)


def _show(result: Plan) -> None:
    terminal.show_table(("policy", "ε, bits", "senses", "95 % within", "÷ lower bound", "from"), _rows(result))
    terminal.say(advice(result))
    if result.needs[0].cost is not None and result.needs[0].cost_q95 is not None:
        least = _cost_bound(result)
        beside = "" if least is None else f"; no policy pays less than {amount(least)} on average"
        middle, most = amount(result.needs[0].cost), amount(result.needs[0].cost_q95)
        terminal.say(f"its senses cost {middle} (median), and 95 % of the runs cost at most {most}{beside}")


def _rows(result: Plan) -> Iterator[tuple[str, ...]]:
    bound = _bound(result)
    if bound:
        yield "lower bound", "0", f"{bound:,.0f}", "", "1", "T* kl(δ, 1-δ)"
    for need in result.needs:
        yield (
            need.policy,
            f"{need.epsilon:.3g}",
            _count(need.senses, never="never ends"),
            _count(need.q95, never="") if need.simulated else "",
            f"{need.senses / bound:,.3g}" if bound and need.senses is not None else "",
            several(result.runs, "run") if need.simulated else "formula",
        )


def _count(senses: int | None, *, never: str) -> str:
    if senses is None:
        return never
    return f"{senses:,}" if senses < 10**12 else f"{senses:.3g}"


def advice(result: Plan) -> str:
    """What to do, in one sentence."""
    adaptive, *others = result.needs
    if adaptive.senses is None:
        return "the two best channels are equal: no policy ends; give --epsilon, and either may be named"
    if adaptive.undecided:
        return (
            f"{adaptive.undecided} of {several(result.runs, 'simulated run')} passed {MOST_SENSES:,} senses:"
            f" the gap of {result.gap:.2g} bits is too small; give a larger --epsilon"
        )
    most = adaptive.q95 or 0
    unit = 10 ** max(len(str(most)) - 2, 0)  # two digits, upwards
    room = f"use adaptive with room for {several(-(-most // unit) * unit, 'sense')}"
    least, policy = min(((need.senses, need.policy) for need in others if need.senses), default=(0, ""))
    if not least or not adaptive.senses:
        return room
    return f"{room}; {policy}, the cheapest of the others, takes {least / adaptive.senses:,.2g} times as many"
