"""Results as notebooks show them, a sentence, a figure, a table, in a frame; and as pandas data frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from bestchannel.capacity import Capacities, Capacity
from bestchannel.channels import Channel
from bestchannel.display import Frame
from bestchannel.errors import MissingExtraError
from bestchannel.intervals import Estimate
from bestchannel.lower_bound.bound import LowerBound
from bestchannel.policies import Identification, Status
from bestchannel.report.charts import hardest, interval_cells, interval_figure, legend, order_figure
from bestchannel.report.heat_maps import matrix_map
from bestchannel.report.markup import Html, bits, brief, joined, several, table, tag
from bestchannel.report.page import style
from bestchannel.report.summary import Summary, summarise

MOST_ROWS = 8
MOST_CELLS = 4096  # cells of a matrix, or of all channels together, up to which a notebook need not wait for a figure


def framed(*content: object) -> str:
    """The content in the style of the report, on a ground of its own, whatever the notebook looks like."""
    return joined((tag("style", style()), tag("div", *content, class_="bestchannel card")))


def identification_card(result: Identification) -> str:
    """The verdict and its promise; the best capacities with their intervals, unless they take long to compute."""
    cells = sum(math.prod(labels.alphabet) for labels in result.audit.channels)
    if cells > MOST_CELLS or not result.audit.steps:
        answer, rest = brief(result.question.answer(result), 200), "; the report has the rest."
        heading = tag("h2", f"{answer[:1].upper()}{answer[1:]}.")
        return framed(heading, tag("p", several(result.senses, "sense"), rest))
    summary = summarise(result)
    promise = tag("p", f"{summary.promise} {summary.spent}")
    return framed(tag("h2", summary.verdict), promise, *_intervals(summary))


def estimate_card(result: Estimate) -> str:
    """The same of an estimate, with what warns of it, and the places of the channels where they were asked for."""
    summary, order = summarise(result), result.order
    places = order and order_figure(order.ranks[:MOST_ROWS], len(result.channels), "Places, all at once")
    warnings = result.checks.warnings if result.checks else ()
    return framed(
        tag("h2", summary.verdict),
        *(tag("p", f"Warning: {text}.") for text in warnings),
        tag("p", summary.promise),
        *_intervals(summary),
        places or "",
    )


def capacity_card(answer: Capacity) -> str:
    """The bracket, and the input distribution that achieves its lower end."""
    P = answer.input.tolist()
    shown = [[str(x), f"{p:.6f}"] for x, p in enumerate(P)][: 2 * MOST_ROWS]
    met = "" if answer.converged else "; wider than asked"
    return framed(
        tag("h2", f"{bits(answer.value)} bits per channel use"),
        tag("p", f"{answer.lower:.12g} ≤ C ≤ {answer.upper:.12g}{met}."),
        table("An input distribution that achieves the lower end", ["input", "probability"], shown),
        tag("p", several(len(P) - len(shown), "more input"), class_="note") if len(P) > len(shown) else "",
    )


def capacities_card(answer: Capacities) -> str:
    """The range of the capacities, and the first brackets."""
    answer = answer.on_host()
    first = ((place, answer.at(place)) for place in islice(np.ndindex(answer.lower.shape), 2 * MOST_ROWS))
    rows = [[", ".join(map(str, place)), *(f"{v:.9f}" for v in (C.value, C.lower, C.upper))] for place, C in first]
    return framed(
        tag("h2", several(answer.lower.size, "channel")),
        tag("p", f"{answer}."),
        table("Bits per channel use", ["channel", "capacity", "lower", "upper"], rows),
        _and_more(answer.lower.size - len(rows)),
    )


def lowerbound_card(answer: LowerBound) -> str:
    """The bound, and the smallest gaps with what an oracle would sense."""
    best, *lines = str(answer).splitlines()
    names = sorted(answer.gaps, key=lambda name: answer.gaps[name])
    shares = {name: f"{answer.allocation[name].sum():.1%}" for name in names[: 2 * MOST_ROWS]}
    rows = [[brief(str(name)), f"{answer.gaps[name]:.6g}", share] for name, share in shares.items()]
    return framed(
        tag("h2", brief(best)),
        *(tag("p", line) for line in lines),
        table("The smallest gaps", ["channel", "gap, bits", "share of an oracle's senses"], rows),
        _and_more(len(names) - len(rows)),
    )


def channel_card(channel: Channel) -> str:
    """The matrix, shaded."""
    size = f"{several(channel.n_inputs, 'input')}, {several(channel.n_outputs, 'output')}"
    heading = tag("h2", brief(channel.name) or "Channel", tag("small", size))
    if channel.W.size > MOST_CELLS:
        return framed(heading)
    compact = channel.W.size > MOST_CELLS // 16
    drawing = matrix_map(channel.W, channel.inputs, channel.outputs, channel.name or "Channel", compact=compact)
    return framed(heading, tag("div", drawing, class_="scroll"))


def _intervals(summary: Summary) -> list[Html]:
    """Figure and table of the first few channels, and how many there are besides."""
    shown = [(channel.name, channel.estimate) for channel in summary.channels[:MOST_ROWS]]
    cells = [[brief(name), *interval_cells(estimate)] for name, estimate in shown]
    return [
        legend(),
        interval_figure(shown, summary.marked, f"{summary.values} with their intervals"),
        table("Bits per channel use", ["channel", "estimate", "proved", "approximate, not proved"], cells),
        _and_more(len(summary.channels) - len(shown)),
    ]


def _and_more(channels: int) -> Html:
    return tag("p", f"and {several(channels, 'more channel')}", class_="note") if channels else joined([])


def _frame(content: Mapping[str, Any] | list[dict[str, Any]], index: Iterable[Any], name: str) -> Frame:
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("a data frame", "frames") from None
    return pandas.DataFrame(content, index=pandas.Index(list(index), name=name, tupleize_cols=False))


def capacities_frame(result: Capacities) -> Frame:
    """One row per channel of the stack, in its order."""
    result = result.on_host()
    columns = {name: getattr(result, name).ravel() for name in ("value", "lower", "upper", "converged")}
    frame, shape = _frame(columns, range(result.lower.size), "channel"), result.lower.shape
    return frame if len(shape) < 2 else frame.set_index([*np.indices(shape).reshape(len(shape), -1)])


def estimate_frame(result: Estimate) -> Frame:
    """One row per channel, in the order of the counts."""
    rows = [
        {
            "senses": c.senses,
            "capacity": c.capacity,
            "lower": c.lower,
            "upper": c.upper,
            "asymptotic_lower": c.asymptotic.lower if c.asymptotic else math.nan,
            "asymptotic_upper": c.asymptotic.upper if c.asymptotic else math.nan,
        }
        for c in result.channels
    ]
    return _frame(rows, [c.name for c in result.channels], "channel")


def lowerbound_frame(result: LowerBound) -> Frame:
    """One row per channel, in the order in which they were given."""
    rows = [{"gap": gap, "share": float(result.allocation[name].sum())} for name, gap in result.gaps.items()]
    return _frame(rows, result.gaps, "channel")


def identification_frame(result: Identification) -> Frame:
    """One row per answered request."""
    keys = [labels.key for labels in result.audit.channels]
    rows = [_course_row(step.status, keys) for step in result.audit.steps]
    return _frame(rows, [step.request.number for step in result.audit.steps], "request")


def _course_row(status: Status, keys: list[Any]) -> dict[str, Any]:
    """Where the step left the policy; the evidence is that against the rival which lacks most of its threshold."""
    least = hardest(status)
    rival = None if least is None else least.rival
    return {
        "senses": status.senses,
        "channels_left": len(status.candidates),
        "leader": None if status.leader is None else keys[status.leader],
        "rival": None if rival is None else keys[rival],
        "evidence_nats": None if rival is None else status.evidence_nats[rival],
        "threshold_nats": None if rival is None else status.threshold_nats[rival],
    }
