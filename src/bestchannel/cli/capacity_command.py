"""`bestchannel capacity CHANNELS`: the certified capacity of every channel of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from bestchannel.capacity import Capacity, capacities_by_name
from bestchannel.channels import Channel
from bestchannel.cli import options, terminal

MOST_ROWS = 40
"""A longer table shows the best channels only."""


@terminal.verb
def capacity(
    channels: options.Channels,
    tol: Annotated[float, typer.Option(help="Widest bracket allowed, in bits.")] = 1e-9,
    rtol: Annotated[float | None, typer.Option(help="Widest bracket allowed, relative to the capacity.")] = None,
    rigorous: Annotated[
        bool, typer.Option("--rigorous", help="Evaluate the bracket in ball arithmetic: a theorem.")
    ] = False,
    normalize: options.Normalize = False,
    transpose: options.Transpose = False,
    columns: options.Columns = None,
    form: options.Form = None,
    channel_axis: options.ChannelAxis = None,
    json: options.Json = False,
) -> None:
    """Show the capacity of known channels, in bits per use, between two proved bounds.

    The file holds probabilities: JSON {"channels": {name: [[...]]}}, a long CSV or Parquet
    with the columns channel,x,y,p, an .npz, or a bare matrix as CSV (one row per input).
    For counts of what was sent and received use `estimate`.
    """
    read = options.known_channels(
        channels,
        normalize=normalize,
        transpose=transpose,
        columns=options.parse_columns(columns),
        form=form,
        channel_axis=channel_axis,
    )
    _report_rescaling(read)
    with terminal.progress("capacities") as progress:
        answers = capacities_by_name(read, tol=tol, rtol=rtol, rigorous=rigorous, progress=progress)
    if json:
        terminal.print_json(_as_json(read, answers))
    else:
        _show(read, answers)
    wide = [name for name, answer in answers.items() if not answer.converged]
    if wide:
        terminal.note(
            f'the bracket of channel "{wide[0]}" is {answers[wide[0]].gap:.2g} bit wide, wider than asked'
            f" ({len(wide)} such in all); it is valid, and a larger --tol or --rtol would accept it"
        )
        raise typer.Exit(terminal.NOT_CERTIFIED)


def _report_rescaling(channels: Mapping[str, Channel]) -> None:
    name, worst = max(channels.items(), key=lambda item: item[1].rescaled)
    if worst.rescaled:
        many = sum(channel.rescaled > 0.0 for channel in channels.values())
        terminal.note(
            f'normalized {many} of {len(channels)} channels; a row of "{name}" was off by {worst.rescaled:.3g}'
        )


def _as_json(channels: Mapping[str, Channel], answers: Mapping[str, Capacity]) -> dict[str, Any]:
    return {
        "unit": "bits",
        "channels": [
            {
                "name": name,
                "lower": answer.lower,
                "upper": answer.upper,
                "converged": answer.converged,
                "rigorous": answer.rigorous,
                "input": answer.input.tolist(),
                "output": answer.output.tolist(),
                "inputs": channels[name].inputs,
                "outputs": channels[name].outputs,
                "rescaled": channels[name].rescaled,
            }
            for name, answer in answers.items()
        ],
    }


def _show(channels: Mapping[str, Channel], answers: Mapping[str, Capacity]) -> None:
    names = list(answers)
    if len(names) > MOST_ROWS:
        names = sorted(names, key=lambda name: -answers[name].lower)[: MOST_ROWS // 2]
    best = max(answers, key=lambda name: answers[name].lower)
    widest = max(answers[best].upper, 1e-300)
    table = Table(box=None, pad_edge=False)
    table.add_column("channel", overflow="fold")
    table.add_column("size", justify="right")
    table.add_column("capacity, bits", justify="right", no_wrap=True)
    table.add_column("± bits", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in names:
        channel, answer = channels[name], answers[name]
        table.add_row(
            terminal.name(name, bold=name == best and len(answers) > 1),
            f"{channel.n_inputs}×{channel.n_outputs}",
            digits(answer.value, answer.gap / 2),
            f"{answer.gap / 2:.1e}",
            "█" * round(24 * answer.value / widest) or "▏",
        )
    terminal.show_table(table)
    if len(names) < len(answers):
        terminal.note(f"the {len(names)} best of {len(answers)} channels; --json has them all")


def digits(value: float, uncertainty: float) -> str:
    """The value with the digits that its uncertainty leaves, between 4 and 12 after the point."""
    for places in range(12, 4, -1):
        if uncertainty <= 0.5 * 10.0**-places:
            return f"{value:.{places}f}"
    return f"{value:.4f}"
