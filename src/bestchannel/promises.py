"""The words of every guarantee, so that Python, the command line and the report promise the same; and plurals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

MOST_DIGITS = 6
"""Of a confidence that is written as one number."""

MOST_NAMED = 12
"""Of channels that a sentence names."""

MOST_PROBABILITIES = 16
"""Of an input distribution that is written in full."""


OBSERVED = "conditional on the observed alphabet"
"""What the guarantees of records and of JSON say where outputs were not declared; people are told `SEEN_ONLY`."""

SEEN_ONLY = "Only the outputs that occur are supposed possible; declare others with --outputs (outputs= in Python)."


def plural(number: float, thing: str) -> str:
    """The word for one thing, or for so many.

    >>> plural(1, "sense"), plural(0, "sense"), plural(2, "sense")
    ('sense', 'senses', 'senses')
    """
    return thing if number == 1 else f"{thing}s"


def several(number: int, thing: str) -> str:
    """So many things.

    >>> several(1, "sense"), several(2000, "sense")
    ('1 sense', '2,000 senses')
    """
    return f"{number:,} {plural(number, thing)}"


def listed(things: Sequence[object]) -> str:
    """The first few, and how many others there are.

    >>> listed(["a", "b"]), listed(range(14))
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 others')
    """
    few, rest = things[:MOST_NAMED], len(things) - MOST_NAMED
    return ", ".join(map(str, few)) + (f" and {several(rest, 'other')}" if rest > 0 else "")


def exact(number: float) -> str:
    """The number with all digits that it takes to tell it from its neighbours.

    >>> exact(0.1), exact(1.0), exact(1e-8)
    ('0.1', '1', '1e-08')
    """
    return repr(float(number)).removesuffix(".0")


def confidence(delta: float) -> str:
    """1 - δ without rounding: as one number where that is short, otherwise as the difference.

    >>> confidence(0.05), confidence(1e-8)
    ('0.95', '1 - 1e-08')
    """
    difference = str(1 - Decimal(exact(delta)))
    return difference if len(difference) <= MOST_DIGITS + 2 else f"1 - {exact(delta)}"


def criterion(P: Sequence[float] | None) -> str:
    """What channels are compared by: their capacity, or I(P;W) at one input distribution, which is named.

    >>> criterion(None), criterion((0.5, 0.5))
    ('capacity', 'I(P;W) at P = (0.5, 0.5)')
    """
    if P is None:
        return "capacity"
    shown = [exact(p) for p in P]
    if len(shown) > MOST_PROBABILITIES:
        shown = [*shown[: MOST_PROBABILITIES - 2], "…", f"{shown[-1]}: {len(P)} inputs"]
    return f"I(P;W) at P = ({', '.join(shown)})"


def amount(cost: float) -> str:
    """A cost, to six digits.

    >>> amount(1234567.0), amount(0.125)
    ('1,234,570', '0.125')
    """
    return f"{float(f'{cost:.6g}'):,.12g}"


def rounded_up(number: float) -> float:
    """The next number with two digits that is no smaller, so that a statement stays true.

    >>> rounded_up(0.0304), rounded_up(0.03), rounded_up(0.999), rounded_up(0.0)
    (0.031, 0.03, 1.0, 0.0)
    """
    digits = Context(prec=2, rounding=ROUND_CEILING)
    return float(digits.create_decimal(exact(number)))


def odds(number: float) -> str:
    """The next number with two digits that is no larger, so that a statement stays true.

    >>> odds(879.9), odds(1.239), odds(123456.0)
    ('870', '1.2', '120,000')
    """
    value = Context(prec=2, rounding=ROUND_FLOOR).create_decimal(exact(number))
    return f"{float(value):,g}" if value < 100 else f"{int(value):,}"


def wrong_at_most(delta: float) -> str:
    """The error probability as people say it.

    >>> wrong_at_most(0.05), wrong_at_most(1e-8)
    ('wrong at most 5 % of the time', 'wrong with probability at most 1e-08')
    """
    percent = str(100 * Decimal(exact(delta)).normalize())
    short = delta >= 1e-4 and len(percent) <= MOST_DIGITS
    return (
        f"wrong at most {exact(float(percent))} % of the time"
        if short
        else f"wrong with probability at most {exact(delta)}"
    )


def in_words(guarantee: str, between: str = " ") -> str:
    """The guarantee in sentences: what is promised, where the proof is, and what is supposed of the outputs.

    >>> in_words("the channel is the best [bestchannel explain adaptive], for bins")
    'The channel is the best, for bins. Proof: bestchannel explain adaptive.'
    >>> in_words("the channel is the best [calibrated by simulation, not proved]")
    'The channel is the best. This is calibrated by simulation, not proved.'
    """
    promised, _, rest = guarantee.removesuffix(f", {OBSERVED}").partition(" [")
    proof, _, conditions = rest.partition("]")
    if promised.startswith(
        ("the ", "with ", "every ", "what ", "no ", "in the order ", "none of ", "evidence ")
    ):  # anything else may be a name
        promised = promised[0].upper() + promised[1:]
    sentences = [f"{promised}{conditions}."]
    if proof:
        sentences.append(f"This is {proof}." if proof.endswith("not proved") else f"Proof: {proof}.")
    if guarantee.endswith(OBSERVED):
        sentences.append(SEEN_ONLY)
    return between.join(sentences)


def conditional(guarantee: str, inferred_outputs: bool, conditions: Iterable[str] = ()) -> str:
    """The guarantee with its conditions: those of channels, and that outputs are only those that were seen."""
    seen = [OBSERVED] if inferred_outputs else []
    return ", ".join([guarantee, *filter(None, dict.fromkeys(conditions)), *seen])
