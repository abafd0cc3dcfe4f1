"""Any Python callable can be a sensor: here one that tosses coins for two light barriers."""

import random

import numpy as np

import bestchannel as bc
from bestchannel.policies import ChannelLabels

MISSES = {"old": 0.2, "new": 0.02}  # how often a barrier does not see what is there
coin = random.Random(3)


class Barriers:
    """Puts something into the beam, or nothing, and notes whether the barrier saw it."""

    parties = tuple(ChannelLabels(name, inputs=("empty", "blocked"), outputs=("dark", "bright")) for name in MISSES)

    def __call__(self, request):
        counts = {channel: np.zeros((2, 2), dtype=int) for channel in request.senses}
        for channel, senses in request.senses.items():
            for x, times in enumerate(senses):
                for _ in range(times):
                    counts[channel][x, self.look(channel, blocked=x == 1)] += 1
        return counts

    def look(self, channel, *, blocked):
        missed = coin.random() < MISSES[self.parties[channel].key]
        return 0 if blocked and not missed else 1


result = bc.identify(Barriers(), bc.Adaptive([(2, 2), (2, 2)], delta=0.01))
print(f"{result.best} after {result.senses:,} senses; {result.guarantee}")
