"""The library's exceptions.

Each derives from `BestChannelError` and from the built-in that a caller would
expect, so that both `except BestChannelError` and `except ValueError` work.
A message is one sentence: what is wrong, where, what was found, what was
wanted, and the way out.
"""


class BestChannelError(Exception):
    """Root of everything this library raises on purpose."""


class InputError(BestChannelError, ValueError):
    """A value from outside that cannot be used as it is."""


class MissingFileError(BestChannelError, FileNotFoundError):
    """A file that is not there."""


class MissingExtraError(BestChannelError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f'{purpose} needs an optional package: pip install "bestchannel[{extra}]"')
