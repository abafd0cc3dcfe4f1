"""Capacity of one larger channel, with a floor on the output or a cost on the input (BLAS).

    maximise over P:  min_{Q >= eta} sum_x P_x D(W_x || Q)    subject to  sum_x P_x c_x <= B.

eta = 0 and no cost is the capacity: the inner minimum is at Q = PW. For eta > 0 it is
the pseudo-capacity of [EBWGW24, eq. (2)], and Q is PW filled up to eta. In each case

    sum_x P_x D_x  <=  value  <=  max_x (D_x - gamma c_x) + gamma B,    D_x = D(W_x || Q),

for every feasible P, with Q made of P, and every gamma >= 0: the certificate.

The method is the interior point of `native/interior_point.h`, for one channel, with two additions. The unused
budget is one more variable t >= 0, so that the cost becomes an equality. And of many inputs,
multiplicative steps find those that may matter; the interior point works on a few per output, takes in those
that stand in the way of the certificate, and every input is certified at the end: a capacity needs no more inputs
than outputs [Gal68, Sec. 4.5]. For the plain capacity the steps are those of
`native/single.c`; floor, cost and relative accuracy stay here because BLAS and LAPACK do all that takes time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from bestchannel.arrays import Floats, Integers
from bestchannel.capacity.stack import EPS, TINY, certified_nats, relative_slack, rounding_compensated
from bestchannel.information import divergences_nats
from bestchannel.native import capacity as native

LEAST_SLACK = 1e-30
MAX_ITERATIONS = 80
FEW_INPUTS = 16  # beyond, those that may matter are chosen first
STEPS_OF_FEW, STEPS = 6, (12, 18)
NATIVE_UP_TO = 1024  # inputs; beyond, BLAS is faster
MAX_ROUNDS = 60
KEPT_GAPS = 6.0
SHORT_OF_BOUNDARY = 0.995


@dataclass(frozen=True)
class Problem:
    """One maximisation: rows W that sum to 1, floor eta, and a cost with its budget or None."""

    W: Floats
    eta: float = 0.0
    cost: Floats | None = None
    budget: float = 0.0
    precise: bool = False  # relative accuracy of the divergences, at the cost of n_inputs * n_outputs logarithms
    sums: tuple[Floats, Floats] = ()  # type: ignore[assignment]  # sum_y W log W, in nats, and sum_y W - 1 of every input

    def __post_init__(self) -> None:
        if not self.sums:
            object.__setattr__(self, "sums", native.neg_entropies(self.W))

    @property
    def plain(self) -> bool:
        """Whether this is the capacity, for which `native` has steps."""
        return self.eta == 0.0 and self.cost is None and not self.precise

    def restricted(self, rows: Integers) -> Problem:
        """The same problem with these inputs only."""
        if len(rows) == len(self.W):
            return self
        W, cost = np.take(self.W, rows, axis=0), None if self.cost is None else self.cost[rows]
        return Problem(W, self.eta, cost, self.budget, self.precise, (self.sums[0][rows], self.sums[1][rows]))


@dataclass(frozen=True)
class Point:
    """An input distribution and what it shows: low <= value <= high, in nats."""

    p: Floats
    q: Floats  # pW
    Q: Floats  # the best output distribution >= eta for p
    D: Floats  # D(W_x || Q)
    score: Floats  # D_x - gamma c_x + gamma B
    gamma: float
    low: float
    high: float

    @property
    def P(self) -> Floats:
        """p, once more divided by its sum: the input distribution that is certified."""
        normalized: Floats = self.p / np.sum(self.p)
        return normalized

    @property
    def gap(self) -> float:
        """High - low, in nats."""
        return self.high - self.low


def evaluate(problem: Problem, p: Floats, gamma: float = 0.0) -> Point:
    """What a feasible p shows at the price gamma per unit of cost: a certificate but for rounding."""
    q = p @ problem.W
    Q = filled(q, problem.eta)
    D = divergences_nats(problem.W, Q) if problem.precise else problem.sums[0] - problem.W @ np.log(Q)
    score = D if problem.cost is None else D - gamma * (problem.cost - problem.budget)
    return Point(p, q, Q, D, score, gamma, float(p @ D), float(score.max()))


def certified(problem: Problem, p: Floats, gamma: float = 0.0) -> Point:
    """The same from sums whose rounding `rounding_compensated` bounds for any size.

    Q is divided by its own sum: the upper end holds for every distribution Q, and the lower end is then too high
    by D(pW || Q), of second order in what rounding did to Q.
    """
    P = p / np.sum(p)
    q = native.outputs(problem.W, P)
    Q = filled(q, problem.eta)
    Q /= np.sum(Q)
    D = divergences_nats(problem.W, Q) if problem.precise else native.certified_divergences(problem.W, problem.sums, Q)
    score = D
    if problem.cost is not None:  # where D_x may exceed the capacity by what x costs, and is rounded in proportion
        price, allowance = gamma * problem.cost, gamma * problem.budget
        score = D - price + allowance + 128.0 * EPS * (np.abs(D) + price + allowance)
    low, high = certified_nats(P, D, score)
    return Point(p, q, Q, D, score, gamma, float(low), float(high))


def filled(q: Floats, eta: float) -> Floats:
    """argmin over Q >= eta of D(q || Q): Q = max(q/xi, eta), with xi such that Q sums to 1; no Q is 0."""
    if eta == 0.0:
        return np.maximum(q, TINY)
    order = np.sort(q)
    kept = np.cumsum(order[::-1])[::-1]
    raised = np.arange(len(q))
    fits = order * (1.0 - eta * raised) >= eta * kept
    j = int(np.argmax(fits))
    xi = kept[j] / (1.0 - eta * j)
    return np.maximum(q / xi, eta)


def solve(problem: Problem, tol: float, rtol: float) -> Point:
    """A certified point whose gap is at most tol, and rtol * high where `precise`, or the best that was met."""
    with np.errstate(all="ignore"):  # steps that overflow are caught by their gap
        p, rows = _screened(problem, tol)
        point = best = _solve_on(problem, rows, p, tol, rtol)
        for _ in range(MAX_ROUNDS):
            goal = _goal(problem, best, tol, rtol)
            if best.gap <= goal:
                break
            chosen = np.zeros(len(p), bool)
            chosen[rows] = True
            (in_the_way,) = ((point.score > point.low + 0.5 * goal) & ~chosen).nonzero()
            if len(in_the_way) == 0:
                break
            chosen[_best_of_stretches(problem, in_the_way, point.score)] = True
            (rows,) = chosen.nonzero()
            away_from_zero = 0.5 * (best.p + chosen / len(rows))
            point = _solve_on(problem, rows, away_from_zero, tol, rtol)
            best = min(best, point, key=lambda p: p.gap if np.isfinite(p.gap) else np.inf)
        return best


def _goal(problem: Problem, point: Point, tol: float, rtol: float) -> float:
    """The gap at which to stop: as asked, but no smaller than what rounding does to either end."""
    if not problem.precise:
        return tol
    futile = 0.25 * float(relative_slack(point.high, rounding_compensated(*problem.W.shape, precise=True)))
    return max(min(tol, rtol * point.high), futile)


def _first_input(problem: Problem) -> Floats:
    """The uniform input, moved towards the cheapest ones until half of the budget beyond them is unused."""
    n = len(problem.W)
    p = np.full(n, 1.0 / n)
    if problem.cost is None or problem.cost.min() == problem.cost.max():
        return p
    cheapest = problem.cost == problem.cost.min()
    least, mean = problem.cost.min(), problem.cost.mean()
    share = min(1.0, 0.5 * (problem.budget - least) / (mean - least))
    return share * p + (1.0 - share) * cheapest / np.count_nonzero(cheapest)


def _screened(problem: Problem, tol: float) -> tuple[Floats, Integers]:
    """Where to begin, and with which inputs: of many, those whose divergence may still reach the capacity."""
    p, rows = _first_input(problem), np.arange(len(problem.W))
    if problem.cost is not None:
        return p, _best_of_stretches(problem, rows, evaluate(problem, p).D - problem.cost)
    if len(rows) <= FEW_INPUTS:
        return native.climb(problem.W, problem.sums[0], p, STEPS_OF_FEW)[0], rows
    for steps in STEPS:
        part = problem.restricted(rows)
        p, D = native.climb(part.W, part.sums[0], p, steps)
        D = D if part.plain else evaluate(part, p).D
        high = D.max()
        (near,) = (high - KEPT_GAPS * max(high - float(p @ D), tol) <= D).nonzero()
        kept = _best_of_stretches(part, near, D)
        rows, p = rows[kept], p[kept]
        p /= p.sum()
    everywhere = np.zeros(len(problem.W))
    everywhere[rows] = p
    return everywhere, rows


def _best_of_stretches(problem: Problem, rows: Integers, score: Floats) -> Integers:
    """Of more rows than a few per output, the one with the largest score in each of so many stretches.

    The rows are first sorted by their mean output, so that neighbours are alike where alike has a meaning.
    """
    n_outputs = problem.W.shape[1]
    most = 96 + 4 * n_outputs
    if len(rows) <= most:
        return rows
    rows = rows[np.argsort((problem.W @ np.arange(n_outputs))[rows], kind="stable")]
    stretches = np.array_split(rows, most)
    return np.sort([stretch[np.argmax(score[stretch])] for stretch in stretches])


def _solve_on(problem: Problem, rows: Integers, p: Floats, tol: float, rtol: float) -> Point:
    """The interior point on some of the inputs, certified for all of them."""
    part = problem.restricted(rows)
    p = _first_input(part) if part.cost is not None else p[rows] / p[rows].sum()
    if part.plain and len(rows) <= NATIVE_UP_TO:
        p, gamma = native.interior_point(part.W, part.sums[0], p, tol), 0.0
    else:
        p, gamma = interior_point(part, p, tol, rtol)
    everywhere = np.zeros(len(problem.W))
    everywhere[rows] = p
    return certified(problem, _within_budget(problem, everywhere), gamma)


def _within_budget(problem: Problem, p: Floats) -> Floats:
    """p, mixed with the cheapest input where rounding took it over the budget."""
    p = p / p.sum()
    if problem.cost is None:
        return p
    over = problem.cost @ p - problem.budget
    if over > 0.0:
        cheapest = int(np.argmin(problem.cost))
        share = min(1.0, 2.0 * over / (problem.cost @ p - problem.cost[cheapest]))
        p *= 1.0 - share
        p[cheapest] += share
    return p


def interior_point(problem: Problem, p: Floats, tol: float, rtol: float) -> tuple[Floats, float]:
    """The best p and price gamma on the way from p to a gap of at most tol, and rtol * high where precise."""
    n = len(p)
    z, s, E = _first_step(problem, p, min(tol, rtol))
    best, best_gap = (p, 0.0), np.inf
    for _ in range(MAX_ITERATIONS):
        gamma = float(s[n:].sum())
        point = evaluate(problem, z[:n], gamma)
        goal = _goal(problem, point, tol, rtol)
        if point.gap < best_gap:
            best, best_gap = (point.p, gamma), point.gap
        if point.gap <= goal or not np.isfinite(point.gap):
            break
        dz, ds = _newton(problem, point, z, s, E, goal)
        z = z + _short_of_boundary(z, dz) * dz
        s = s + _short_of_boundary(s, ds) * ds
        z[:n] /= z[:n].sum()
    return best


def _first_step(problem: Problem, p: Floats, goal: float) -> tuple[Floats, Floats, Floats]:
    """Positive variables z = (p, t), slacks s = (C - D, gamma) and the equality rows E that steps keep.

    A p that comes from a warm start is lifted off the boundary in proportion to its gap.
    """
    n = len(p)
    point = evaluate(problem, p)
    if problem.cost is None:
        p = np.maximum(p, 0.1 / n * max(point.gap, goal) / max(point.high, TINY))
        p /= p.sum()
        point = evaluate(problem, p)
    s: Floats = point.high + 0.1 * point.gap - point.D + LEAST_SLACK
    E = np.ones((1, n))
    if problem.cost is None:
        return p, s, E
    E = np.block([[E, np.zeros((1, 1))], [problem.cost[None, :], np.ones((1, 1))]])
    return np.append(p, problem.budget - problem.cost @ p), np.append(s, s.mean()), E


def _newton(problem: Problem, point: Point, z: Floats, s: Floats, E: Floats, goal: float) -> tuple[Floats, Floats]:
    """The predictor-corrector step (dz, ds) of `native/interior_point.h`, with the equalities E dz = 0."""
    n, size = len(problem.W), len(z)
    B = _curvature_root(problem, point)
    weight = s / z
    factor = _factor(B, E, weight)
    V = dpotrs(factor, E.T, lower=1)[0]
    schur = E @ V
    to_multipliers = E / schur if len(E) == 1 else np.linalg.solve(schur, E)

    def solved(b: Floats) -> Floats:
        x: Floats = dpotrs(factor, b, lower=1)[0]
        x -= V @ (to_multipliers @ x)
        return x

    b = np.zeros(size)
    b[:n] = point.D - point.high
    dz = solved(b)
    ds = -s - weight * dz
    now = float(z @ s)
    ahead = float((z + _longest_step(z, dz) * dz) @ (s + _longest_step(s, ds) * ds))
    mu = max((ahead / max(now, TINY)) ** 3 * now, 0.1 * goal) / size
    aim = (mu - dz * ds) / z
    b += aim
    if problem.eta == 0.0:
        dq = (dz[:n] @ B) / np.sqrt(point.Q)
        if dq.min() > -0.5:
            b[:n] += problem.W @ (0.5 * dq * dq)
    dz = solved(b)
    return dz, aim - s - weight * dz


def _curvature_root(problem: Problem, point: Point) -> Floats:
    """B such that K = B B' is minus the Hessian of the value on the simplex.

    Outputs held at eta do not move. Over the free ones, with a_x = W_x(free),
    K = sum_y q_y u_x(y) u_x'(y) and u_x(y) = W(y|x)/q_y - a_x/q(free); without a floor u = W/q - 1.
    """
    if problem.eta == 0.0:
        B: Floats = problem.W - point.Q
        B /= np.sqrt(point.Q)
        return B
    free = problem.eta < point.Q
    W, q = problem.W[:, free], np.maximum(point.q[free], TINY)
    share = W.sum(axis=1) / q.sum()
    return (W - share[:, None] * q) / np.sqrt(q)


def _factor(B: Floats, E: Floats, weight: Floats) -> Floats:
    """The Cholesky factor of B B' + theta E'E + diag(weight); unused budget has no curvature.

    E dz = 0, so theta changes the condition and not the step.
    """
    n, size = len(B), len(weight)
    K = dsyrk(1.0, B.T, trans=1, lower=1)
    theta = K.diagonal().max()
    if size > n:
        K = np.pad(K, (0, size - n))
        K = np.asfortranarray(K + theta * (E.T @ E))
    else:
        K += theta
    K.reshape(-1, order="F")[:: size + 1] += weight + np.finfo(float).eps * theta
    return dpotrf(K, lower=1, overwrite_a=1)[0]


def _longest_step(value: Floats, change: Floats) -> float:
    """The largest step <= 1 that keeps value + step * change >= 0."""
    return float((value / np.maximum(-change, value)).min())


def _short_of_boundary(value: Floats, change: Floats) -> float:
    step = _longest_step(value, change)
    return step if step >= 1.0 else SHORT_OF_BOUNDARY * step
