"""Studies: published results recomputed, policies compared over many simulated runs."""
