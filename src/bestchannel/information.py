"""Entropy, divergence and mutual information."""

from __future__ import annotations

import math

import numpy as np

from bestchannel.arrays import Floats, distribution
from bestchannel.channels import as_channel

NATS_PER_BIT = math.log(2.0)


def binary_entropy(p: float) -> float:
    """h(p) = -p log2 p - (1-p) log2(1-p), in bits."""
    return sum(-t * math.log2(t) for t in (p, 1.0 - p) if t > 0.0)


def divergence_nats(P: Floats, Q: Floats) -> Floats:
    """D(P || Q) = sum_y P_y log(P_y/Q_y) over the last axis, in nats; infinite where Q_y = 0 < P_y.

    Computed as sum_y Q psi(u) with u = (P-Q)/Q and psi(u) = (1+u) log(1+u) - u >= 0, which
    has no cancellation: it keeps its relative accuracy when P is nearly equal to Q.
    """
    positive = Q > 0.0
    with np.errstate(all="ignore"):
        u = np.where(positive, (P - Q) / Q, 0.0)
        near = np.where(u > -1.0, (1.0 + u) * np.log1p(u) - u, 1.0)
        series = np.zeros_like(u)
        for k in range(10, 1, -1):  # psi(u) = sum_{k >= 2} (-u)^k / (k (k-1))
            series = series * -u + 1.0 / (k * (k - 1))
        terms = Q * np.where(np.abs(u) > 0.02, near, u * u * series)
        # P/Q may overflow where Q is tiny; there Q psi(u) = P log(P/Q) - P + Q cancels nothing
        terms = np.where(u > 1.0, P * (np.log(P) - np.log(Q)) - P + Q, terms)
    return np.where(positive | (P == 0.0), terms, np.inf).sum(axis=-1)


def divergences_nats(W: Floats, Q: Floats) -> Floats:
    """D(W_x || Q) of every row, in nats; shape (..., n_inputs)."""
    return divergence_nats(W, np.asarray(Q)[..., None, :])


def mutual_information(input: object, channel: object) -> float:
    """What the input distribution P sends through W: I(P; W) = sum_x P_x D(W_x || PW), in bits per channel use.

    Parameters
    ----------
    input
        P, probabilities of shape (n_inputs,).
    channel
        A `Channel`, or rows of probabilities of shape (n_inputs, n_outputs).

    Returns
    -------
    float
        I(P; W) in bits, accurate also where it is tiny.

    Raises
    ------
    InputError
        Where P is no distribution over the inputs, or the rows are no channel.

    Examples
    --------
    >>> mutual_information([0.5, 0.5], [[1, 0], [0, 1]])
    1.0
    """
    W = as_channel(channel).W
    W = W / W.sum(axis=1, keepdims=True)
    P = distribution(input, len(W), "the input distribution")
    used = P > 0.0
    # an output that occurs has a probability above 0, also where the product of two tiny numbers is not
    Q = np.maximum(P @ W, np.where(np.any(W[used] > 0.0, axis=0), 5e-324, 0.0))
    D = divergences_nats(W[used], Q)
    return float(P[used] @ D) / NATS_PER_BIT
