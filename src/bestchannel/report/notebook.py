"""Notebooks: results show themselves as cards.

A notebook asks an object for `_repr_html_`. The results live in layers that know nothing of pages, so this module,
which the face of the package imports, gives their classes that method. What draws is imported when first asked for.
"""

from __future__ import annotations

from bestchannel.capacity import Capacity
from bestchannel.channels import Channel
from bestchannel.intervals import Estimate
from bestchannel.policies import Identification

METHOD = "_repr_html_"


def _of_identification(result: Identification) -> str:
    from bestchannel.report.cards import identification_card

    return identification_card(result)


def _of_estimate(result: Estimate) -> str:
    from bestchannel.report.cards import estimate_card

    return estimate_card(result)


def _of_capacity(answer: Capacity) -> str:
    from bestchannel.report.cards import capacity_card

    return capacity_card(answer)


def _of_channel(channel: Channel) -> str:
    from bestchannel.report.cards import channel_card

    return channel_card(channel)


FACES = {
    Identification: _of_identification,
    Estimate: _of_estimate,
    Capacity: _of_capacity,
    Channel: _of_channel,
}

for _kind, _face in FACES.items():
    setattr(_kind, METHOD, _face)
