"""Confidence bounds on estimated capacities."""
