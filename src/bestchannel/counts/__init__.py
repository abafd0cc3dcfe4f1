"""What people have becomes counts and channels: text, NumPy, MATLAB, JSON and Parquet files, frames and arrays."""

from bestchannel.arrays import ChannelLabels
from bestchannel.counts.data_files import read_channels, read_counts, read_joint_trials, read_trials, write_channels
from bestchannel.counts.joint_trials import JointTrials, combined
from bestchannel.counts.labelled_counts import LabelledCounts, Trials
from bestchannel.counts.quantisation import quantise

__all__ = [
    "ChannelLabels",
    "JointTrials",
    "LabelledCounts",
    "Trials",
    "combined",
    "quantise",
    "read_channels",
    "read_counts",
    "read_joint_trials",
    "read_trials",
    "write_channels",
]
