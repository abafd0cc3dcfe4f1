"""The compiled kernels of the characteristic time."""
