"""An independent check of a finished identification; it shares no code with what it checks."""

from bestchannel.verification.record import NotValidError
from bestchannel.verification.verdict import CheckedRecord, verify

__all__ = ["CheckedRecord", "NotValidError", "verify"]
