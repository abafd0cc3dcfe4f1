"""The service that instruments talk to, its page, and the clients that sense and watch."""

from bestchannel.service.instrument import Batch, Instrument, sender, vector_sender
from bestchannel.service.link import NotPermittedError

__all__ = ["Batch", "Instrument", "NotPermittedError", "sender", "vector_sender"]
