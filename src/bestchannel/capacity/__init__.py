"""The capacity of channels, always with a bracket that proves it."""

from bestchannel.capacity.answers import Capacities, Capacity
from bestchannel.capacity.solve import capacities, capacity, pseudo_capacity

__all__ = ["Capacities", "Capacity", "capacities", "capacity", "pseudo_capacity"]
