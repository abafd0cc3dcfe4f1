"""Reading and writing data: channels, counts and results in JSON, CSV, NumPy and Parquet files."""

from bestchannel.files.channels import read_channels, write_channels
from bestchannel.files.counts import LabelledCounts, read_counts
from bestchannel.files.results import as_document, from_document, read_result, write_result

__all__ = [
    "LabelledCounts",
    "as_document",
    "from_document",
    "read_channels",
    "read_counts",
    "read_result",
    "write_channels",
    "write_result",
]
