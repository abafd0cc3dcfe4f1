"""Kernels in Python, for as long as compiling them would take longer than it saves.

A module of kernels, run as it is, gives the digits of the compiled one in some hundred times the time. Its work is
measured in logarithms and exponentials, so that neither a clock nor a busy machine decides when it is compiled. Where
that happens in the middle of a call, or Python refuses what compiled code passes over, as 1/0 or log 0, the arrays
are put back as they were, and compiled code does all of the call.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.kernel_copies import KERNEL_MODULES, Copies

REFUSALS = (ArithmeticError, ValueError, StopIteration)
"""What Python raises where compiled code goes on, and what is raised when patience is over."""


def in_python(name: str, patience: int, compiled: Callable[[], ModuleType]) -> SimpleNamespace:
    """The functions of a module of kernels, for so many logarithms and exponentials; then those of `compiled()`."""
    copy = Copies(lambda _, bound: bound, math=counting_math(patience)).of(name)
    return SimpleNamespace(**{each: _guarded(value, compiled) for each, value in vars(copy).items()})


def counting_math(patience: int) -> SimpleNamespace:
    """`math` whose functions may be called so many times; then they raise StopIteration."""
    left = iter(range(patience))

    def counted(function: Callable[[float], float]) -> Callable[[float], float]:
        def call(value: float) -> float:
            next(left)
            return function(value)

        return call

    functions = {name: counted(getattr(math, name)) for name in ("exp", "log", "log1p")}
    return SimpleNamespace(**{**vars(math), **functions})


def _guarded(value: Any, compiled: Callable[[], ModuleType]) -> Any:
    """A kernel that compiled code takes over from where Python gives up; anything else as it is."""
    if not isinstance(value, FunctionType) or value.__module__ not in KERNEL_MODULES:
        return value

    @functools.wraps(value)
    def call(*arguments: Any) -> Any:
        before = [(array, array.copy()) for array in _written(arguments)]
        try:
            with np.errstate(all="ignore"):
                return _plain(value(*arguments))
        except REFUSALS:
            for array, content in before:
                array[...] = content
            return getattr(compiled(), value.__name__)(*arguments)

    return call


def _plain(result: Any) -> Any:
    """A result with numbers of Python for those of NumPy, as compiled code returns it."""
    if type(result) is tuple:
        return tuple(_plain(each) for each in result)
    return result.item() if isinstance(result, np.generic) else result


def _written(arguments: tuple[Any, ...]) -> Iterator[Floats]:
    """The arrays among arguments that a function may write to, also in tuples."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _written(argument)
        elif isinstance(argument, np.ndarray) and argument.flags.writeable:
            yield argument
