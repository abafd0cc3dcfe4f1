"""An independent check of a finished identification; it shares no code with what it checks."""

from bestchannel.verification.verify import Verdict, verify

__all__ = ["Verdict", "verify"]
