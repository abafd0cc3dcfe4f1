"""Policies that say what to sense, and the loop that serves them."""

from bestchannel.identification.adaptive import Adaptive
from bestchannel.identification.best_chan_id import BestChanID
from bestchannel.identification.catalogue import make_policy
from bestchannel.identification.identify import OutOfSensesError, Sensor, identify
from bestchannel.identification.median_chan_el import MedianChanEl
from bestchannel.identification.naive_chan_sel import NaiveChanSel
from bestchannel.identification.policy import Policy
from bestchannel.identification.request import Observation, Request
from bestchannel.identification.transcript import Audit, Identification, Party, Status, Step, Transcript

__all__ = [
    "Adaptive",
    "Audit",
    "BestChanID",
    "Identification",
    "MedianChanEl",
    "NaiveChanSel",
    "Observation",
    "OutOfSensesError",
    "Party",
    "Policy",
    "Request",
    "Sensor",
    "Status",
    "Step",
    "Transcript",
    "identify",
    "make_policy",
]
