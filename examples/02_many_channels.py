"""A hundred thousand capacities at once."""

import numpy as np

import bestchannel as bc

stack = np.random.default_rng(1).dirichlet(np.ones(4), size=(100_000, 4))
answer = bc.capacities(stack, tol=1e-10)
print("all certified:", bool(answer.converged.all()), "widest bracket:", answer.gap.max(), "bits")
print("mean capacity of a random 4x4 channel:", answer.lower.mean().round(4), "bits")
