"""The compiled kernels of capacities, loaded at first use, and the words that they answer with."""

from bestchannel.compiled import Kernels

OK, STALLED, BAD_ENTRY, BAD_SUM = 0, 1, 2, 3
"""What became of a channel in a lane: solved, not converged, refused for an entry, refused for a row sum."""

MAX_ITERATIONS = 50
FIRST_MARGIN = 1.02

lanes = Kernels("bestchannel.capacity.lanes", seconds=8)
single = Kernels("bestchannel.capacity.single", seconds=7)
