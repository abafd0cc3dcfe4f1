"""Information quantities in ball arithmetic (Arb): each value comes with a proved bound of its error.

Written from the definitions, apart from the library, and precise enough for entries of
5e-324: 1 + 5e-324 needs 1,075 bits, and 2,400 leave as many for the differences.
"""

import contextlib

import flint

BITS = 2400


@contextlib.contextmanager
def precision(bits=BITS):
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def exact(values):
    """A vector or matrix of doubles as balls of radius zero."""
    return [exact(v) if hasattr(v, "__len__") else flint.arb(float(v)) for v in values]


def scaled(values):
    total = sum(values)
    return [v / total for v in values]


def log2(x):
    return flint.arb(x).log() / flint.arb(2).log()


def plogp(p):
    """p log2 p, and 0 at 0."""
    return flint.arb(0) if p == 0 else p * log2(p)


def entropy(P):
    return -sum((plogp(p) for p in P), start=flint.arb(0))


def binary_entropy(p):
    return entropy([flint.arb(p), 1 - flint.arb(p)])


def divergence(row, Q):
    """D(row || Q) in bits, infinite where Q lacks what the row has."""
    total = flint.arb(0)
    for w, q in zip(row, Q, strict=True):
        if w != 0:
            if q == 0:
                return flint.arb("inf")
            total += w * log2(w / q)
    return total


def rows_of(W):
    """The channel that an array of doubles stands for: each row divided by its sum."""
    return [scaled(row) for row in exact(W)]


def mutual_information(P, W):
    """I(P; W) in bits for P / sum(P) and the rows of W / their sums."""
    P, rows = scaled(exact(P)), rows_of(W)
    q = [sum((p * row[y] for p, row in zip(P, rows, strict=True)), start=flint.arb(0)) for y in range(len(rows[0]))]
    return sum((p * divergence(row, q) for p, row in zip(P, rows, strict=True) if p != 0), start=flint.arb(0))


def largest_divergence(W, Q):
    """max_x D(W_x || Q / sum(Q)) in bits."""
    Q = scaled(exact(Q))
    top, *others = [divergence(row, Q) for row in rows_of(W)]
    for D in others:
        top = top.max(D)
    return top


def surely_below(a, b):
    """Whether a < b for certain; a double or a ball each."""
    return bool(flint.arb(a) < flint.arb(b))
