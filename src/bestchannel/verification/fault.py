"""What is said of a record that does not hold."""

from bestchannel.errors import BestChannelError


class NotValidError(BestChannelError, ValueError):
    """A record that can be read and does not prove what it claims: one sentence says what fails, and where."""
