"""What answers the requests of a policy."""

from bestchannel.sensing.simulator import Simulator

__all__ = ["Simulator"]
