"""The capacity of channels, always with a bracket that proves it."""

from bestchannel.capacity.bracket import Capacities, Capacity
from bestchannel.capacity.solve import capacities, capacities_by_name, capacity, pseudo_capacity

__all__ = ["Capacities", "Capacity", "capacities", "capacities_by_name", "capacity", "pseudo_capacity"]
