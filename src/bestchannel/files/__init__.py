"""Reading and writing data: channels and counts in JSON, CSV, NumPy and Parquet files."""

from bestchannel.files.channels import read_channels, write_channels
from bestchannel.files.counts import LabelledCounts, read_counts

__all__ = ["LabelledCounts", "read_channels", "read_counts", "write_channels"]
