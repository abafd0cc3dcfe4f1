"""Policies that say what to sense, and the loop that serves them."""

from bestchannel.arrays import ChannelLabels
from bestchannel.policies.adaptive.adaptive_policy import Adaptive
from bestchannel.policies.adaptive.joint_policy import JointAdaptive
from bestchannel.policies.catalogue import make_policy
from bestchannel.policies.identify import OutOfSensesError, Sensor, identify
from bestchannel.policies.paper_policies import BestChanID, MedianChanEl, NaiveChanSel
from bestchannel.policies.policy import Counts, Policy, Script, Senses
from bestchannel.policies.request import Observation, Request, Supply
from bestchannel.policies.transcript import Audit, Identification, Status, Step
from bestchannel.questions import NearlyBest

__all__ = [
    "Adaptive", "Audit", "BestChanID", "ChannelLabels", "Counts", "Identification", "JointAdaptive", "MedianChanEl",
    "NaiveChanSel", "NearlyBest", "Observation", "OutOfSensesError", "Policy", "Request", "Script", "Senses", "Sensor",
    "Status", "Step", "Supply", "identify", "make_policy",
]  # fmt: skip
