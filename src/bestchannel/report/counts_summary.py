"""Counts that nobody asked for step by step, as a report draws them: estimates and a verdict, and no course."""

from __future__ import annotations

from collections.abc import Mapping

from bestchannel.counts import LabelledCounts
from bestchannel.intervals import Estimate
from bestchannel.policies import Audit, ChannelLabels, Identification
from bestchannel.report.summary import Measured, Summary, best_first


def counts_summary(counts: Mapping[str, LabelledCounts], found: Estimate) -> Summary:
    """The channels with their counts, best first, and what `estimate` has found of them."""
    estimates = {channel.name: channel for channel in found.channels}
    channels = [
        Measured(name, c.inputs, c.outputs, c.counts, int(c.counts.sum()), estimates[name], None)
        for name, c in counts.items()
    ]
    parties = tuple(ChannelLabels(channel.name, channel.inputs, channel.outputs) for channel in channels)
    result = Identification(
        best=found.verdict.best,
        decided=found.verdict.decided,
        senses=sum(channel.senses for channel in channels),
        rounds=0,
        policy="",
        delta=found.delta,
        epsilon=found.epsilon,
        guarantee=found.guarantee,
        candidates=found.verdict.candidates,
        audit=Audit(parties, {}, (), (), None, None, found.inferred_outputs),
    )
    return Summary(result, tuple(best_first(channels, result)), (), found)
