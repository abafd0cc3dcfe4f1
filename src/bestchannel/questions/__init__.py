"""What is asked of channels."""

from bestchannel.questions.best import Best
from bestchannel.questions.question import NearlyBest, Question, Standpoint

AnyQuestion = Best
"""Every question there is, as a record may hold it."""

__all__ = ["AnyQuestion", "Best", "NearlyBest", "Question", "Standpoint"]
