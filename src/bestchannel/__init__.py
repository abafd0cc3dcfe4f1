"""Find the channel with the largest Shannon capacity, and prove it."""

from bestchannel.capacity import Capacities, Capacity, capacities, capacity, pseudo_capacity
from bestchannel.channels import Channel
from bestchannel.errors import BestChannelError, InputError
from bestchannel.information import mutual_information

__version__ = "0.1.0"

__all__ = [
    "BestChannelError",
    "Capacities",
    "Capacity",
    "Channel",
    "InputError",
    "capacities",
    "capacity",
    "mutual_information",
    "pseudo_capacity",
]
