"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bestchannel.errors import InputError

FILE: dict[str, Any] = {"readable": False, "show_default": False}
"""Of every path: whether it can be read is found out, and said, where it is read."""

Channels = Annotated[Path, typer.Argument(help="A file of channels (.json, .csv, .npz, .parquet).", **FILE)]
Delta = Annotated[float, typer.Option(help="Largest probability of a wrong answer.")]
Epsilon = Annotated[float | None, typer.Option(help="Accept a channel within this many bits of the best.")]
PolicyName = Annotated[str, typer.Option("--policy", help="adaptive, best-chan-id, naive or median.")]
Subroutine = Annotated[str | None, typer.Option(help="naive or median, within best-chan-id.")]
Sampling = Annotated[str | None, typer.Option(help="Where adaptive senses: fewest, or another rule to compare.")]
Threshold = Annotated[
    str | None, typer.Option(help="When adaptive stops: proved, or calibrated (fewer senses, no proof).")
]
InputDistribution = Annotated[
    str | None, typer.Option(help="Compare I(P;W) at this P instead of capacities, as 0.5,0.5.")
]
MaxSenses = Annotated[int | None, typer.Option(help="Stop undecided rather than pass this many senses.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Normalize = Annotated[bool, typer.Option("--normalize", help="Divide rows that do not sum to 1 by their sum.")]
Transpose = Annotated[bool, typer.Option("--transpose", help="The columns of the matrices are the inputs.")]
Outputs = Annotated[str | None, typer.Option(help="The outputs that each channel can give, as 0,1,2; seen or not.")]
Columns = Annotated[
    str | None,
    typer.Option(help="What the columns of a long file are called, as channel=link,x=sent,y=got,p=prob."),
]


def parse_columns(text: str | None) -> dict[str, str] | None:
    """channel=link,x=sent as a mapping from our names to the file's."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    for ours, sign, theirs in pairs:
        if not sign or not ours.strip() or not theirs.strip():
            raise InputError(f"--columns must look like channel=link,x=sent,y=got; it is {text!r}")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def parse_outputs(text: str | None) -> list[str] | None:
    """0,1,lost as labels."""
    return None if text is None else [label.strip() for label in text.split(",")]


def parse_distribution(text: str | None) -> list[float] | None:
    """0.5,0.5 as numbers."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--input-distribution must look like 0.5,0.5; it is {text!r}") from None
