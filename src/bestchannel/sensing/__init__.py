"""What answers the requests of a policy."""

from bestchannel.sensing.recording import Recording
from bestchannel.sensing.simulator import Simulator

__all__ = ["Recording", "Simulator"]
