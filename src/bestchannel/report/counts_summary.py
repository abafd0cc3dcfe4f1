"""Counts that nobody asked for step by step, as a report draws them: estimates and a verdict, and no course."""

from __future__ import annotations

import numpy as np

from bestchannel.intervals import Estimate
from bestchannel.policies import Audit, ChannelLabels, Identification
from bestchannel.questions import Best
from bestchannel.report.summary import Measured, Summary, best_first


def counts_summary(found: Estimate) -> Summary:
    """The channels with their counts, best first, and what `estimate` has found of them."""
    channels = [
        Measured(c.name, c.inputs, c.outputs, np.array(c.counts, dtype=np.int64), c.senses, c, None)
        for c in found.channels
    ]
    parties = tuple(ChannelLabels(channel.name, channel.inputs, channel.outputs) for channel in channels)
    P = found.input_distribution
    result = Identification(
        best=found.verdict.best,
        decided=found.verdict.decided,
        senses=sum(channel.senses for channel in channels),
        rounds=0,
        policy="",
        delta=found.delta,
        question=Best(found.epsilon),
        guarantee=found.guarantee,
        candidates=found.verdict.candidates,
        audit=Audit(
            parties, {} if P is None else {"input_distribution": list(P)}, (), (), None, None, found.inferred_outputs
        ),
    )
    return Summary(result, tuple(best_first(channels, result)), (), found)
