"""`bestchannel capacity`, `bound` and `plan`: what known channels carry, and what telling the best of them costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bestchannel.capacity import Capacity, capacities_by_name
from bestchannel.channels import Channel
from bestchannel.cli import options, terminal, verb
from bestchannel.cli.options import Asked
from bestchannel.cli.reading import Reading
from bestchannel.errors import InputError
from bestchannel.json_text import finite_or_none
from bestchannel.promises import amount, exact, listed, rounded_up, several
from bestchannel.questions import Above, Best, Within

if TYPE_CHECKING:
    from bestchannel.lower_bound.bound import LowerBound
    from bestchannel.lower_bound.characteristic_time import LeastShots
    from bestchannel.study.planning import Plan

ENDS = ("lower", "upper")
MOST_INPUTS = 8  # of a channel with more inputs only the sum of their shares is shown


@verb("Example: bestchannel capacity links.json --tol 1e-12 --json")
def capacity(
    channels: list[Path] = options.CHANNELS,
    tol: float = options.option(1e-9, "Widest bracket allowed, in bits."),
    rtol: float | None = options.option(None, "Widest bracket allowed, relative to the capacity."),
    rigorous: bool = options.flag("Evaluate the bracket in ball arithmetic: a theorem.", "--rigorous"),
    rate: list[str] | None = options.RATE,
    *,
    reading: Reading,
) -> None:
    """Show the capacity of known channels, in bits per use, between two proved bounds.

    The file holds probabilities: JSON {"channels": {name: [[...]]}}, a long CSV or Parquet
    with the columns channel,x,y,p, an .npz, or a bare matrix as CSV (one row per input).
    For counts of what was sent and received use `estimate`.
    """
    read = reading.channels(channels)
    name, worst = max(read.items(), key=lambda item: item[1].rescaled)
    if worst.rescaled:
        many = f"{sum(channel.rescaled > 0.0 for channel in read.values())} of {several(len(read), 'channel')}"
        terminal.note(f'normalized {many}; a row of "{name}" was off by {worst.rescaled:.3g}')
    with terminal.progress("capacities") as progress:
        answers = capacities_by_name(read, tol=tol, rtol=rtol, rigorous=rigorous, progress=progress)
    rates = options.parse_rates(rate, list(read)) if rate else {}
    about = read, answers, rates
    terminal.answer(lambda: _capacities_as_json(*about), lambda: _show_capacities(*about))
    wide = [name for name, answer in answers.items() if not answer.converged]
    if wide:
        terminal.note(
            f'the bracket of channel "{wide[0]}" is {answers[wide[0]].gap:.2g} bit wide, wider than asked'
            f" ({len(wide)} such in all); it is valid, and a larger --tol or --rtol would accept it"
        )
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _capacities_as_json(
    channels: Mapping[str, Channel], answers: Mapping[str, Capacity], rates: Mapping[str, float]
) -> dict[str, Any]:
    def record(name: str, answer: Capacity) -> dict[str, Any]:
        own = {key: getattr(answer, key) for key in ("lower", "upper", "converged", "rigorous", "input", "output")}
        of_channel = {key: getattr(channels[name], key) for key in ("inputs", "outputs", "rescaled")}
        rate = rates.get(name)
        fast = {"rate": rate, "per_second": {end: own[end] * rate for end in ENDS}} if rate else {}
        return {"name": name, **own, **of_channel, **fast}

    return {"unit": "bits", "channels": list(map(record, answers, answers.values()))}


def _show_capacities(
    channels: Mapping[str, Channel], answers: Mapping[str, Capacity], rates: Mapping[str, float]
) -> None:
    def value_of(name: str) -> float:
        return answers[name].value * rates.get(name, 1.0)

    names = terminal.few(list(answers), key=lambda name: -value_of(name))
    best = max(answers, key=value_of)
    widest = max(value_of(best), 1e-300)
    rows = []
    for name in names:
        value, half = answers[name].value, answers[name].gap / 2
        places = next((places for places in range(12, 4, -1) if half <= 0.5 * 10.0**-places), 4)  # that the gap leaves
        bar = "█" * round(24 * value_of(name) / widest) or "▏"
        fast = [f"{value_of(name):,.6g}"] if rates else []
        rows.append((name, terminal.size(channels[name]), f"{value:.{places}f}", f"{half:.1e}", *fast, bar))
    heads = ("channel", "size", "capacity, bits", "± bits", *(["bit/s"] if rates else []), "")
    terminal.show_table(heads, rows, bold=best if len(answers) > 1 else None)
    terminal.note_few(len(names), len(answers))


@verb("Example: bestchannel bound links.json --delta 0.01 --json")
def bound(
    channels: list[Path] = options.CHANNELS,
    delta: float = options.DELTA,
    cost: list[str] | None = options.COST,
    rtol: float = options.option(0.01, "Width of the bracket of T* to aim at, relative to T*."),
    shots: bool = options.SHOTS,
    *,
    asked: Asked,
    reading: Reading,
) -> None:
    """Show how many senses every policy needs on average to name the best of known channels.

    The files hold probabilities, as for `capacity`, or the counts of a pilot, as for `estimate`, whose relative
    frequencies are then the channels.
    The characteristic time T* is the price of a nat of confidence: no policy that errs with
    probability at most delta, whatever the channels are, needs fewer than T* kl(delta, 1-delta)
    senses. It comes with the share of the senses that an oracle would give to each input, with
    Theorem 4 of the paper where that applies, and with the approximation for small gaps.
    With --cost it says as well what every policy must pay on average, and where an oracle senses to pay the least.
    With --above, --top, --order or --within it is that of another question.
    With --shots it says how many shots that all channels answer at once, independently, no policy does without.
    """
    from bestchannel.lower_bound.bound import lower_bound  # deferred: the other verbs need not wait for it
    from bestchannel.lower_bound.characteristic_time import least_shots

    if shots and asked.question is not None:
        raise InputError("--shots is for the question which channel is the best; leave one of the two out")
    read = reading.guessed(channels)
    with terminal.progress("proofs") as progress:
        costs = options.parse_costs(cost, {name: channel.inputs for name, channel in read.items()})
        answer = lower_bound(read, delta, question=asked.of(list(read)), **costs, rtol=rtol, progress=progress)
    least = least_shots(read, delta) if shots else None
    terminal.answer(lambda: _bound_as_json(answer, least), lambda: _show_bound(read, answer, least))
    if answer.characteristic_time.relative_gap > 1.1 * rtol:
        terminal.note(f"the bracket of T* is valid, and wider than the {rtol:.2g} aimed at")


def _bound_as_json(answer: LowerBound, least: LeastShots | None) -> dict[str, Any]:
    cost = answer.cost
    return {
        **{key: getattr(answer, key) for key in ("delta", "question", "best", "gaps")},
        "theorem4_senses": _ends(answer.theorem4),
        "characteristic_time": _ends(answer.characteristic_time),
        "senses_lower_bound": answer.senses_lower_bound,
        "allocation": answer.allocation,
        "gaussian_time": answer.gaussian.time,
        "cost_per_nat": cost and _ends(cost.per_nat),
        "cost_lower_bound": cost and cost.lower_bound,
        "cost_allocation": cost and cost.allocation,
        **({"shots_per_nat": least.per_nat, "shots_lower_bound": least.lower_bound} if least else {}),
    }


def _ends(bracket: Any) -> dict[str, float] | None:
    return bracket and {end: getattr(bracket, end) for end in ENDS}


def _show_bound(channels: Mapping[str, Channel], answer: LowerBound, least: LeastShots | None) -> None:
    rows = []
    for name in terminal.few(list(channels), key=lambda name: answer.gaps[name]):
        shares = (answer.cost or answer).allocation[name]
        by_input = " ".join(f"{share:.1%}" for share in shares) if len(shares) <= MOST_INPUTS else ""
        size, gap = terminal.size(channels[name]), f"{answer.gaps[name]:.6g}"
        rows.append((name, size, gap, f"{shares.sum():.1%}", by_input))
    bold = str(answer.best) if answer.findings is None else None
    terminal.show_table(("channel", "size", "gap, bits", "oracle", "by input"), rows, bold=bold)
    terminal.note_few(len(rows), len(channels), "smallest gaps")
    terminal.say(*str(answer).splitlines())
    if least is not None:
        terminal.say(
            f"shots that all channels answer, independently: at least {least.lower_bound:,.5g} on average"
            f" ({least.per_nat:,.5g} per nat)"
        )


@verb("Example: bestchannel plan guessed.json --delta 0.01")
def plan(
    channels: list[Path] = options.CHANNELS,
    delta: float = options.DELTA,
    epsilon: float | None = options.EPSILON,
    max_senses: int | None = options.MAX_SENSES,
    cost: list[str] | None = options.COST,
    shots: bool = options.SHOTS,
    runs: int = options.option(100, "Simulated runs of the adaptive policy.", min=1),
    seed: int = options.SEED,
    *,
    asked: Asked,
    reading: Reading,
) -> None:
    """Show how many senses each policy would need if the channels were as in the file.

    With --max-senses it shows how often so many senses decide, and what they leave open.

    The file holds guessed probabilities, as for `capacity`, or the counts of a pilot, as for `estimate`, whose relative
    frequencies are then the guess. The adaptive policy is simulated;
    the needs of the paper's policies follow from their formulas. Beside them stands the lower
    bound that no policy beats on average. With --cost the adaptive policy pays the least, and the plan says how much.
    With --shots it is the policy joint that is simulated, and shots are counted.
    """
    from bestchannel.study.planning import plan as planned  # deferred as well

    guessed = reading.guessed(channels)
    with terminal.progress("proofs and simulated runs") as progress:
        costs = options.parse_costs(cost, {name: channel.inputs for name, channel in guessed.items()})
        result = planned(
            guessed,
            delta=delta,
            epsilon=epsilon or 0.0,
            question=asked.of(list(guessed)),
            max_senses=max_senses,
            **costs,
            shots=shots,
            runs=runs,
            seed=seed,
            progress=progress,
        )
    terminal.answer(lambda: _plan_as_json(result), lambda: _show_plan(result))


def _plan_as_json(result: Plan) -> dict[str, Any]:
    own = ("delta", "epsilon", "best", "runs", "max_senses", "decided", "question", "gap", "still_open", "within_bits")
    return {
        "unit": "bits",
        **{key: getattr(result, key) for key in own},
        "characteristic_time": result.bound and _ends(result.bound.characteristic_time),
        "senses_lower_bound": _senses_bound(result),
        "cost_lower_bound": _cost_bound(result),
        "policies": result.needs,
        "advice": advice(result),
    }


def _senses_bound(result: Plan) -> float | None:
    """The lower bound on the mean number of senses, None where it is infinite or does not apply."""
    bound = result.shots.lower_bound if result.shots else result.bound.senses_lower_bound if result.bound else None
    return bound and finite_or_none(bound)


def _cost_bound(result: Plan) -> float | None:
    """The lower bound on the mean cost, None where there is none."""
    return finite_or_none(result.bound.cost.lower_bound) if result.bound and result.bound.cost else None


def _show_plan(result: Plan) -> None:
    def count(senses: int | None, never: str) -> str:
        return never if senses is None else f"{senses:,}" if senses < 10**12 else f"{senses:.3g}"

    bound = _senses_bound(result)
    other = isinstance(result.question, Within) or (isinstance(result.question, Above) and result.question.tolerance)
    origin = "proof" if other else "T* kl(δ, 1-δ)"
    rows = [("lower bound", "0", f"{bound:,.0f}", "", "1", origin)] if bound else []
    for need in result.needs:
        ratio = f"{need.senses / bound:,.3g}" if bound and need.senses is not None and not need.undecided else ""
        most, origin = (count(need.q95, ""), several(result.runs, "run")) if need.simulated else ("", "formula")
        rows.append((need.policy, f"{need.epsilon:.3g}", count(need.senses, "never ends"), most, ratio, origin))
    terminal.show_table(("policy", "ε, bits", f"{_unit(result)}s", "95 % within", "÷ lower bound", "from"), rows)
    terminal.say(advice(result))
    if result.needs[0].cost is not None and result.needs[0].cost_q95 is not None:
        least = _cost_bound(result)
        beside = "" if least is None else f"; no policy pays less than {amount(least)} on average"
        middle, high = amount(result.needs[0].cost), amount(result.needs[0].cost_q95)
        terminal.say(f"its senses cost {middle} (median), and 95 % of the runs cost at most {high}{beside}")


def _unit(result: Plan) -> str:
    return "shot" if result.needs[0].policy == "joint" else "sense"


def advice(result: Plan) -> str:
    """What to do, in one sentence."""
    adaptive, *others = result.needs
    if adaptive.senses is None and isinstance(result.question, Best):
        return "the two best channels are equal: no policy ends; give --epsilon, and either may be named"
    if adaptive.senses is None:
        return "these channels leave the question open: no policy ends; a tolerance, or --max-senses, ends it"
    if result.max_senses is not None:
        return _within_the_limit(result)
    if adaptive.undecided and not others:
        return f"{adaptive.undecided} of {several(result.runs, 'simulated run')} did not end; see --max-senses"
    if adaptive.undecided:
        from bestchannel.study.planning import MOST_SENSES

        passed = f"{adaptive.undecided} of {several(result.runs, 'simulated run')} passed {MOST_SENSES:,} senses"
        return f"{passed}: the gap of {result.gap:.2g} bits is too small; give a larger --epsilon"
    most = adaptive.q95 or 0
    unit = 10 ** max(len(str(most)) - 2, 0)  # two digits, upwards
    room = f"use {adaptive.policy} with room for {several(-(-most // unit) * unit, _unit(result))}"
    least, policy = min(((need.senses, need.policy) for need in others if need.senses), default=(0, ""))
    if not least or not adaptive.senses:
        return room
    return f"{room}; {policy}, the cheapest of the others, takes {least / adaptive.senses:,.2g} times as many"


def _within_the_limit(result: Plan) -> str:
    """How often the senses that are allowed decide, and what they leave open."""
    runs = several(result.runs, "run")
    said = f"{several(result.max_senses or 0, _unit(result))} decide in {result.decided:,} of {runs}"
    if result.decided == result.runs:
        return said
    often = sorted(((n, name) for name, n in result.still_open.items() if n), reverse=True)
    said += f"; still open: {listed([f'{name} in {n:,}' for n, name in often])}"
    if result.within_bits is None:
        return said
    bits = exact(rounded_up(result.within_bits))
    return f"{said}; in 95 % of them a channel is proved to be within {bits} bit of the best"
