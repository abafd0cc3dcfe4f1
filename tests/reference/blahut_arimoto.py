"""Second implementations, simple and different on purpose from the interior point of the library.

Alternating maximisation [Bla72, Ari72] for the capacity, the pseudo-capacity and the capacity
under a cost, and the dual minimax by a general-purpose optimiser. All in plain numpy and nats
inside; each returns a bracket (lower, upper) in bits that its own iterate proves.
"""

import numpy as np
from scipy import optimize

LOG2 = np.log(2.0)


def divergences(W, Q):
    """D(W_x || Q) in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(W > 0.0, W * (np.log(W) - np.log(Q)), 0.0).sum(axis=1)


def capacity(W, gap=1e-7, steps=20_000):
    """p <- p exp(D(W_x || pW)) until the certificate is as narrow as asked, or the steps are spent."""
    p = np.full(len(W), 1.0 / len(W))
    for _ in range(steps):
        D = divergences(W, p @ W)
        if D.max() - p @ D <= gap:
            break
        p = p * np.exp(D - D.max())
        p /= p.sum()
    return p @ D / LOG2, D.max() / LOG2


def floored(q, eta):
    """The Q >= eta closest to q in D(q || Q): max(q / xi, eta), xi by bisection."""
    low, high = 0.5, 2.0  # xi = q(kept) / (1 - eta raised), with eta <= 1 / (2 len(q))
    for _ in range(50):
        xi = (low + high) / 2
        low, high = (xi, high) if np.maximum(q / xi, eta).sum() > 1.0 else (low, xi)
    Q = np.maximum(q / high, eta)
    return Q / Q.sum()


def pseudo_capacity(W, eta, gap=1e-7, steps=5_000):
    """Alternate the input's step with the projection of its output on Q >= eta."""
    p = np.full(len(W), 1.0 / len(W))
    for _ in range(steps):
        D = divergences(W, floored(p @ W, eta))
        if D.max() - p @ D <= gap:
            break
        p = p * np.exp(D - D.max())
        p /= p.sum()
    return p @ D / LOG2, D.max() / LOG2


def penalised(W, cost, gamma, gap, steps):
    """The input that maximises I(p; W) - gamma cost: p <- p exp(D - gamma cost)."""
    p = np.full(len(W), 1.0 / len(W))
    for _ in range(steps):
        score = divergences(W, p @ W) - gamma * cost
        if score.max() - p @ score <= gap:
            break
        p = p * np.exp(score - score.max())
        p /= p.sum()
    return p, score.max()


def capacity_under_cost(W, cost, budget, gap=1e-7, steps=3_000):
    """Bisection over the price gamma of a unit of cost.

    Every gamma >= 0 proves C(B) <= max_x (D_x - gamma c_x) + gamma B. The input for a low price
    spends too much and the one for a high price too little; their mixture that spends B is feasible.
    """
    W, cost = np.asarray(W), np.asarray(cost, dtype=float)
    spender, top = penalised(W, cost, 0.0, gap, steps)
    upper = top
    if spender @ cost <= budget:
        return mutual_information(spender, W) / LOG2, upper / LOG2
    saver = (cost == cost.min()) / np.count_nonzero(cost == cost.min())
    low, high = 0.0, 1.0
    while penalised(W, cost, high, gap, steps)[0] @ cost > budget and high < 1e6:
        high *= 4.0
    for _ in range(25):
        gamma = (low + high) / 2
        p, top = penalised(W, cost, gamma, gap, steps)
        upper = min(upper, top + gamma * budget)
        if p @ cost > budget:
            low, spender = gamma, p
        else:
            high, saver = gamma, p
    share = (budget - saver @ cost) / (spender @ cost - saver @ cost)
    mixed = share * spender + (1.0 - share) * saver
    return mutual_information(mixed, W) / LOG2, upper / LOG2


def mutual_information(p, W):
    """I(p; W) in nats."""
    used = p > 0.0
    return float(p[used] @ divergences(W[used], p @ W))


def dual_upper_bound(W):
    """min over Q of max_x D(W_x || Q) by sequential quadratic programming: an upper bound, whatever it reaches."""
    m = W.shape[1]

    def output(v):
        Q = np.exp(v[:m] - v[:m].max())
        return Q / Q.sum()

    def slack(v):
        return v[m] - divergences(W, output(v))

    start = np.append(np.log(W.mean(axis=0) + 1e-3), np.log(m) + 1.0)
    found = optimize.minimize(
        lambda v: v[m], start, constraints={"type": "ineq", "fun": slack}, method="SLSQP", options={"maxiter": 200}
    )
    return divergences(W, output(found.x)).max() / LOG2
