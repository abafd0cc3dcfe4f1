"""The library's exceptions.

Each derives from `BestChannelError` and from the built-in that a caller would
expect, so that both `except BestChannelError` and `except ValueError` work.
A message is one sentence: what is wrong, where, what was found, what was
wanted, and the way out.
"""


class BestChannelError(Exception):
    """Root of everything this library raises on purpose.

    Examples
    --------
    >>> import bestchannel as bc
    >>> try:
    ...     bc.read_channels("no/such/file.json")
    ... except bc.BestChannelError as error:
    ...     print(error)
    no/such/file.json: there is no such file
    """


class InputError(BestChannelError, ValueError):
    """A value from outside that cannot be used as it is; a `ValueError` too.

    Its message is one sentence: what is wrong, where, what was found, what is required, and the way out.

    Examples
    --------
    >>> import bestchannel as bc
    >>> try:
    ...     bc.Channel([[0.9, 0.1], [0.5, 0.6]])
    ... except ValueError as error:
    ...     print(str(error)[:75])
    row x=1 of the channel must sum to 1 within 1e-09; it sums to 1.1 (normaliz
    """


class JointTrialsFoundError(InputError):
    """A table of trials that several channels answered, where separate senses are required."""


class CountsFoundError(InputError):
    """Counts or trials where probabilities are required."""


class MissingFileError(BestChannelError, FileNotFoundError):
    """A file that is not there."""


class MissingExtraError(BestChannelError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f'{purpose} needs an optional package: pip install "bestchannel[{extra}]"')
