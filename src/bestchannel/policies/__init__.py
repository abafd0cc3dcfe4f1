"""Policies that say what to sense, and the loop that serves them."""

from bestchannel.counts.labelled_counts import ChannelLabels
from bestchannel.policies.adaptive.adaptive_policy import Adaptive
from bestchannel.policies.best_chan_id import BestChanID
from bestchannel.policies.catalogue import make_policy
from bestchannel.policies.identify import OutOfSensesError, Sensor, identify
from bestchannel.policies.median_chan_el import MedianChanEl
from bestchannel.policies.naive_chan_sel import NaiveChanSel
from bestchannel.policies.policy import Policy
from bestchannel.policies.request import Observation, Request
from bestchannel.policies.transcript import Audit, Identification, Status, Step, Transcript

__all__ = [
    "Adaptive",
    "Audit",
    "BestChanID",
    "ChannelLabels",
    "Identification",
    "MedianChanEl",
    "NaiveChanSel",
    "Observation",
    "OutOfSensesError",
    "Policy",
    "Request",
    "Sensor",
    "Status",
    "Step",
    "Transcript",
    "identify",
    "make_policy",
]
