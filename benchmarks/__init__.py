"""Our capacities beside other software, on the same channels in one process: `make bench`."""
