"""A run in a file: the program crashes, is started again, and comes to the verdict of a program that did not."""

import bestchannel as bc
from bestchannel import runs

LINKS = {"cable": [[0.98, 0.02], [0.02, 0.98]], "radio": [[0.97, 0.03], [0.25, 0.75]]}


class Crashing(bc.Simulator):
    """A simulator that gives up when it is asked for the sixth time."""

    calls = 0

    def __call__(self, request):
        self.calls += 1
        if self.calls == 6:
            raise RuntimeError("the lights went out")
        return super().__call__(request)


def measure(simulator, path):
    sensor = simulator(LINKS, rng=7)
    policy = bc.Adaptive(sensor.alphabets, delta=0.05)
    with runs.remembering(sensor, policy, path) as durable:
        return bc.identify(durable, policy)


try:
    measure(Crashing, "crashed.db")
except RuntimeError as crash:
    print(f"{crash}; on disk: {runs.read_run('crashed.db').senses} senses")
print("started again:", resumed := measure(bc.Simulator, "crashed.db"))
print("the same as without a crash:", resumed == measure(bc.Simulator, "calm.db"))
