"""What answers the requests of a policy."""

from bestchannel.sensing.recording import JointRecording, Recording
from bestchannel.sensing.simulator import Simulator

__all__ = ["JointRecording", "Recording", "Simulator"]
