"""Reading and writing data: channels, counts and trial logs in text, NumPy, MATLAB, JSON and Parquet files; results."""

from bestchannel.estimation.labelled_counts import Alphabets, LabelledCounts
from bestchannel.files.channels import read_channels, write_channels
from bestchannel.files.counts import read_counts
from bestchannel.files.results import as_document, from_document, read_result, write_result
from bestchannel.files.trials import Trials, read_trials

__all__ = [
    "Alphabets",
    "LabelledCounts",
    "Trials",
    "as_document",
    "from_document",
    "read_channels",
    "read_counts",
    "read_result",
    "read_trials",
    "write_channels",
    "write_result",
]
