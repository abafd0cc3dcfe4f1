"""Policies that say what to sense, and the loop that serves them."""

from bestchannel.identification.adaptive import Adaptive
from bestchannel.identification.best_chan_id import BestChanID
from bestchannel.identification.catalogue import make_policy
from bestchannel.identification.identify import Identification, OutOfSensesError, Sensor, Status, identify
from bestchannel.identification.median_chan_el import MedianChanEl
from bestchannel.identification.naive_chan_sel import NaiveChanSel
from bestchannel.identification.policy import Policy
from bestchannel.identification.request import Observation, Request

__all__ = [
    "Adaptive",
    "BestChanID",
    "Identification",
    "MedianChanEl",
    "NaiveChanSel",
    "Observation",
    "OutOfSensesError",
    "Policy",
    "Request",
    "Sensor",
    "Status",
    "identify",
    "make_policy",
]
