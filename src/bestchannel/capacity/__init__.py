"""The capacity of channels, always with a bracket that proves it."""

from bestchannel.capacity.solve import capacities, capacities_by_name, capacity, pseudo_capacity
from bestchannel.capacity.stack import Capacities, Capacity

__all__ = ["Capacities", "Capacity", "capacities", "capacities_by_name", "capacity", "pseudo_capacity"]
