"""A policy for tests of runs: many small requests and no arithmetic, so that most of the time goes into the log."""

import numpy as np

from bestchannel.policies import ChannelLabels, Policy, Script

PARTIES = [ChannelLabels("cable", ("a", "b"), ("u", "v")), ChannelLabels("radio", ("a", "b"), ("u", "v"))]
RIGHT, WRONG = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
"""The answers of a channel without error, and of one that always errs, to a request of `Steady`."""


class Steady(Policy):
    """Senses every input of every channel once per request, and then names the channel with fewest errors."""

    name = "steady"
    requests = 40

    @property
    def guarantee(self) -> str:
        return "none"

    def _script(self) -> Script:
        errors = [0] * len(self.alphabets)
        for _ in range(self.requests):
            counts = yield {channel: (1,) * size for channel, (size, _) in enumerate(self.alphabets)}
            for channel, table in counts.items():
                errors[channel] += int(table.sum() - table.diagonal().sum())
        self.candidates = (errors.index(min(errors)),)
        return self.candidates[0]
