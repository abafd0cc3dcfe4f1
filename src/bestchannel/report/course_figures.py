"""How an identification went: the channels left, the evidence against those that were last to fall, and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from bestchannel.information import NATS_PER_BIT
from bestchannel.policies import Status
from bestchannel.report.markup import Html, table
from bestchannel.report.plot import Axis, bands, curve, dot, framed, letters, stairs, stretched
from bestchannel.report.summary import Summary
from bestchannel.report.wording import brief, several, short, ticks, whole

MOST_MOMENTS = 200
"""Points of a curve; of a longer course, every second or third moment and so on, and always the last."""

MOST_RIVALS = 16


def moments(course: Sequence[Status]) -> list[Status]:
    """The whole course, or so many moments of it that a curve needs no more."""
    stride = -(-len(course) // MOST_MOMENTS) or 1
    return [status for i, status in enumerate(course) if (len(course) - 1 - i) % stride == 0]


def candidates_figure(summary: Summary) -> Html:
    """The number of channels not ruled out, against the senses spent."""
    k, course = len(summary.channels), moments(summary.course)
    points: list[tuple[float, float]] = [(0.0, k), *((status.senses, len(status.candidates)) for status in course)]
    # round numbers and k itself, which its neighbours give room
    marks = [mark for mark in ticks(0, k, 4) if mark == round(mark) and mark < 0.88 * k] + [float(k)]
    x, y = _senses_axis(summary), Axis(0.0, float(k), tuple(marks), lambda value: f"{value:.0f}")
    line, last = stairs(points), points[-1]
    hints = [(senses, f"{whole(left)} left after {several(senses, 'sense')}") for senses, left in points]
    return framed(
        stretched(curve(line, x, y, "shade", closed_at=0.0), curve(line, x, y, "line")),
        *bands(hints, x),
        dot(x.place(last[0]), y.height(last[1]), "now", hints[-1][1]),
        x=x,
        y=y,
        title="Channels left, against senses",
        description=f"From {several(k, 'channel')} to {last[1]:.0f} after {several(last[0], 'sense')}.",
    )


def evidence_figure(summary: Summary) -> Html | None:
    """The evidence against rivals, in bits, and its least: None where a policy weighs none.

    The leader of the moment is the best once the least evidence against any rival passes the threshold.
    """
    course, names = moments(summary.course), summary.names
    least, tracks = least_evidence(course), lasting(rival_tracks(course))
    if not least:
        return None
    top = 1.3 * max([w.threshold for w in least] + [0.1])  # some room above the threshold
    low = min([0.0] + [w.evidence for w in least] + [w.evidence for track in tracks for w in track])
    x, y = _senses_axis(summary), Axis.over(max(low, -top), top, lambda value: f"{value:.3g}")
    bar = [(0.0, least[0].threshold), *((w.senses, w.threshold) for w in least)]
    curves = [curve([(w.senses, w.evidence) for w in track], x, y, "rival") for track in tracks]
    curves += [curve([(w.senses, w.evidence) for w in least], x, y, "line"), curve(bar, x, y, "threshold")]
    last = least[-1]

    def end(moment: Weighed, class_: str, radius: float) -> Html:
        height = y.height(min(max(moment.evidence, y.low), y.high))
        return dot(x.place(moment.senses), height, class_, _standing(moment, names), radius)

    return framed(
        stretched(*curves),
        *bands([(w.senses, _standing(w, names)) for w in least], x),
        letters("threshold", x=0, y=y.height(bar[0][1]), dx=4, dy=-6, class_="tick"),
        *(end(track[-1], "end-of-rival", 3.0) for track in tracks),
        end(last, "now", 4.0),
        x=x,
        y=y,
        title="Evidence against rivals, in bits, against senses",
        description=f"After {several(last.senses, 'sense')} the least evidence, against {names[last.rival]}, is"
        f" {last.evidence:.3g} bits; it has to pass {last.threshold:.3g} bits.",
    )


@dataclass(frozen=True)
class Weighed:
    """The evidence against a rival at one moment, in bits, and what it has to reach."""

    rival: int
    senses: int
    evidence: float
    threshold: float


def weighed(status: Status) -> list[Weighed]:
    """The evidence against every rival that the policy weighs at this moment."""
    pairs = [(r, nats, status.threshold_nats.get(r, math.nan)) for r, nats in status.evidence_nats.items()]
    return [
        Weighed(rival, status.senses, evidence / NATS_PER_BIT, threshold / NATS_PER_BIT)
        for rival, evidence, threshold in pairs
        if math.isfinite(evidence) and math.isfinite(threshold)
    ]


def least_evidence(course: Sequence[Status]) -> list[Weighed]:
    """At every moment the rival that is farthest from its threshold."""
    rounds = (weighed(status) for status in course)
    return [min(rivals, key=lambda w: w.evidence - w.threshold) for rivals in rounds if rivals]


def rival_tracks(course: Sequence[Status]) -> list[list[Weighed]]:
    """What was held against each rival of the present leader, moment after moment, whoever led at the time."""
    tracks: dict[int, list[Weighed]] = {}
    for status in course:
        for moment in weighed(status):
            tracks.setdefault(moment.rival, []).append(moment)
    return [track for rival, track in tracks.items() if rival != course[-1].leader]


def lasting(tracks: Sequence[list[Weighed]]) -> list[list[Weighed]]:
    """The rivals that were weighed to the last, and of those the ones with the least evidence."""
    return sorted(tracks, key=lambda track: (-track[-1].senses, track[-1].evidence - track[-1].threshold))[:MOST_RIVALS]


def leaders(summary: Summary) -> list[str]:
    """Who led, one after the other."""
    names = summary.names
    return [brief(names[leader], 20) for leader, _ in groupby(s.leader for s in summary.course) if leader is not None]


def course_table(summary: Summary) -> Html:
    """Step after step: candidates, leader, and the evidence against the rival that is hardest to rule out."""
    heads = ["request", "senses", "channels left", "leader", "hardest rival", "evidence, bits", "threshold, bits"]
    rows = [_course_cells(status, summary.names) for status in moments(summary.course)]
    return table("The course of the identification", heads, rows)


def _course_cells(status: Status, names: Sequence[str]) -> list[object]:
    leader = "–" if status.leader is None else brief(names[status.leader])
    cells: list[object] = [status.requests, whole(status.senses), len(status.candidates), leader]
    lacks = {rival: status.threshold_nats.get(rival, 0.0) - nats for rival, nats in status.evidence_nats.items()}
    if not lacks:
        return [*cells, "–", "–", "–"]
    rival = max(lacks, key=lambda other: lacks[other])
    nats = (status.evidence_nats[rival], status.threshold_nats.get(rival, 0.0))
    return [*cells, brief(names[rival]), *(f"{value / NATS_PER_BIT:.2f}" for value in nats)]


def _standing(moment: Weighed, names: Sequence[str]) -> str:
    passed = moment.evidence >= moment.threshold
    standing = "passed the threshold" if passed else f"the threshold is {moment.threshold:.3g}"
    return f"{names[moment.rival]}: {moment.evidence:.3g} bits after {several(moment.senses, 'sense')}, {standing}"


def _senses_axis(summary: Summary) -> Axis:
    return Axis.over(0.0, float(max(summary.senses, 1)), short, 4)
