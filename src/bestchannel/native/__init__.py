"""The loops over numbers, in C: one file of kernels for each room that has some, and its functions for Python."""
