"""A question: what is asked of channels, in which words, and when an answer is right.

Policies, results, records, studies and `verify` hold a question and leave to it whatever depends on what is asked.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from bestchannel.arrays import Floats


@dataclass(frozen=True)
class NearlyBest:
    """A channel that is the best or within so many bits of the best, proved at 1 - δ at every time of a run.

    `channel` is its number in a policy, its key in an outcome.
    """

    channel: Any
    within_bits: float


class Standpoint(Protocol):
    """What has come out by now, as a policy and an outcome have it: a named channel, or those that are left."""

    @property
    def best(self) -> Any:
        """The channel that is named, or None."""

    @property
    def candidates(self) -> Sequence[Any]:
        """The channels that are not ruled out."""

    @property
    def nearly_best(self) -> NearlyBest | None:
        """What is proved of a candidate."""


class Question(Struct, frozen=True, tag_field="kind"):
    """What is asked; a record holds it under `question`, with its `kind`. `epsilon` is the accuracy in bits."""

    epsilon: float = 0.0

    @abstractmethod
    def promise(self, delta: float, P: Sequence[float] | None, proof: str) -> str:
        """What a policy that answers the question promises, and where the proof is."""

    @abstractmethod
    def answer(self, standpoint: Standpoint) -> str:
        """The answer, or what is still open, in a few words."""

    @abstractmethod
    def proved_so_far(self, standpoint: Standpoint, delta: float, P: Sequence[float] | None) -> str | None:
        """What is proved though the question is not answered, in one sentence; None where nothing is."""

    @abstractmethod
    def is_right(self, standpoint: Standpoint, behind: Floats, same: float) -> bool:
        """Whether the answer is true of channels that are so many bits worse than the best of them.

        What differs by no more than `same` is equal.
        """
