"""Second implementations, written differently on purpose: grids, random alternatives, proofs checked from outside."""

import numpy as np
from scipy.special import rel_entr

import bestchannel as bc

NATS_PER_BIT = np.log(2.0)


def binary_divergence(p, q):
    """kl(p, q), in nats."""
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def binary_capacity(a, b):
    """The capacity in nats of P(1|0) = a, P(1|1) = b: the Q with D(a‖Q) = D(b‖Q), log((1-Q)/Q) = (h(a)-h(b))/(a-b)."""
    a, b = np.broadcast_arrays(a, b)
    h_a, h_b = (-rel_entr(p, 1) - rel_entr(1 - p, 1) for p in (a, b))
    apart = np.abs(a - b) > 1e-9
    slope = (h_a - h_b) / np.where(apart, a - b, 1.0)
    Q = 1 / (1 + np.exp(slope))
    return np.where(apart, binary_divergence(a, Q), 0.0)


def grid_around(p, far=41, near=241, width=0.12):
    """Parameters over (0, 1), dense around p."""
    points = np.concatenate([np.linspace(1e-6, 1 - 1e-6, far), p + np.linspace(-width, width, near)])
    return np.unique(points[(points > 0) & (points < 1)])


class GridGame:
    """Two binary channels (P(1|0), P(1|1)), the better one first; every alternative on a grid."""

    def __init__(self, best, rival):
        self.sides = []
        for a, b in (best, rival):
            first, second = np.meshgrid(grid_around(a), grid_around(b), indexing="ij")
            order = np.argsort(binary_capacity(first, second), axis=None)
            capacities = binary_capacity(first, second).ravel()[order]
            costs = [binary_divergence(a, first).ravel()[order], binary_divergence(b, second).ravel()[order]]
            self.sides.append((capacities, np.array(costs)))

    def cheapest(self, w):
        """min over grid alternatives of Σ w D: the best channel brought down to c, the rival up to c."""
        (C_u, costs_u), (C_v, costs_v) = self.sides
        w = np.asarray(w)
        up = np.minimum.accumulate((w[2:] @ costs_v)[::-1])[::-1]
        down = np.minimum.accumulate(w[:2] @ costs_u)
        reached = np.searchsorted(C_v, C_u)  # the first rival that is at least as good
        possible = reached < len(C_v)
        return float(np.min(down[possible] + up[reached[possible]]))

    def time(self):
        """1/max_w cheapest(w), by a search without derivatives."""
        from scipy.optimize import minimize

        def loss(logits):
            w = np.exp(logits - logits.max())
            return -self.cheapest(w / w.sum())

        found = minimize(loss, np.zeros(4), method="Nelder-Mead", options={"maxfev": 400, "xatol": 1e-3, "fatol": 0})
        return -1 / found.fun


def row_divergences(W, V):
    """D(W_x‖V_x), in nats."""
    return rel_entr(W, V).sum(axis=1)


def faults_of_lower_end(T, channels):
    """Why the alternatives and their mixture fail to prove `T.lower`; nothing where they do."""
    faults = []
    W = [channel.W for channel in channels]
    evidence = [np.zeros(len(rows)) for rows in W]
    for chance, other in zip(T.mixture, T.alternatives, strict=True):
        leader_rows, rival_rows = other.rows.values()
        if bc.capacity(rival_rows, tol=1e-12).upper < bc.capacity(leader_rows, tol=1e-12).lower:
            faults.append("a rival that is still worse")
        for channel, rows in other.rows.items():
            evidence[channel] += chance * row_divergences(W[channel], rows)
    if abs(sum(T.mixture) - 1) > 1e-9:
        faults.append("a mixture that is no distribution")
    most = max(each.max() for each in evidence)
    if most * T.lower > 1 + 1e-9:
        faults.append(f"some input gives {most * T.lower} nats in T.lower senses")
    return faults


def random_alternatives(W_b, W_a, rng, count):
    """Pairs (u, v) with C(v) ≥ C(u): the rows mixed towards random ones at random distances, both ways."""
    while count:
        mixed = [_moved(W, rng) for W in (W_b, W_a)]
        u, v = mixed
        C_u, C_v = (bc.capacity(rows, tol=1e-9) for rows in mixed)
        if C_u.upper > C_v.lower:  # bring the leader down, as far as needed
            keep = C_v.lower / C_u.upper
            u = keep * u + (1 - keep) * C_u.output
        count -= 1
        yield u, v


def _moved(W, rng):
    towards = rng.dirichlet(np.full(W.shape[1], 0.3), size=len(W))
    if rng.random() < 0.5:  # rows near different corners have a large capacity
        corners = np.eye(W.shape[1])[rng.permutation(max(W.shape))[: len(W)] % W.shape[1]]
        towards = 0.98 * corners + 0.02 / W.shape[1]
    share = 10 ** rng.uniform(-3, 0, size=(len(W), 1)) * rng.integers(0, 2, size=(len(W), 1))
    return (1 - share) * W + share * towards


def faults_of_upper_end(T, channels, best, rng, count=300):
    """Alternatives that cost less than 1/T.upper at T.allocation; there must be none."""
    faults = []
    for a, rival in enumerate(channels):
        if a == best or min(rival.W.shape) < 2:
            continue
        near = [tuple(each.rows.values()) for each in T.alternatives if list(each.rows) == [best, a]]
        for u, v in [*near, *random_alternatives(channels[best].W, rival.W, rng, count)]:
            cost = T.allocation[best] @ row_divergences(channels[best].W, u)
            cost += T.allocation[a] @ row_divergences(rival.W, v)
            if cost * T.upper < 1 - 1e-9:
                faults.append(f"rival {a} at {cost * T.upper} nats in T.upper senses")
    return faults
