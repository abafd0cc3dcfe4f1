"""Bets on a rival's senses as a policy makes them: tilts near s/N towards the output of what was seen before."""

import numpy as np

from bestchannel.evidence.bets import covers_of
from bestchannel.verification.rival_check import Rows


def best_input(W, steps=300):
    """About an optimal input distribution, none above 1 - 1/e."""
    P = np.full(len(W), 1.0 / len(W))
    for _ in range(steps):
        P = P * np.exp((W * np.log(W / (P @ W))).sum(axis=1))
        P = P / P.sum()
    return P


def rows_like(rng, n_inputs, n_outputs, noise):
    """Random rows, or with some noise those of a noiseless channel."""
    random = rng.dirichlet(np.ones(n_outputs), size=n_inputs)
    clean = np.eye(n_inputs, n_outputs)
    clean[clean.sum(axis=1) == 0.0, 0] = 1.0
    return random if noise is None else (1.0 - noise) * clean + noise * random


def requests_about(W, rng, *, senses=300, gap=0.05, boldest=0.5):
    """(counts, tilts, outputs) of requests until each input has about so many senses, and the weight of all bets."""
    seen = rng.multinomial(6, W).astype(float)
    requests, weight = [], 0.0
    while seen.sum() < senses * len(W):
        guess = (seen + 0.25) / (seen + 0.25).sum(axis=1, keepdims=True)
        P = best_input(guess)
        Q = P @ guess
        g = np.log(guess / Q)
        V = np.maximum((guess * g**2).sum(axis=1) - (guess * g).sum(axis=1) ** 2, 1e-6)
        shares = 0.6 / len(W) + 0.4 * P * np.sqrt(V) / (P * np.sqrt(V)).sum()
        N = np.ceil(0.2 * seen.sum() * shares).astype(int)
        s = min(gap / (2.0 * (P**2 * V / N).sum()), boldest * float(np.median(N)))
        counts = rng.multinomial(N, W)
        requests.append((counts, np.minimum(s / N, boldest), Q))
        seen, weight = seen + counts, weight + s
    return requests, weight


def sensed(shape, seed, *, noise=None, **options):
    """A rival after such requests, its rows, and what proposes covers, at an input distribution or at any."""
    rng = np.random.default_rng(seed)
    W = rows_like(rng, *shape, noise)
    requests, weight = requests_about(W, rng, **options)
    return Rows.of(shape, requests, weight), W, lambda P, most: covers_of(shape, requests, weight, P, most)


def payoff(rival, P, W):
    """What speaks against the bets if P and W are the truth: -log of the rival's factors of M, and S I(P; W)."""
    total = rival.pull[0, 0] * float((P[:, None] * W * np.log(W / (P @ W))).sum())
    for x, p in enumerate(P):
        t = p * rival.tilts[x][:, None]
        z = (W[x] ** (1.0 - t) * np.exp(rival.log_outputs) ** t).sum(axis=1)
        total += p * float((rival.counts[x] * np.log(W[x])).sum() - rival.offsets[x])
        total += float((rival.senses[x] * np.log(z)).sum())
    return total
