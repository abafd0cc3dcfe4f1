"""`bestchannel plan CHANNELS`: the senses that each policy would need, before anything is sensed."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from bestchannel.cli import options, terminal
from bestchannel.cli.reading import Reading
from bestchannel.json_text import finite_or_none
from bestchannel.promises import amount, several
from bestchannel.study.planning import MOST_SENSES, Need, Plan
from bestchannel.study.planning import plan as planned


@terminal.verb
@options.with_groups
def plan(
    channels: options.Channels,
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = None,
    cost: options.Cost = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated runs of the adaptive policy.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated senses.")] = 0,
    *,
    reading: Reading,
    json: options.Json = False,
) -> None:
    """Show how many senses each policy would need if the channels were as in the file.

    The file holds guessed probabilities, as for `capacity`, or the counts of a pilot, as for `estimate`, whose relative
    frequencies are then the guess. The adaptive policy is simulated;
    the needs of the paper's policies follow from their formulas. Beside them stands the lower
    bound that no policy beats on average. With --cost the adaptive policy pays the least, and the plan says how much.
    """
    guessed = reading.guessed(channels)
    with terminal.progress("proofs and simulated runs") as progress:
        costs = options.parse_costs(cost or (), options.labels_of(guessed))
        result = planned(guessed, delta=delta, epsilon=epsilon or 0.0, **costs, runs=runs, seed=seed, progress=progress)
    if json:
        terminal.print_json(_as_json(result))
    else:
        _show(result)


def _bound(result: Plan) -> float | None:
    """The lower bound on the mean number of senses, None where it is infinite or does not apply."""
    senses = math.inf if result.bound is None else result.bound.senses_lower_bound
    return senses if math.isfinite(senses) else None


def _cost_bound(result: Plan) -> float | None:
    """The lower bound on the mean cost, None where there is none."""
    if result.bound is None or result.bound.cost is None:
        return None
    return finite_or_none(result.bound.cost.lower_bound)


def _as_json(result: Plan) -> dict[str, Any]:
    time = result.bound and result.bound.characteristic_time
    bracket = time and {end: finite_or_none(getattr(time, end)) for end in ("lower", "upper")}
    return {
        "unit": "bits",
        "delta": result.delta,
        "epsilon": result.epsilon,
        "best": result.best,
        "gap": result.gap,
        "runs": result.runs,
        "characteristic_time": bracket,
        "senses_lower_bound": _bound(result),
        "cost_lower_bound": _cost_bound(result),
        "policies": [asdict(need) for need in result.needs],
        "advice": advice(result),
    }


def _show(result: Plan) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("policy")
    for heading in ("ε, bits", "senses", "95 % within", "÷ lower bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("from")
    bound = _bound(result)
    if bound:
        table.add_row("lower bound", "0", f"{bound:,.0f}", "", "1", "T* kl(δ, 1-δ)")
    for need in result.needs:
        table.add_row(
            need.policy,
            f"{need.epsilon:.3g}",
            _count(need.senses, never="never ends"),
            _count(need.q95, never="") if need.simulated else "",
            f"{need.senses / bound:,.3g}" if bound and need.senses is not None else "",
            several(result.runs, "run") if need.simulated else "formula",
        )
    terminal.show_table(table)
    terminal.say(advice(result))
    if result.needs[0].cost is not None and result.needs[0].cost_q95 is not None:
        least = _cost_bound(result)
        beside = "" if least is None else f"; no policy pays less than {amount(least)} on average"
        middle, most = amount(result.needs[0].cost), amount(result.needs[0].cost_q95)
        terminal.say(f"its senses cost {middle} (median), and 95 % of the runs cost at most {most}{beside}")


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
    return f"use adaptive with room for {several(_round_up(adaptive.q95 or 0), 'sense')}{_comparison(adaptive, others)}"


def _comparison(adaptive: Need, others: list[Need]) -> str:
    least = min((need for need in others if need.senses), key=lambda need: need.senses or 0, default=None)
    if least is None or not adaptive.senses:
        return ""
    times = (least.senses or 0) / adaptive.senses
    return f"; {least.policy}, the cheapest of the others, takes {times:,.2g} times as many"


def _round_up(senses: int) -> int:
    """Two digits, upwards."""
    unit = 10 ** max(len(str(senses)) - 2, 0)
    return -(-senses // unit) * unit
