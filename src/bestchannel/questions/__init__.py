"""What is asked of channels."""

from bestchannel.questions.levels import Above, Within
from bestchannel.questions.question import (
    Best,
    Evidence,
    Findings,
    NearlyBest,
    Question,
    Standpoint,
    Supposed,
    question_of,
)
from bestchannel.questions.ranking import Order, Top

AnyQuestion = Best | Above | Top | Within | Order
"""Every question there is, as a record may hold it."""

__all__ = [
    "Above", "AnyQuestion", "Best", "Evidence", "Findings", "NearlyBest", "Order", "Question", "Standpoint",
    "Supposed", "Top", "Within", "question_of",
]  # fmt: skip
