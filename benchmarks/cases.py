"""The channels: stacks (k, n_inputs, n_outputs) in float64, drawn with fixed seeds."""

from __future__ import annotations

import numpy as np

from bestchannel.channels import awgn_pam, bsc, poisson

DENSITY = 0.06


def dense(k: int, n: int) -> np.ndarray:
    """k channels n × n with rows uniform on the simplex: Dirichlet(1)."""
    return np.random.default_rng(n).dirichlet(np.ones(n), size=(k, n))


def sparse(k: int, n: int) -> np.ndarray:
    """The same on random supports of about 6 % of the cells; a random permutation keeps every row and column used."""
    rng = np.random.default_rng(n)
    return np.stack([_sparse(n, rng) for _ in range(k)])


def _sparse(n: int, rng: np.random.Generator) -> np.ndarray:
    support = rng.random((n, n)) < DENSITY
    support[np.arange(n), rng.permutation(n)] = True
    weights = rng.exponential(size=(n, n)) * support
    return weights / weights.sum(axis=1, keepdims=True)


def photon_counting() -> np.ndarray:
    """Poisson counts 0..119 and >= 120 of 100 intensities up to 80, one dark count: 100 × 121."""
    return poisson(np.linspace(0.0, 80.0, 100), dark=1.0, max_count=120).W[None]


def quantised_gaussian() -> np.ndarray:
    """128 amplitudes in white Gaussian noise at 20 dB, 256 cells."""
    return awgn_pam(128, 20.0, n_outputs=256).W[None]


def symmetric() -> np.ndarray:
    """One binary symmetric channel with crossover 0.1."""
    return np.array(bsc(0.1).W)[None]
