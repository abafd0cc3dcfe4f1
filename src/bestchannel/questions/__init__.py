"""What is asked of channels."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from bestchannel.errors import InputError
from bestchannel.questions.levels import Above, Within
from bestchannel.questions.question import Best, Evidence, Findings, NearlyBest, Question, Standpoint, Supposed
from bestchannel.questions.ranking import Order, Top

AnyQuestion = Best | Above | Top | Within | Order
"""Every question there is, as a record may hold it."""


def _plain(number: Any) -> Any:
    """A number of NumPy as one of Python."""
    if isinstance(number, np.generic):
        return number.item()
    raise TypeError(f"{number!r} is no number")


def question_of(asked: AnyQuestion | Mapping[str, Any] | None, epsilon: float = 0.0) -> AnyQuestion:
    """The question that is asked, also as JSON has it; None is the best within epsilon."""
    if asked is None:
        return Best(epsilon)
    try:
        question: AnyQuestion = msgspec.convert(msgspec.to_builtins(asked, enc_hook=_plain), AnyQuestion)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(
            f'a question must be Above, Top, Order or Within, or JSON as {{"kind": "above", "level": 0.9}}; it is'
            f" {asked!r} ({error})"
        ) from None
    if epsilon in (0.0, question.epsilon):
        return question
    if isinstance(question, Top | Order) and not question.epsilon:
        return msgspec.structs.replace(question, epsilon=epsilon)
    raise InputError(f"epsilon is for the best channels and for orders, once; with {question!r} leave it out")


__all__ = [
    "Above",
    "AnyQuestion",
    "Best",
    "Evidence",
    "Findings",
    "NearlyBest",
    "Order",
    "Question",
    "Standpoint",
    "Supposed",
    "Top",
    "Within",
    "question_of",
]
