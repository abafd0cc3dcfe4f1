"""Copies of a module of kernels whose functions call one another, and not those of the module itself.

A module of kernels is Python. What is compiled and what is run as it is are two copies of it, each made of its code
and of that of the modules that it takes kernels from.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

Bind = Callable[[FunctionType, FunctionType], Any]
"""What stands in a copy for a function: made of the function and of itself, bound to the names of the copy."""

KERNELS: dict[Any, Any] = {}
"""Every kernel, as its function is decorated, and how it is compiled."""


class Copies:
    """Copies that belong together, by the names of their modules; `replaced` are other values for names in them."""

    def __init__(self, bind: Bind, **replaced: Any) -> None:
        self._bind, self._replaced = bind, replaced
        self._copies: dict[str, ModuleType] = {}
        self._making = threading.RLock()

    def of(self, name: str) -> ModuleType:
        """The copy of a module, made when it is first asked for; other threads wait until it is finished."""
        with self._making:
            if name not in self._copies:
                self._copies[name] = ModuleType(name)
                self._fill(self._copies[name])
            return self._copies[name]

    def _fill(self, copy: ModuleType) -> None:
        names = vars(importlib.import_module(copy.__name__))
        modules = {kernel.__module__ for kernel in KERNELS}
        vars(copy).update(names | {each: self._replaced[each] for each in self._replaced.keys() & names.keys()})
        for each, value in names.items():
            if isinstance(value, FunctionType) and value.__module__ in modules:
                setattr(copy, each, self._function(value, copy))

    def _function(self, function: FunctionType, copy: ModuleType) -> Any:
        """What stands for a function, wherever it comes from."""
        if function.__module__ != copy.__name__:
            return getattr(self.of(function.__module__), function.__name__)
        bound = FunctionType(function.__code__, vars(copy), function.__name__, function.__defaults__)
        return self._bind(function, bound)
