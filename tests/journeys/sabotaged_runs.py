"""Runs made worse on purpose, so that the crash suite is known to notice: `python -m tests.journeys.sabotaged_runs late`."""

import sys

from bestchannel.runs import run, store
from tests.journeys import crash


def late():
    """Answers are acknowledged before they are on disk: three are written at a time."""
    held = []

    def append(self, *records):
        held.extend(self.history.next_entries(*records))
        for entry in held[-len(records) :]:
            self.history.add(entry)
        if len(held) >= 6:
            rows = [(e.number, e.kind, e.request, e.content, e.seal) for e in held]
            self._connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
            held.clear()

    store.Store.append = append


def forgetful():
    """A resumed simulation draws from its seed again."""
    run._continue = lambda sensor, history: None


if __name__ == "__main__":
    {"late": late, "forgetful": forgetful}[sys.argv[1]]()
    crash.main(150)
