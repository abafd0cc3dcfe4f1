"""Processes of this machine that work on a study."""

import multiprocessing
import signal
import sys
from pathlib import Path

import pytest

from bestchannel.study.monte_carlo import Piece, Study
from bestchannel.study.pools import processes
from bestchannel.study.spec import read_spec

SMALL = Path(__file__).parents[2] / "studies" / "small.toml"


def blocked(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("SigBlk")).split()[1], 16)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_interrupt_cannot_end_a_process_that_is_only_beginning():
    """A terminal sends Ctrl-C to all processes of a study, also to one that has not come to ignore it yet."""
    study = Study.of(read_spec(SMALL))
    with processes(study, 1) as pool:
        future = pool.submit(Piece(0, 0, 1))
        (child,) = multiprocessing.active_children()
        assert blocked(child.pid) >> (signal.SIGINT - 1) & 1
        assert future.result()[0].senses == study.run(0, 0).senses
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
