"""The keys of a study's file: taken one by one, checked, and refused with their full name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bestchannel.arrays import number_in
from bestchannel.errors import InputError

Check = Callable[[object, str], Any]
"""Of a value and the full name of its key: the value in the required type, or an `InputError`."""


class Keys:
    """A table of the file, from which keys are taken one by one; what is left over is refused."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self.left = dict(content)
        self.where = where

    def take(self, key: str, check: Check, *default: Any) -> Any:
        """The value of a key, checked; the default where the key is missing and there is one."""
        if key in self.left:
            return check(self.left.pop(key), f"{self.where}{key}")
        if default:
            return default[0]
        raise InputError(f"{self.where}{key} is missing; a study requires it")

    def tables(self, key: str) -> list[Keys]:
        """The tables [[key]], of which there is at least one."""
        found = self.left.pop(key, None)
        if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
            raise InputError(f"{key} must be one or more tables [[{key}]]; it is {found!r}")
        return [Keys(each, f"{key}[{i}].") for i, each in enumerate(found)]

    def refuse_rest(self, known: Sequence[str] = ()) -> None:
        """Refuse the first key that nothing asked for."""
        for key, value in self.left.items():
            more = f"; there are {', '.join(known)}" if known else "; leave it out"
            raise InputError(f"{self.where}{key} = {value!r} means nothing here{more}")


def text(value: object, where: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where} must be a text; it is {value!r}")
    return value


def whole(least: int) -> Check:
    """A whole number from `least` on."""

    def check(value: object, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{where} must be a whole number >= {least}; it is {value!r}")
        return value

    return check


def number(low: float, high: float) -> Check:
    """A number above `low`, up to `high`."""
    return lambda value, where: number_in(value, where, low=low, high=high)
