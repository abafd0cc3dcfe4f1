"""Reading and writing data: channels in JSON, CSV, NumPy and Parquet files."""

from bestchannel.files.channels import read_channels, write_channels

__all__ = ["read_channels", "write_channels"]
