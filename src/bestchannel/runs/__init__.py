"""Durable runs: an identification in one file, which survives a crash at any point."""

from bestchannel.runs.history import AnswerPiece
from bestchannel.runs.run import (
    LIMITED,
    LaboratoryRun,
    RememberingSensor,
    Run,
    Told,
    answers_itself,
    begin,
    identify_durably,
    open_run,
    read_result,
    read_run,
    remembering,
    reopened,
    resume,
    view,
)
from bestchannel.runs.settings import Replay, Simulation
from bestchannel.runs.sqlite_file import NotWrittenError
from bestchannel.runs.store import InUseError

__all__ = [
    "LIMITED",
    "AnswerPiece",
    "InUseError",
    "LaboratoryRun",
    "NotWrittenError",
    "RememberingSensor",
    "Replay",
    "Run",
    "Simulation",
    "Told",
    "answers_itself",
    "begin",
    "identify_durably",
    "open_run",
    "read_result",
    "read_run",
    "remembering",
    "reopened",
    "resume",
    "view",
]
