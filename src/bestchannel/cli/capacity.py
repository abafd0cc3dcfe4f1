"""`bestchannel capacity CHANNELS`: the certified capacity of every channel of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from bestchannel.capacity import Capacity, capacities_by_name
from bestchannel.channels import Channel
from bestchannel.cli import options, terminal, verbs
from bestchannel.cli.reading import Reading
from bestchannel.promises import several


@verbs.verb("Example: bestchannel capacity links.json --tol 1e-12 --json")
def capacity(
    channels: list[Path] = options.CHANNELS,
    tol: float = options.option(1e-9, "Widest bracket allowed, in bits."),
    rtol: float | None = options.option(None, "Widest bracket allowed, relative to the capacity."),
    rigorous: bool = options.flag("Evaluate the bracket in ball arithmetic: a theorem.", "--rigorous"),
    *,
    reading: Reading,
    json: bool = options.JSON,
) -> None:
    """Show the capacity of known channels, in bits per use, between two proved bounds.

    The file holds probabilities: JSON {"channels": {name: [[...]]}}, a long CSV or Parquet
    with the columns channel,x,y,p, an .npz, or a bare matrix as CSV (one row per input).
    For counts of what was sent and received use `estimate`.
    """
    read = reading.channels(channels)
    _report_rescaling(read)
    with terminal.progress("capacities") as progress:
        answers = capacities_by_name(read, tol=tol, rtol=rtol, rigorous=rigorous, progress=progress)
    terminal.answer(_as_json(read, answers), lambda: _show(read, answers), json=json)
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
            f"normalized {many} of {several(len(channels), 'channel')};"
            f' a row of "{name}" was off by {worst.rescaled:.3g}'
        )


def _as_json(channels: Mapping[str, Channel], answers: Mapping[str, Capacity]) -> dict[str, Any]:
    return {
        "unit": "bits",
        "channels": [
            {
                "name": name,
                **{key: getattr(answer, key) for key in ("lower", "upper", "converged", "rigorous")},
                "input": answer.input.tolist(),
                "output": answer.output.tolist(),
                **{key: getattr(channels[name], key) for key in ("inputs", "outputs", "rescaled")},
            }
            for name, answer in answers.items()
        ],
    }


def _show(channels: Mapping[str, Channel], answers: Mapping[str, Capacity]) -> None:
    names = terminal.few(list(answers), key=lambda name: -answers[name].lower)
    best = max(answers, key=lambda name: answers[name].lower)
    widest = max(answers[best].upper, 1e-300)
    rows = (
        (
            name,
            terminal.size(channels[name]),
            digits(answers[name].value, answers[name].gap / 2),
            f"{answers[name].gap / 2:.1e}",
            "█" * round(24 * answers[name].value / widest) or "▏",
        )
        for name in names
    )
    heads = ("channel", "size", "capacity, bits", "± bits", "")
    terminal.show_table(heads, rows, bold=best if len(answers) > 1 else None)
    terminal.note_few(len(names), len(answers))


def digits(value: float, uncertainty: float) -> str:
    """The value with the digits that its uncertainty leaves, between 4 and 12 after the point."""
    places = next((places for places in range(12, 4, -1) if uncertainty <= 0.5 * 10.0**-places), 4)
    return f"{value:.{places}f}"
