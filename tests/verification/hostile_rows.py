"""Rows of rivals with extreme probabilities, tilts and weights: the bound of each against a search.

`python -m tests.verification.hostile_rows 20000` tries so many, from the seed after it (0 if there is none).
"""

import sys

import numpy as np

from bestchannel.verification.rival_check import Rows, profile, upper

AT_ONCE = 200


def hostile_rows(rng, n_rows=AT_ONCE):
    """Rows with p from 6e-6 to 1 - 1/e, few senses or many of them, some requests without any, and S/G from 0.1 to 4."""
    E, Y = rng.integers(1, 5), rng.integers(2, 6)
    senses = np.round(np.exp(rng.uniform(-1.0, 6.0, (n_rows, E)))) * (rng.random((n_rows, E)) < 0.8)
    tilts = np.exp(rng.uniform(-6.0, np.log(1.5), (n_rows, E)))
    outputs = rng.dirichlet(np.full(Y, 0.7), size=E) + 1e-6
    log_outputs = np.log(outputs / outputs.sum(axis=1, keepdims=True))
    W = rng.dirichlet(np.full(Y, 0.5), size=n_rows)
    counts = rng.multinomial(senses.astype(int), W[:, None, :])
    weighted = tilts[:, :, None] * counts
    weight = (senses * tilts).sum(axis=1).mean() * np.exp(rng.uniform(-2.3, 1.4))
    R = rng.dirichlet(np.ones(Y), size=n_rows) + 1e-4
    p = np.exp(rng.uniform(-12.0, np.log(0.632), n_rows))
    offsets = (weighted * log_outputs).sum(axis=(1, 2))
    log_R, pull = np.log(R / R.sum(axis=1, keepdims=True)), np.full((n_rows, 1), weight)
    rival = Rows(senses, tilts, log_outputs, weighted.sum(axis=1), offsets, pull, log_R)
    return rival.at(np.arange(n_rows), p, log_R)


def bracket(rows, w):
    """What is maximised in u, written as it is defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(rows.counts > 0.0, rows.counts * np.log(w), 0.0).sum(axis=1)
        away = np.where(w > 0.0, w * (np.log(w) - rows.log_R), 0.0).sum(axis=1)
    t = rows.tilts[:, :, None]
    z = (w[:, None, :] ** (1.0 - t) * np.exp(rows.log_outputs) ** t).sum(axis=2)
    return logs - rows.offsets + (rows.senses * np.log(z)).sum(axis=1) + rows.pull[:, 0] * away


def climbed(rows, log_w):
    """log w after a step of Newton's towards larger values, at most by 0.7."""
    at = profile(rows, log_w)
    stiff = np.maximum(at.bend, 1e-3 * np.exp(log_w))
    multiplier = (at.slope * np.exp(log_w) / stiff).sum(axis=1) / (np.exp(2.0 * log_w) / stiff).sum(axis=1)
    rise = at.slope - multiplier[:, None] * np.exp(log_w)
    log_w = log_w + np.clip(rise / (np.maximum(at.bend, 0.0) + np.abs(rise) + 1e-300), -0.7, 0.7)
    return log_w - np.log(np.exp(log_w).sum(axis=1, keepdims=True))


def largest_found(rows, rng, starts):
    """The largest bracket at vertices, at random places, after climbing from them and around where that ends."""
    n, Y = rows.log_R.shape
    best = np.full(n, -np.inf)
    for start in range(Y + starts):
        w = (
            np.tile(np.eye(Y)[start], (n, 1))
            if start < Y
            else rng.dirichlet(np.full(Y, rng.choice([0.1, 0.3, 1.0])), n)
        )
        best = np.fmax(best, bracket(rows, w))
        log_w = np.log((w + 1e-9) / (w + 1e-9).sum(axis=1, keepdims=True))
        for _ in range(30):
            log_w = climbed(rows, log_w)
        for spread in (0.0, 1e-3, 1e-2, 0.1, 1.0):
            near = np.exp(log_w + spread * rng.normal(size=log_w.shape))
            best = np.fmax(best, bracket(rows, near / near.sum(axis=1, keepdims=True)))
    return best


def bounds_and_found(seed, starts=10, steps=None):
    """Upper bounds of u for some hostile rows, and the largest brackets that a search finds.

    The bounds are from rows after so many steps, or of any number: they must hold at any rows, not only at good ones.
    """
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        rows = hostile_rows(rng)
        log_w = np.log(rng.dirichlet(np.ones(rows.log_R.shape[1]), len(rows.log_R)))
        for _ in range(rng.integers(0, 25) if steps is None else steps):
            log_w = climbed(rows, log_w)
        return upper(rows, log_w), largest_found(rows, rng, starts)


def main(n_rows, first):
    gaps, wrong = [], 0
    for seed in range(first, first + n_rows // AT_ONCE):
        bounds, found = bounds_and_found(seed)
        wrong += int((found > bounds + 1e-9 * (1.0 + np.abs(bounds))).sum())
        gaps.append(bounds - found)
    quantiles = np.quantile(np.concatenate(gaps), [0.5, 0.9, 0.99, 0.999, 1.0])
    print(f"{n_rows} rows, {wrong} found above their bound; bound less what was found (nats),")
    print("quantiles .5 .9 .99 .999 1: " + " ".join(f"{gap:.4f}" for gap in quantiles))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
