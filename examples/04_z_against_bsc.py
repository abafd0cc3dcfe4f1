"""Nearly equal capacities, rows far apart: why the gap alone does not measure how hard a choice is.

A channel that is almost a Z-channel meets a binary symmetric channel of almost the same capacity. As the
Z-channel's leak vanishes, so does the gap; yet the rows of the two channels drift apart without end, and the
lower bound of Theorem 4, which only sees the rows, stays at a handful of senses per nat.

Writes z_against_bsc.svg where matplotlib is installed.
"""

from pathlib import Path

from bestchannel.drawing import picture
from bestchannel.errors import MissingExtraError
from bestchannel.paper.z_vs_bsc import figure_z_vs_bsc, z_vs_bsc

rows = z_vs_bsc(q=0.5)

print("   leak        p  gap, bits  divergence, nats  Theorem 4, senses per nat")
for row in rows:
    print(f"{row['leak']:7.0e}  {row['p']:.5f}  {row['gap']:9.1e}  {row['divergence']:16.3f}  {row['theorem4']:25.2f}")

try:
    Path("z_against_bsc.svg").write_bytes(picture(figure_z_vs_bsc(rows), "svg"))
except MissingExtraError as missing:
    print(missing)
