"""Kernels in Python, for as long as compiling them would take longer than it saves.

A module of kernels, run on lists in place of arrays (`kernel_lists`), gives the digits of the compiled one in some
thirty times the time. Its work is measured in logarithms and exponentials, so that neither a clock nor a busy machine
decides when it is compiled. Where that happens in the middle of a call, or Python refuses what compiled code passes
over, as log 0, the arrays are as they were, and compiled code does all of the call.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from operator import length_hint
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from bestchannel.kernel_copies import KERNELS, Copies
from bestchannel.kernel_lists import NUMPY, as_lists, on_lists, put_back

REFUSALS = (ArithmeticError, ValueError, StopIteration)
"""What Python raises where compiled code goes on, and what is raised when patience is over."""


class Patience:
    """So many logarithms and exponentials that Python may take."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.left = itertools.repeat(0, calls)

    @property
    def used(self) -> float:
        """The part that has been taken."""
        return 1.0 - length_hint(self.left) / max(self.calls, 1)


def in_python(name: str, patience: Patience, compiled: Callable[[], ModuleType]) -> ModuleType:
    """The functions of a module of kernels, for as long as patience lasts; then those of `compiled()`."""
    names = {"math": SimpleNamespace(**vars(math), tick=patience.left.__next__), "np": NUMPY}
    ways = [Copies(functools.partial(_on_lists, careful), **names) for careful in (False, True)]
    return Copies(functools.partial(_guarded, ways, compiled)).of(name)


def _on_lists(careful: bool, function: FunctionType, bound: FunctionType) -> FunctionType:
    return on_lists(function, bound.__globals__, careful=careful) if function in KERNELS else bound


def _guarded(
    ways: list[Copies], compiled: Callable[[], ModuleType], function: FunctionType, bound: FunctionType
) -> Any:
    """A kernel on lists that compiled code takes over from where Python gives up; another function as it is."""
    if function not in KERNELS:
        return bound
    left = list(ways)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        for way in tuple(left):
            given = as_lists(arguments)
            try:
                result = getattr(way.of(function.__module__), function.__name__)(*given)
            except ZeroDivisionError:
                left[:] = [each for each in left if each is not way]
            except REFUSALS:
                break
            else:
                put_back(given, arguments)
                return result
        return getattr(compiled(), function.__name__)(*arguments)

    return call
