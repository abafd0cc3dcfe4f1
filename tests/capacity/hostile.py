"""Channels that break solvers, by kind, and checks of the answers that trust nothing but the rows.

By hand, for many: `python -m tests.capacity.hostile 1000000 7 100` (how many, seed, one in) solves so many by
`capacities`, and one in a hundred of them again coarsely, to a relative tolerance, with a floor and with a cost, and
looks for brackets that ball arithmetic contradicts.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from bestchannel import Capacities, Capacity, capacities, capacity, pseudo_capacity
from tests.reference import ball

GOAL_NATS = 1e-10
GOAL = GOAL_NATS / np.log(2.0)
SIZES = range(1, 9)
SHAPES = [(n, m) for n in SIZES for m in SIZES]
LARGE_SHAPES = [(500, 2), (2, 500), (300, 20), (5000, 2)]
LEAST = 5e-324

KINDS: dict[str, Callable[[np.random.Generator, int, int, int], np.ndarray]] = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


def scaled(W):
    """Rows divided by their sum; a row of zeros becomes the first unit vector."""
    W = np.array(W, dtype=float)
    W[..., 0] += W.sum(axis=-1) == 0.0
    W /= W.max(axis=-1, keepdims=True)
    return W / W.sum(axis=-1, keepdims=True)


def dirichlet(rng, count, n, m, concentration):
    return scaled(rng.dirichlet(np.full(m, concentration), size=(count, n)))


def powers_of_ten(rng, low, high, shape):
    return 10.0 ** rng.uniform(low, high, shape)


@kind
def uniform_on_the_simplex(rng, count, n, m):
    return dirichlet(rng, count, n, m, 1.0)


@kind
def nearly_deterministic_rows(rng, count, n, m):
    return dirichlet(rng, count, n, m, 1e-3)


@kind
def spiky_rows(rng, count, n, m):
    return dirichlet(rng, count, n, m, 1e-2)


@kind
def entries_down_to_1e_300(rng, count, n, m):
    return scaled(powers_of_ten(rng, -300, 0, (count, n, m)))


@kind
def denormal_entries(rng, count, n, m):
    """One large entry per row, the others below the smallest normal number 2.2e-308."""
    W = powers_of_ten(rng, -323.5, -300, (count, n, m))
    np.put_along_axis(W, rng.integers(m, size=(count, n, 1)), 1.0, axis=2)
    return W


@kind
def permutation_with_a_little_noise(rng, count, n, m):
    noise = dirichlet(rng, count, n, m, 1.0)
    level = powers_of_ten(rng, -17, -2, (count, 1, 1))
    return scaled((1.0 - level) * noiseless(rng, count, n, m) + level * noise)


@kind
def collapsing_outputs(rng, count, n, m):
    """Each output is likely for one input only and its probability there is tiny as well."""
    W = noiseless(rng, count, n, m) * powers_of_ten(rng, -12, 0, (count, n, m))
    W[..., -1] = 1.0
    return scaled(W + powers_of_ten(rng, -30, -15, (count, n, m)))


@kind
def duplicated_inputs(rng, count, n, m):
    W = dirichlet(rng, count, n, m, 0.3)
    return np.take_along_axis(W, rng.integers((n + 1) // 2, size=(count, n, 1)), axis=1)


@kind
def nearly_duplicated_inputs(rng, count, n, m):
    W = duplicated_inputs(rng, count, n, m)
    return scaled(W * (1.0 + powers_of_ten(rng, -16, -9, (count, n, m))))


@kind
def dominated_inputs(rng, count, n, m):
    """The second half of the rows are mixtures of the first half."""
    W = dirichlet(rng, count, n, m, 0.3)
    half = (n + 1) // 2
    W[:, half:] = dirichlet(rng, count, n - half, half, 0.5) @ W[:, :half]
    return scaled(W)


@kind
def unused_outputs(rng, count, n, m):
    used = rng.random((count, 1, m)) < 0.5
    return scaled(dirichlet(rng, count, n, m, 0.5) * used)


@kind
def barely_used_outputs(rng, count, n, m):
    return scaled(dirichlet(rng, count, n, m, 0.5) * powers_of_ten(rng, -300, 0, (count, 1, m)))


@kind
def boundary_ties(rng, count, n, m):
    """Every input has D(W_x || q) = C, and two of them suffice: strict complementarity fails.

    The first two rows lie on opposite sides of q on one line and at divergence C from it,
    so q is optimal; the other rows lie at divergence C in arbitrary directions.
    """
    q = scaled(dirichlet(rng, count, 1, m, 1.0) + 0.01)
    step = dirichlet(rng, count, n, m, 0.5) - q
    if n > 1:
        step[:, 1] = -step[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step < 0.0, -q / step, np.inf).min(axis=2, keepdims=True)
    step *= np.where(np.isfinite(room), room, 0.0)  # q + step now touches the boundary
    target = 0.5 * divergences(q + step, q).min(axis=1, keepdims=True)
    low, high = np.zeros((count, n)), np.ones((count, n))
    for _ in range(60):
        middle = (low + high) / 2
        below = divergences(q + middle[..., None] * step, q) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return scaled(np.maximum(q + low[..., None] * step, 0.0))


@kind
def near_boundary_ties(rng, count, n, m):
    """A tie as above, missed by a relative 1e-13 ... 1e-6."""
    W = boundary_ties(rng, count, n, m)
    off = powers_of_ten(rng, -13, -6, (count, n, 1)) * rng.choice([-1.0, 1.0], (count, n, 1))
    return scaled(np.maximum(W + off * (W - W.mean(axis=1, keepdims=True)), 0.0))


@kind
def useless(rng, count, n, m):
    return np.repeat(dirichlet(rng, count, 1, m, 0.3), n, axis=1)


@kind
def useless_but_for_rounding(rng, count, n, m):
    return scaled(useless(rng, count, n, m) * rng.uniform(0.5, 2.0, (count, n, 1)))


@kind
def rows_equal_to_an_ulp(rng, count, n, m):
    W = useless(rng, count, n, m)
    towards = rng.choice([0.0, 1.0], (count, n, m))
    return np.where(rng.integers(2, size=(count, n, m)) == 1, np.nextafter(W, towards), W)


@kind
def two_rows_repeated(rng, count, n, m):
    """The capacity of two inputs, whatever n is; for a symmetric pair all divergences are equal."""
    pair = dirichlet(rng, count, 2, m, 1.0)
    pair[::2, 1] = pair[::2, 0, ::-1]
    return pair[:, np.arange(n) % 2]


@kind
def noiseless(rng, count, n, m):
    """A random function from inputs to outputs."""
    return np.eye(m)[rng.integers(m, size=(count, n))]


@kind
def tiny_capacity(rng, count, n, m):
    q = dirichlet(rng, count, 1, m, 1.0)
    return scaled(q * (1.0 + powers_of_ten(rng, -9, -2, (count, 1, 1)) * rng.uniform(-1, 1, (count, n, m))))


@kind
def tiny_capacity_on_a_rare_output(rng, count, n, m):
    """Every input gives output 0 but for a probability of 1e-30 ... 1e-3, as in a Z-channel."""
    W = powers_of_ten(rng, -30, -3, (count, n, m)) * rng.integers(2, size=(count, n, m))
    W[..., 0] = 1.0
    return scaled(W)


@kind
def huge_ratios(rng, count, n, m):
    """Each entry is 1, 1e-5, 1e-50 or 1e-200 times a moderate number, or zero."""
    levels = rng.choice([1.0, 1e-5, 1e-50, 1e-200, 0.0], (count, n, m))
    return scaled(levels * rng.uniform(0.5, 2.0, (count, n, m)))


@kind
def sparse_decimals(rng, count, n, m):
    """Multiples of a tenth with many zeros, as people type them: exact ties abound."""
    return scaled(np.round(dirichlet(rng, count, n, m, 0.3), 1))


@kind
def few_counts(rng, count, n, m):
    return scaled(rng.integers(4, size=(count, n, m)))


@kind
def erasures_nearly_always(rng, count, n, m):
    """The last output says nothing and comes up but for 1e-15 ... 1e-1."""
    W = noiseless(rng, count, n, m)
    kept = powers_of_ten(rng, -15, -1, (count, 1, 1))
    erased = np.eye(m)[-1]
    return scaled(kept * W + (1.0 - kept) * erased)


@kind
def geometric_chains(rng, count, n, m):
    """W(y|x) proportional to r^|x-y|, r from 1e-40 to nearly 1."""
    distance = np.abs(np.arange(n)[:, None] - np.arange(m))
    return scaled(10.0 ** (-powers_of_ten(rng, -6, 1.6, (count, 1, 1)) * distance))


@kind
def one_input_apart(rng, count, n, m):
    """All inputs alike but one, which differs by 1e-12 ... 1."""
    W = useless(rng, count, n, m)
    share = powers_of_ten(rng, -12, 0, (count, 1))
    W[:, -1] = (1.0 - share) * W[:, -1] + share * dirichlet(rng, count, 1, m, 0.1)[:, 0]
    return scaled(W)


@kind
def loose_row_sums(rng, count, n, m):
    """Sums as far from 1 as may be given without `normalize`."""
    return dirichlet(rng, count, n, m, 0.5) * (1.0 + rng.uniform(-9e-10, 9e-10, (count, n, 1)))


def divergences(W, q):
    """D(W_x || q) in nats by its definition; q holds no zero where W does not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(W > 0.0, W * np.log(W / np.maximum(q, LEAST)), 0.0).sum(axis=-1)


def rounding_nats(n, m):
    """A bound of the error of `divergences` and of the mean over inputs.

    sum_y |W log(W/q)| <= D + 2/e; each of its m terms and of the n of the mean is rounded a
    few times, and a relative error of q moves D by as much.
    """
    return (2 * n + 2 * m + 8) * np.finfo(float).eps * (1.0 + np.log(min(n, m)))


def faults(W: np.ndarray, answer: Capacities, goal: float = GOAL) -> np.ndarray:
    """Which answers are not what they promise: converged, and a bracket that `input` and `output` prove."""
    n, m = W.shape[-2:]
    W = W / W.sum(axis=-1, keepdims=True)
    P, Q = answer.input, answer.output
    with np.errstate(all="ignore"):
        good = np.all(P >= 0.0, axis=-1) & np.all(Q >= 0.0, axis=-1)
        good &= (np.abs(P.sum(axis=-1) - 1.0) <= 1e-9) & (np.abs(Q.sum(axis=-1) - 1.0) <= 1e-9)
        P, Q = P / P.sum(axis=-1, keepdims=True), Q / Q.sum(axis=-1, keepdims=True)
        D = divergences(W, P[..., None, :] @ W)
        achieved = np.where(P > 0.0, P * D, 0.0).sum(axis=-1) / np.log(2.0)
        proved = divergences(W, Q[..., None, :]).max(axis=-1) / np.log(2.0)
    slack, ceiling = rounding_nats(n, m) / np.log(2.0), np.log2(min(n, m))
    good &= (answer.lower >= 0.0) & (answer.lower <= answer.upper) & (answer.upper <= ceiling + slack)
    good &= (answer.lower <= achieved + slack) & (np.minimum(proved, ceiling) - slack <= answer.upper)
    good &= answer.converged & (answer.upper - answer.lower <= goal)
    return ~good


def count_faults(W: np.ndarray, **options) -> int:
    """How many channels of the stack are answered wrongly, not to the tolerance, or with an exception."""
    try:
        return int(faults(W, capacities(W, tol=GOAL, **options)).sum())
    except Exception:
        if len(W) == 1:
            return 1
        half = len(W) // 2
        return count_faults(W[:half], **options) + count_faults(W[half:], **options)


LONG = np.longdouble


def bounds_in_long_doubles(W, P, Q):
    """I(P; W), max_x D(W_x || Q) in bits and bounds of their errors, for P, Q and the rows divided by their sums.

    I = max_x D_x - sum_x P_x (max D - D_x) with D_x = D(W_x || PW), which rounds the sums over many inputs off by
    a share of the gap alone; dividing PW by its sum leaves its own rounding at second order.
    """
    n, m = W.shape[-2:]
    W, P, Q = (np.asarray(v, LONG) / np.asarray(v, LONG).sum(axis=-1, keepdims=True) for v in (W, P, Q))
    q = np.einsum("...x,...xy->...y", P, W)
    D = divergences(W, (q / q.sum(axis=-1, keepdims=True))[..., None, :])
    used = np.where(P > 0, D, 0)
    missing = (P * (used.max(axis=-1, keepdims=True) - used)).sum(axis=-1)
    proved = divergences(W, Q[..., None, :]).max(axis=-1)
    error = np.finfo(LONG).eps * ((4 * m + 64) * (2 + np.log2(LONG(m))) + 4 * n * missing)
    return (used.max(axis=-1) - missing) / np.log(LONG(2)), proved / np.log(LONG(2)), error


def contradicted(W, answer: Capacity) -> bool:
    """Whether the input does not achieve the lower end, or the output does not prove the upper end, in balls."""
    with ball.precision():
        achieved = ball.mutual_information(answer.input, W)
        proved = ball.largest_divergence(W, answer.output).min(ball.log2(min(W.shape)))
        return ball.surely_below(achieved, answer.lower) or ball.surely_below(answer.upper, proved)


def exclusions(W: np.ndarray, answer: Capacities) -> int:
    """How many brackets of a stack are not proved; 64-bit mantissas decide where they can, balls elsewhere."""
    with np.errstate(all="ignore"):
        achieved, proved, error = bounds_in_long_doubles(W, answer.input, answer.output)
    clear = (answer.lower == 0.0) | (answer.lower <= achieved - error)
    clear &= (answer.upper >= np.log2(min(W.shape[-2:]))) | (proved + error <= answer.upper)
    return sum(contradicted(W[c], answer.at(int(c))) for c in np.flatnonzero(~clear))


STACK_OPTIONS = ({"tol": GOAL}, {"tol": 1e-3}, {"tol": 1.0, "rtol": 1e-6})


def floor(W):
    return pseudo_capacity, {"eta": 0.3 / W.shape[1]}


def cost(W):
    return capacity, {"cost": np.arange(len(W)) % 7, "budget": 0.5}


def outside_of_balls(W: np.ndarray, way) -> bool:
    """Whether the bracket of one channel is not around the one that ball arithmetic has for the same distributions."""
    solve, options = way(W)
    quick, sure = solve(W, **options), solve(W, **options, rigorous=True)
    ceiling = np.log2(min(W.shape)) - np.log2(1.0 - options.get("eta", 0.0) * W.shape[1])
    return not (quick.lower <= sure.lower and min(sure.upper, ceiling) <= quick.upper)


def main(how_many: int, seed: int, one_in: int = 100) -> None:
    each = -(-how_many // (len(KINDS) * len(SHAPES)))
    failed, excluded, total, others, begin = Counter(), Counter(), 0, 0, time.perf_counter()
    for number, (name, make) in enumerate(KINDS.items()):
        for n, m in SHAPES + LARGE_SHAPES:
            some = max(1, 8 * each // (n * m)) if n * m > 64 else each
            W = make(np.random.default_rng([seed, number, n, m]), some, n, m)
            failed[name] += count_faults(W)
            part = W[: -(-some // one_in)]
            for channels, options in zip((W, part, part), STACK_OPTIONS, strict=True):
                excluded[name] += exclusions(channels, capacities(channels, **options))
            excluded[name] += sum(outside_of_balls(V, way) for V in part for way in (floor, cost))
            total, others = total + some, others + 4 * len(part)
    for name in KINDS:
        print(f"{failed[name]:9,} failures {excluded[name]:9,} exclusions  {name}")
    print(
        f"{sum(failed.values()):9,} failures {sum(excluded.values()):9,} exclusions in {total:,} channels by"
        f" `capacities` and {others:,} in other ways; {time.perf_counter() - begin:.0f} s"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
