"""Calls of every kernel with numbers that nobody would send: `python -m tests.native.fuzz [CALLS [SEED]]`.

Sizes from 0 on, and huge ones; zeros, NaN, infinities, denormals and numbers of every order. A kernel may answer what it likes, but
must come back, and, in a library that looks for faults (`sanitized`), without a finding; where a size is refused, it is
refused as an error of Python.
"""

import sys
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np

from bestchannel.native import capacity, evidence, lower_bound, pairs
from bestchannel.native import library as mathematics
from bestchannel.native.scan import ODD, Scan
from tests.native import inner

HOSTILE = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 5e-324, 2.2e-308, 1e-300, 1e300, 1.7e308])
REFUSALS = (TypeError, ValueError, IndexError, MemoryError, ZeroDivisionError)


def numbers(rng, *shape):
    """Numbers of some kind: of probabilities, hostile ones, a few hostile ones among probabilities, or any bits."""
    kind = rng.integers(4)
    values = rng.random(shape)
    if kind == 1:
        values = rng.choice(HOSTILE, shape)
    elif kind == 2:
        values = np.where(rng.random(shape) < 0.1, rng.choice(HOSTILE, shape), values)
    elif kind == 3:
        values = rng.integers(0, 2**63, shape).astype(np.uint64).view(np.float64)
    return np.ascontiguousarray(values)


def rows(rng, *shape):
    """Rows that sum to 1 more often than not."""
    W = rng.random(shape) ** rng.integers(1, 40)
    with np.errstate(all="ignore"):
        W = W / W.sum(axis=-1, keepdims=True)
    return np.ascontiguousarray(W) if rng.random() < 0.6 else numbers(rng, *shape)


def size(rng):
    return int(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]))


def lanes(rng):
    count, n, m = size(rng), size(rng), size(rng)
    answers = [np.zeros(count), np.zeros(count), np.zeros((count, n)), np.zeros((count, m)), np.zeros(count, np.uint8)]
    tol, rtol = float(rng.choice([1e-10, 0.0, np.nan, 1.0])), float(rng.choice([1.0, 1e-6, 0.0, np.nan]))
    width, first = int(rng.choice([8, 32])), int(rng.integers(0, count + 1))
    capacity.solve_in_lanes(rows(rng, count, n, m), first, count, width, tol, rtol, rng.random() < 0.3, *answers)


def single(rng):
    n, m = size(rng), size(rng)
    capacity.interior_point(rows(rng, n, m), numbers(rng, n), rows(rng, n), float(rng.choice([1e-10, 0.0, np.nan])))


def climb(rng):
    n, m = size(rng), size(rng)
    capacity.climb(rows(rng, n, m), numbers(rng, n), rows(rng, n), int(rng.integers(-1, 9)))


def certificate(rng):
    count, n, m = size(rng), size(rng), size(rng)
    W = rows(rng, count, n, m)
    capacity.certified_divergences(W, capacity.neg_entropies(W), capacity.outputs(W, rows(rng, count, n)))


def functions(rng):
    x = numbers(rng, size(rng))
    for function in (mathematics.log, mathematics.log1p, mathematics.exp, mathematics.psi, mathematics.quick_log):
        function(x)


def few(rng):
    return int(rng.choice([0, 1, 2, 2, 3, 5, 9]))


def boxes(rng):
    """Of a few boxes, mostly; and of more than there can be."""
    return (
        int(rng.integers(0, 6))
        if rng.random() < 0.95
        else int(rng.choice([-(2**63), -1, 2**45, 2**58, 2**62, 2**63 - 1]))
    )


def number(rng):
    return float(numbers(rng, 1)[0])


def leader_bets(rng):
    cases, r, n, m = (few(rng) for _ in range(4))
    pays, V = np.empty((cases * r, n, m)), np.empty((cases * r, n, m))
    given = rows(rng, cases, n, m), rows(rng, cases, n), numbers(rng, cases, n), numbers(rng, cases * r)
    evidence.leader_bets(*given, pays, np.empty(cases * r), V, np.empty((cases * r, n)))


def tilts(rng):
    cases, n, m = (few(rng) for _ in range(3))
    fixed = bool(rng.integers(2))
    evidence.tilts(rows(rng, cases, n, m), rows(rng, cases, n), numbers(rng, cases, n), numbers(rng, cases), 1.0, fixed)


def choices(rng):
    cases, r, n, m = (few(rng) for _ in range(4))
    rivals = rows(rng, cases, n, m), rows(rng, cases, n), numbers(rng, cases, n), numbers(rng, cases)
    known = rng.integers(0, 2, cases)
    inner.choices(*rivals, numbers(rng, cases, r), numbers(rng, cases, r), rows(rng, cases, n), known, number(rng), 1.0)


def wagers(rng):
    cases, alike, n_b, m_b, n, m = (few(rng) for _ in range(6))
    leader = rows(rng, n_b, m_b), rows(rng, n_b), numbers(rng, n_b), numbers(rng, n_b)
    rivals = rows(rng, alike, n, m), rows(rng, alike, n), numbers(rng, alike, n)
    places, worst = rng.integers(0, max(alike, 1) + (rng.random() < 0.1), cases).tolist(), rows(rng, n)
    known = [evidence.floats(worst, n) * int(rng.integers(0, 2)) for _ in places]
    limits = (number(rng) for _ in range(4))
    evidence.wagers(leader, rivals, places, numbers(rng, cases, n), numbers(rng, cases).tolist(), known, *limits)


def bets_made(rng):
    requests, n, m = (few(rng) for _ in range(3))
    history = np.concatenate((numbers(rng, requests, 2 * n), rows(rng, requests, m)), axis=1)
    bets = numbers(rng, n, m), numbers(rng, n), history, number(rng), int(rng.integers(0, 4))
    return *bets, rows(rng, n), numbers(rng, n, m), numbers(rng, m)


def climbed(rng):
    evidence.climbed(*bets_made(rng), number(rng))


def bounded(rng):
    evidence.bounded(*bets_made(rng), number(rng), number(rng), boxes(rng))


def side(rng):
    n, m = few(rng), few(rng)
    return lower_bound.Side(rows(rng, n, m), numbers(rng, n), number(rng))


def certify(rng):
    leader, rival = side(rng), side(rng)
    prices = np.sort(np.abs(numbers(rng, few(rng))))
    curve = lower_bound.Curve.of(leader, prices, rows(rng, *leader.a.shape), rows(rng, len(leader.w)), 4, 1e-6)
    guess = number(rng), rows(rng, rival.a.shape[1]), number(rng)
    lower_bound.certify(rival, curve, boxes(rng), *guess, rng.random() < 0.5)
    inner.phi_at(curve, number(rng))


def pair(rng):
    leader, rival = side(rng), side(rng)
    at = [rows(rng, *shape) for each in (leader, rival) for shape in (each.a.shape, each.w.shape)]
    lower_bound.search_pair(leader, rival, number(rng), *at, 5, 1e-6)


def letters(rng):
    """What was bet on the answers of two channels, with as many terms for a letter as fill up lanes, and a place."""
    n, m = few(rng), few(rng)
    first = pairs.LANES * np.cumsum([0, *rng.integers(0, 3, n * m)])
    k = int(first[-1])
    if rng.random() < 0.02:
        first = first + rng.choice([-8, 1, 8, 2**62], len(first))
    kind = (lambda *shape: np.abs(rng.normal(size=shape)) + 0.1) if rng.random() < 0.5 else lambda *s: numbers(rng, *s)
    terms = pairs.Terms(first, *(kind(k) for _ in range(4)), kind(m), kind(n), kind(n), number(rng))
    with np.errstate(all="ignore"):
        return terms, (rows(rng, n), np.log(rows(rng, n, m)), np.log(rows(rng, m)))


def pairs_climbed(rng):
    pairs.climbed(*letters(rng), number(rng))


def pairs_bounded(rng):
    terms, at = letters(rng)
    ends = np.sort(numbers(rng, few(rng), 2, len(terms.level)), axis=1)
    pairs.bounded(terms, at, ends, number(rng), len(ends) + boxes(rng))


def pairs_row(rng):
    terms, (_, log_W, log_R) = letters(rng)
    x = int(rng.integers(-1, len(log_W) + 1))
    pairs.row(terms, x, number(rng), log_R, log_W[x] if 0 <= x < len(log_W) else log_R)


def rows_of_bounds(rng):
    """The minimisations inside the kernels, which are right for finite numbers alone."""
    m, e = few(rng), few(rng)
    a, h, low, high, v = (numbers(rng, m) for _ in range(5))
    inner.tilted_row(a, number(rng), h, v)
    inner.divergence_sum_row(a, number(rng), number(rng), h, v)
    if m:
        inner.divergence_difference_row(a, number(rng), number(rng), h, low, high, v, number(rng))
    logs = numbers(rng, e, m), number(rng), numbers(rng, m), numbers(rng, m)
    inner.row_bound(a, numbers(rng, e), numbers(rng, e), *logs, number(rng))
    n, r = few(rng), few(rng)
    inner.merged(few(rng) + 1, n, m, numbers(rng, r, 2 * n + m))


def view(rng):
    cases, n, m = (few(rng) for _ in range(3))
    counts = rng.integers(0, 2**40, (cases, n, m))
    places = rng.permutation(cases)[: few(rng)].tolist()
    W, senses = evidence.smoothed_rows(counts, places, numbers(rng, few(rng)))
    cases = len(places)
    evidence.estimates(W, rows(rng, cases, n), senses, numbers(rng, cases, n), (number(rng), number(rng)))


def fewest(rng):
    k = few(rng)
    evidence.fewest_senses(*(numbers(rng, k) for _ in range(4)), numbers(rng, few(rng)), number(rng), number(rng))


def settle(rng):
    cases, n, m = (few(rng) for _ in range(3))
    accounts = [(numbers(rng, n, m), numbers(rng, n), numbers(rng, 8, 2 * n + m), np.zeros(n), np.zeros((n, m)), np.zeros(m))
                for _ in range(cases)]  # fmt: skip
    at = [evidence.addresses(*account) for account in accounts]
    made = numbers(rng, cases, n), rows(rng, cases, m), numbers(rng, cases, n, m)
    evidence.settle(at, rng.integers(0, 8, cases).tolist(), *made)


def scan(rng):
    width = int(rng.integers(1, 5))
    count = width - 1 if width > 1 and rng.random() < 0.5 else None
    quote = '"' if rng.random() < 0.5 else ""
    form = SimpleNamespace(width=width, key=tuple(range(max(1, width - 1))), count=count, delimiter=",", quote=quote)
    text = rng.choice(np.frombuffer(b'ab01,,,"" .\n\r\xff', np.uint8), few(rng) * 20)
    scanner, start = Scan(form), 0
    for _ in range(5):
        _, _, stop, why = scanner(text, start, rng.random() < 0.5)
        start = min(stop + (why == ODD), len(text))


CALLS = (lanes, single, climb, certificate, functions, leader_bets, tilts, choices, wagers, climbed, bounded, certify, pair,
         pairs_climbed, pairs_bounded, pairs_row, rows_of_bounds, view, fewest, settle, scan)  # fmt: skip


def main(calls=20_000, seed=1) -> None:
    made, refused, started = Counter(), Counter(), time.monotonic()
    for i in range(calls):
        rng = np.random.default_rng([seed, i])
        call = CALLS[i % len(CALLS)]
        made[call.__name__] += 1
        try:
            call(rng)
        except REFUSALS:
            refused[call.__name__] += 1
    assert all(refused[name] < made[name] for name in made if made[name] > 100), refused  # else nothing was tried
    print(", ".join(f"{name} {made[name]:,} ({refused[name]:,} refused)" for name in made))
    print(f"{sum(made.values()):,} calls, every one came back; {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
