"""Channels, the families of textbooks and receivers, and how channels combine."""

from bestchannel.channels.channel import Channel, as_channel, cascade, product
from bestchannel.channels.families import (
    awgn_pam,
    awgn_qam,
    bec,
    binary_asymmetric,
    bsc,
    noisy_typewriter,
    poisson,
    q_ary_symmetric,
    random_channel,
    z_channel,
)

__all__ = [
    "Channel", "as_channel", "awgn_pam", "awgn_qam", "bec", "binary_asymmetric", "bsc", "cascade", "noisy_typewriter",
    "poisson", "product", "q_ary_symmetric", "random_channel", "z_channel",
]  # fmt: skip
