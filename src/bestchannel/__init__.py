"""Find the channel with the largest Shannon capacity, and prove it."""

from bestchannel import runs as runs
from bestchannel.capacity import Capacities, Capacity, capacities, capacity, pseudo_capacity
from bestchannel.channels import (
    Channel,
    awgn_pam,
    awgn_qam,
    bec,
    binary_asymmetric,
    bsc,
    noisy_typewriter,
    poisson,
    q_ary_symmetric,
    z_channel,
)
from bestchannel.counts import quantise, read_channels, read_counts, read_trials
from bestchannel.errors import BestChannelError, InputError
from bestchannel.information import mutual_information
from bestchannel.intervals import Estimate, estimate
from bestchannel.lower_bound.bound import LowerBound, lower_bound
from bestchannel.policies import (
    Adaptive,
    BestChanID,
    Identification,
    MedianChanEl,
    NaiveChanSel,
    Observation,
    Policy,
    Request,
    Sensor,
    identify,
)
from bestchannel.release import VERSION
from bestchannel.report import notebook as _notebook  # noqa: F401  draws and tabulates results
from bestchannel.sensing import Recording, Simulator
from bestchannel.study.planning import Plan, plan
from bestchannel.verification import CheckedRecord, verify

__version__ = VERSION

__all__ = [
    "Adaptive",
    "BestChanID",
    "BestChannelError",
    "Capacities",
    "Capacity",
    "Channel",
    "CheckedRecord",
    "Estimate",
    "Identification",
    "InputError",
    "LowerBound",
    "MedianChanEl",
    "NaiveChanSel",
    "Observation",
    "Plan",
    "Policy",
    "Recording",
    "Request",
    "Sensor",
    "Simulator",
    "awgn_pam",
    "awgn_qam",
    "bec",
    "binary_asymmetric",
    "bsc",
    "capacities",
    "capacity",
    "estimate",
    "identify",
    "lower_bound",
    "mutual_information",
    "noisy_typewriter",
    "plan",
    "poisson",
    "pseudo_capacity",
    "q_ary_symmetric",
    "quantise",
    "read_channels",
    "read_counts",
    "read_trials",
    "verify",
    "z_channel",
]


def __dir__() -> list[str]:
    """What completion offers: the names above, and the rooms that people visit."""
    return [*__all__, "__version__", "channels", "runs"]
