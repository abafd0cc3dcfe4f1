"""A policy for tests of throughput: one request that is never complete."""

from bestchannel.policies import Policy, Script


class Wide(Policy):
    """Asks for 10¹⁵ senses of every input of every channel, and then names the first."""

    name = "wide"

    @property
    def guarantee(self) -> str:
        return "none"

    def _script(self) -> Script:
        yield {channel: (10**15,) * size for channel, (size, _) in enumerate(self.alphabets)}
        return 0
