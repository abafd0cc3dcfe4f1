"""What people have becomes counts and channels: text, NumPy, MATLAB, JSON and Parquet files, frames and arrays."""

from bestchannel.counts.channel_files import read_channels, write_channels
from bestchannel.counts.data_files import read_counts
from bestchannel.counts.labelled_counts import Alphabets, LabelledCounts
from bestchannel.counts.trials import Trials, read_trials

__all__ = [
    "Alphabets",
    "LabelledCounts",
    "Trials",
    "read_channels",
    "read_counts",
    "read_trials",
    "write_channels",
]
