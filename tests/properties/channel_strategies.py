"""Hypothesis strategies for channels: small, with zeros, ties, tiny entries and plain ones."""

import numpy as np
from hypothesis import strategies as st

weights = st.one_of(
    st.integers(0, 3).map(float),
    st.floats(0.0, 1.0, allow_subnormal=False),
    st.sampled_from([1e-3, 1e-9, 1e-15, 1e-30, 1e-100, 1e-300]),
)


def scaled(weights):
    """Weights divided by their sum; all zero means the first letter for sure."""
    W = np.array(weights, dtype=float)
    W[..., 0] += W.sum(axis=-1) == 0.0
    W /= W.max(axis=-1, keepdims=True)
    return W / W.sum(axis=-1, keepdims=True)


def vectors(size):
    return st.lists(weights, min_size=size, max_size=size)


def distributions(size):
    return vectors(size).map(scaled)


@st.composite
def channels(draw, n_inputs=None, n_outputs=None, largest=5):
    """A row-stochastic matrix; its sizes may be fixed."""
    n = n_inputs or draw(st.integers(1, largest))
    m = n_outputs or draw(st.integers(1, largest))
    return scaled(draw(st.lists(vectors(m), min_size=n, max_size=n)))


@st.composite
def stacks(draw, leading, largest=4):
    """A stack of channels of one size with the given leading shape."""
    n, m = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    count = int(np.prod(leading))
    flat = draw(st.lists(channels(n, m), min_size=count, max_size=count))
    return np.array(flat).reshape(*leading, n, m)
