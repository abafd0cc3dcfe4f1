"""Durable runs: an identification in one file, which survives a crash at any point."""

from bestchannel.runs.durable import RememberingSensor, identify_durably, remembering, resume
from bestchannel.runs.run import LIMITED, LaboratoryRun, Run, Told, begin, open_run, read_run, view
from bestchannel.runs.sources import Replay, Simulation, source_of
from bestchannel.runs.store import InUseError, NotWrittenError

__all__ = [
    "LIMITED",
    "InUseError",
    "LaboratoryRun",
    "NotWrittenError",
    "RememberingSensor",
    "Replay",
    "Run",
    "Simulation",
    "Told",
    "begin",
    "identify_durably",
    "open_run",
    "read_run",
    "remembering",
    "resume",
    "source_of",
    "view",
]
