"""Find the channel with the largest Shannon capacity, and prove it.

What a name stands for is imported when it is first asked for: nobody waits for what they do not use.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bestchannel import report as _report  # noqa: F401  draws and tabulates results
from bestchannel.process import VERSION

if TYPE_CHECKING:  # the table below, as editors and type checkers read it
    from bestchannel import channels as channels
    from bestchannel import runs as runs
    from bestchannel.capacity import Capacities as Capacities
    from bestchannel.capacity import Capacity as Capacity
    from bestchannel.capacity import capacities as capacities
    from bestchannel.capacity import capacity as capacity
    from bestchannel.capacity import pseudo_capacity as pseudo_capacity
    from bestchannel.channels import Channel as Channel
    from bestchannel.channels import awgn_pam as awgn_pam
    from bestchannel.channels import awgn_qam as awgn_qam
    from bestchannel.channels import bec as bec
    from bestchannel.channels import binary_asymmetric as binary_asymmetric
    from bestchannel.channels import bsc as bsc
    from bestchannel.channels import noisy_typewriter as noisy_typewriter
    from bestchannel.channels import poisson as poisson
    from bestchannel.channels import q_ary_symmetric as q_ary_symmetric
    from bestchannel.channels import z_channel as z_channel
    from bestchannel.counts import quantise as quantise
    from bestchannel.counts import read_channels as read_channels
    from bestchannel.counts import read_counts as read_counts
    from bestchannel.counts import read_joint_trials as read_joint_trials
    from bestchannel.counts import read_trials as read_trials
    from bestchannel.errors import BestChannelError as BestChannelError
    from bestchannel.errors import InputError as InputError
    from bestchannel.information import mutual_information as mutual_information
    from bestchannel.intervals import Estimate as Estimate
    from bestchannel.intervals import estimate as estimate
    from bestchannel.lower_bound.bound import LowerBound as LowerBound
    from bestchannel.lower_bound.bound import lower_bound as lower_bound
    from bestchannel.policies import Adaptive as Adaptive
    from bestchannel.policies import BestChanID as BestChanID
    from bestchannel.policies import Identification as Identification
    from bestchannel.policies import JointAdaptive as JointAdaptive
    from bestchannel.policies import MedianChanEl as MedianChanEl
    from bestchannel.policies import NaiveChanSel as NaiveChanSel
    from bestchannel.policies import Observation as Observation
    from bestchannel.policies import Policy as Policy
    from bestchannel.policies import Request as Request
    from bestchannel.policies import Sensor as Sensor
    from bestchannel.policies import identify as identify
    from bestchannel.questions import Above as Above
    from bestchannel.questions import Best as Best
    from bestchannel.questions import Order as Order
    from bestchannel.questions import Top as Top
    from bestchannel.questions import Within as Within
    from bestchannel.sensing import JointRecording as JointRecording
    from bestchannel.sensing import Recording as Recording
    from bestchannel.sensing import Simulator as Simulator
    from bestchannel.study.planning import Plan as Plan
    from bestchannel.study.planning import plan as plan
    from bestchannel.verification import CheckedRecord as CheckedRecord
    from bestchannel.verification import verify as verify

_ROOMS = ("channels", "counts", "errors", "intervals", "policies", "runs", "sensing", "service", "study", "testing")
"""What can be reached as `bc.ROOM` without an import of its own."""

_HOMES = {
    "capacity": "Capacities Capacity capacities capacity pseudo_capacity",
    "channels": "Channel awgn_pam awgn_qam bec binary_asymmetric bsc noisy_typewriter poisson q_ary_symmetric"
    " z_channel",
    "counts": "quantise read_channels read_counts read_joint_trials read_trials",
    "errors": "BestChannelError InputError",
    "information": "mutual_information",
    "intervals": "Estimate estimate",
    "lower_bound.bound": "LowerBound lower_bound",
    "policies": "Adaptive BestChanID Identification JointAdaptive MedianChanEl NaiveChanSel Observation Policy"
    " Request Sensor identify",
    "questions": "Above Best Order Top Within",
    "sensing": "JointRecording Recording Simulator",
    "study.planning": "Plan plan",
    "verification": "CheckedRecord verify",
}
"""The public names, by the module that has them."""

_HOME = {name: f"bestchannel.{module}" for module, names in _HOMES.items() for name in names.split()}

__version__ = VERSION
__all__ = sorted(_HOME)


class _Face(ModuleType):
    """The package: importing one of its modules does not hide a function of the same name, as `capacity`."""

    def __getattr__(self, name: str) -> Any:
        if name in _HOME:
            value = getattr(import_module(_HOME[name]), name)
        elif name in _ROOMS:
            value = import_module(f"bestchannel.{name}")
        else:
            raise AttributeError(f"module 'bestchannel' has no attribute {name!r}")
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """What completion offers: the public names, and the rooms that people visit."""
        return [*__all__, "__version__", "channels", "runs"]


sys.modules[__name__].__class__ = _Face
