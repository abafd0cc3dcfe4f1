"""How often verdicts from joint trials are wrong at ties, against the exact limit, and the mean of the e-value.

    python -m tests.statistical.joint_trials CELLS…

A cell is SIZE:RHO:DRAWS[:SEED], as 2:-0.9:10000, or `all`, 2 to 10 letters; `power` gives the difference, in
standard errors of the paired estimate, that two channels of 2 to 4 letters need to be told apart. Two channels of equal
capacity answer every trial; RHO is the correlation of what their answers are cut from. The twin has every trial written
several times, as if its copies were independent, and has to fail.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

import bestchannel as bc
from bestchannel.channels import bsc, z_channel
from bestchannel.counts.joint_trials import AnswerPairs
from bestchannel.evidence.pair_bets import PairShuffles, pair_evidence

DELTA = 0.2
CELLS = [f"{size}:{rho}:{10_000 if size == 2 else 2_000}" for size in (2, 3, 4, 6, 10) for rho in (-0.9, 0, 0.9)]
TRIALS = {2: 100, 3: 100, 4: 100, 6: 60, 10: 60}


def answered(rng, channels, x, rho):
    """y [trial, channel]: the answers to inputs x [trial], cut from normal numbers; with rho < 0, every second falls."""
    common = rng.standard_normal(len(x))
    answers = []
    for j, W in enumerate(channels):
        sign = -1.0 if rho < 0.0 and j % 2 else 1.0
        z = sign * math.sqrt(abs(rho)) * common + math.sqrt(1.0 - abs(rho)) * rng.standard_normal(len(x))
        answers.append(np.minimum((ndtr(z)[:, None] > np.cumsum(W, axis=1)[x]).sum(axis=1), W.shape[1] - 1))
    return np.stack(answers, axis=1)


def tied(size, rng):
    """Two channels of equal capacity; of two letters a Z-channel and a BSC."""
    if size == 2:
        low, high, C = 0.0, 0.5, bc.capacity(z_channel(0.3)).lower
        for _ in range(60):
            p = 0.5 * (low + high)
            low, high = (p, high) if bc.capacity(bsc(p)).lower > C else (low, p)
        return [bsc(low).W, z_channel(0.3).W]
    W = 0.8 * np.eye(size) + 0.2 * rng.dirichlet(np.ones(size), size)
    return [W, np.ascontiguousarray(W[:, ::-1])]


def log_e_values(size, rho, draws, seed=1, copies=1, groups=False):
    """The logarithm of the e-value of a tie, draw by draw.

    The sabotaged twin has every trial written several times, as if its copies were independent: with `groups` they are
    groups, and nothing is gained by them.
    """
    rng = np.random.default_rng(seed)
    channels, x = tied(size, rng), np.repeat(np.arange(size), TRIALS.get(size, 60))
    for _ in range(draws):
        y = answered(rng, channels, x, rho)
        columns = (np.repeat(column, copies) for column in (x, y[:, 0], x, y[:, 1]))
        pairs = AnswerPairs(*columns, np.repeat(np.arange(len(x)), copies) if groups else None)
        yield pair_evidence(PairShuffles.of(pairs, [(size, size)] * 2), -math.log(DELTA)).log_value()


def limit(wrong, draws):
    """The lower end of the exact one-sided 99.9 % interval of the frequency (Clopper and Pearson)."""
    return float(beta.ppf(0.001, wrong, draws - wrong + 1)) if wrong else 0.0


def needed(size, rho, trials=400, pairs=6, draws=5, seed=2):
    """The median of D less the median lower end, δ = 0.05, in paired standard errors, over pairs of channels."""
    rng, nats, found = np.random.default_rng(seed + 100 * size), math.log(20.0), []
    for _ in range(pairs):
        noise, rows, more = rng.uniform(0.1, 0.4), rng.dirichlet(np.ones(size), size), rng.uniform(0.05, 0.3)
        better = (1 - noise) * np.eye(size) + noise * rows
        channels, x = [better, (1 - more) * better + more * rows], np.repeat(np.arange(size), trials)
        difference, error = paired(rng, channels, rho, trials)
        ends = []
        for _ in range(draws):
            y = answered(rng, channels, x, rho)
            shuffles = PairShuffles.of(AnswerPairs(x, y[:, 0], x, y[:, 1], None), [(size, size)] * 2)
            ends.append(pair_evidence(shuffles, nats).lower_end(nats))
        found.append((difference - np.median(ends)) / error)
    return float(np.median(found))


def paired(rng, channels, rho, trials, many=20_000):
    """The difference of two capacities in nats, and the standard error of its estimate from pairs of answers."""
    x = np.repeat(np.arange(len(channels[0])), many)
    y, score, values = answered(rng, channels, x, rho), 0.0, []
    for j, (W, sign) in enumerate(zip(channels, (1.0, -1.0), strict=True)):
        known = bc.capacity(W)
        values.append(known.lower * math.log(2.0))
        score = score + sign * known.input[x] * np.log(W / (known.input @ W))[x, y[:, j]]
    return values[0] - values[1], math.sqrt(score.reshape(-1, many).var(axis=1).sum() / trials)


def main(cells):
    if cells == ["power"]:
        for size in (2, 3, 4):
            print(f"{size}×{size}:", {rho: round(needed(size, rho), 2) for rho in (0.0, 0.5, 0.9)}, flush=True)
        return
    for cell in CELLS if cells == ["all"] else cells:
        size, rho, draws, *seed = cell.split(":")
        size, rho, draws = int(size), float(rho), int(draws)
        e = np.exp(np.fromiter(log_e_values(size, rho, draws, *map(int, seed)), float))
        wrong, error = int((e > 1.0 / DELTA).sum()), e.std() / math.sqrt(draws)
        kept = limit(wrong, draws) <= DELTA and e.mean() - 4.0 * error <= 1.0
        print(f"{size}×{size}, ρ = {rho:g}: {wrong} of {draws} wrong, δ = {DELTA}; mean of e {e.mean():.3f} ± {error:.3f};"
              f" largest {e.max():.2f}: {'kept' if kept else 'BROKEN'}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
