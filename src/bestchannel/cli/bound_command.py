"""`bestchannel bound CHANNELS`: how many senses no policy can do without, and where an oracle would sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from bestchannel.channels import Channel
from bestchannel.cli import options, terminal
from bestchannel.cli.reading import Reading
from bestchannel.json_text import finite_or_none
from bestchannel.lower_bound.bound import LowerBound, lower_bound
from bestchannel.promises import several

MOST_ROWS = 40
"""A longer table shows the channels with the smallest gaps only."""

MOST_INPUTS = 8
"""Of a channel with more inputs only the sum of their shares is shown."""


@terminal.verb
@options.with_groups
def bound(
    channels: options.Channels,
    delta: options.Delta = 0.05,
    cost: options.Cost = None,
    rtol: Annotated[float, typer.Option(help="Width of the bracket of T* to aim at, relative to T*.")] = 0.01,
    *,
    reading: Reading,
    json: options.Json = False,
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
        costs = options.parse_costs(cost or (), options.labels_of(read))
        answer = lower_bound(read, delta, **costs, rtol=rtol, progress=progress)
    if json:
        terminal.print_json(_as_json(answer))
    else:
        _show(read, answer)
    if answer.characteristic_time.relative_gap > 1.1 * rtol:
        terminal.note(f"the bracket of T* is valid, and wider than the {rtol:.2g} aimed at")


def _as_json(answer: LowerBound) -> dict[str, Any]:
    T, theorem4 = answer.characteristic_time, answer.theorem4
    return {
        "delta": answer.delta,
        "best": answer.best,
        "gaps": dict(answer.gaps),
        "theorem4_senses": theorem4
        and {"lower": finite_or_none(theorem4.lower), "upper": finite_or_none(theorem4.upper)},
        "characteristic_time": {"lower": finite_or_none(T.lower), "upper": finite_or_none(T.upper)},
        "senses_lower_bound": finite_or_none(answer.senses_lower_bound),
        "allocation": {name: shares.tolist() for name, shares in answer.allocation.items()},
        "gaussian_time": finite_or_none(answer.gaussian.time),
        **_cost_as_json(answer),
    }


def _cost_as_json(answer: LowerBound) -> dict[str, Any]:
    cost = answer.cost
    if cost is None:
        return {"cost_per_nat": None, "cost_lower_bound": None, "cost_allocation": None}
    return {
        "cost_per_nat": {end: finite_or_none(getattr(cost.per_nat, end)) for end in ("lower", "upper")},
        "cost_lower_bound": finite_or_none(cost.lower_bound),
        "cost_allocation": {name: shares.tolist() for name, shares in cost.allocation.items()},
    }


def _show(channels: Mapping[str, Channel], answer: LowerBound) -> None:
    terminal.show_table(_table(channels, answer))
    if len(channels) > MOST_ROWS:
        terminal.note(f"the {MOST_ROWS // 2} smallest gaps of {several(len(channels), 'channel')}; --json has them all")
    for line in str(answer).splitlines():
        terminal.say(line)


def _table(channels: Mapping[str, Channel], answer: LowerBound) -> Table:
    names = list(channels)
    if len(names) > MOST_ROWS:
        names = sorted(names, key=lambda name: answer.gaps[name])[: MOST_ROWS // 2]
    table = Table(box=None, pad_edge=False)
    table.add_column("channel", overflow="fold")
    for heading in ("size", "gap, bits", "oracle", "by input"):
        table.add_column(heading, justify="right" if heading != "by input" else "left", no_wrap=heading != "by input")
    for name in names:
        shares = (answer.cost or answer).allocation[name]
        table.add_row(
            terminal.name(name, bold=name == answer.best),
            f"{channels[name].n_inputs}×{channels[name].n_outputs}",
            f"{answer.gaps[name]:.6g}",
            f"{shares.sum():.1%}",
            " ".join(f"{share:.1%}" for share in shares) if len(shares) <= MOST_INPUTS else "",
        )
    return table
