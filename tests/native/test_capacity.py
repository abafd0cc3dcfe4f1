"""The interior point in lanes: the bits that it always had, whatever the machine, the vectors and the neighbours."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import flint
import numpy as np
import pytest

from bestchannel.native import capacity as native
from bestchannel.native import library

GOLDEN = Path(__file__).parent / "golden_capacities.json"
"""SHA-256 of the answers for `channels`, taken when two compilers, LLVM and GCC, agreed on every bit."""

SHAPES = [(1, 1), (2, 2), (3, 3), (2, 5), (4, 4), (5, 3), (8, 8), (8, 3), (16, 16), (17, 30), (32, 20)]


def channels(n, m, count=200):
    """Rows that are exact in binary, the same on every machine: steps between sorted whole numbers, some of them 0."""
    rng = np.random.default_rng([n, m])
    cuts = np.sort(rng.integers(0, 2**20, (count, n, m - 1)), axis=-1)
    cuts[::3] = cuts[::3] >> 14 << 14  # coarse: zeros and ties
    ends = np.concatenate([np.zeros((count, n, 1), int), cuts, np.full((count, n, 1), 2**20)], axis=-1)
    return np.ascontiguousarray(np.diff(ends, axis=-1) / 2.0**20)


def solved(stack, lanes=native.MANY_LANES, tol=1e-10, rtol=1.0, normalize=False):
    """Lower, upper, inputs, outputs and status; what was not solved is set to 0, since it is solved anew."""
    count, n, m = stack.shape
    answers = [np.zeros(count), np.zeros(count), np.zeros((count, n)), np.zeros((count, m)), np.zeros(count, np.uint8)]
    native.solve_in_lanes(stack, 0, count, lanes, tol, rtol, normalize, *answers)
    for values in answers[:4]:
        values[answers[4] != native.OK] = 0.0
    return answers


def digest(answers):
    return hashlib.sha256(b"".join(values.tobytes() for values in answers)).hexdigest()


@pytest.mark.parametrize("lanes", [native.FEW_LANES, native.MANY_LANES])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_answers_are_those_of_version_0_2_to_the_bit(shape, lanes):
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert digest(solved(channels(*shape), lanes)) == golden["{}x{}".format(*shape)]


PROGRAM = """
import tests.native.test_capacity as here
from bestchannel.native import library, capacity as native
import numpy as np
shapes = [(2, 2), (4, 4), (8, 3), (17, 30)]
print(library.VARIANT, *(here.digest(here.solved(here.channels(*shape), rtol=1e-6)) for shape in shapes))
W = here.channels(70, 40, 1)[0]
h, excess = native.neg_entropies(W)
p, D = native.climb(W, h, np.full(70, 1 / 70), 12)
print(here.digest([h, excess, p, D, native.interior_point(W, h, p, 1e-11)]))
print(here.digest([native.outputs(W, p), native.certified_divergences(W, (h, excess), native.outputs(W, p))]))
"""


def test_every_variant_gives_the_same_bits():
    answers = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "BESTCHANNEL_VECTORS": variant, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True, text=True, check=True,
        ).stdout.split()
        for variant in library.VARIANTS
    ]  # fmt: skip
    assert answers[0][0] == "baseline"
    assert len({tuple(rest) for _, *rest in answers}) == 1, answers


def test_refused_channels_are_told_from_those_that_are_solved():
    stack = np.array(
        [[[0.5, 0.5], [0.2, 0.8]], [[0.5, 0.6], [1.0, 0.0]], [[-0.5, 1.5], [1.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]],
         [[np.nan, 0.5], [1.0, 0.0]], [[np.inf, 0.5], [1.0, 0.0]]]
    )  # fmt: skip
    bad_sum, bad_entry = native.BAD_SUM, native.BAD_ENTRY
    assert solved(stack)[4].tolist() == [native.OK, bad_sum, bad_entry, bad_sum, bad_sum, bad_sum]
    assert solved(stack, normalize=True)[4].tolist() == [native.OK, native.OK, bad_entry, bad_sum, bad_sum, bad_entry]


def test_sizes_that_do_not_fit_are_refused_before_a_pointer_is_used():
    W, p = np.full((3, 2, 2), 0.5), np.full(2, 0.5)
    answers = [np.zeros(3), np.zeros(3), np.zeros((3, 2)), np.zeros((3, 2)), np.zeros(2, np.uint8)]
    with pytest.raises(TypeError, match="uint8 of shape"):
        native.solve_in_lanes(W, 0, 3, 8, 1e-10, 1.0, False, *answers)
    with pytest.raises(IndexError, match="channels 0 to 4 of 3"):
        native.solve_in_lanes(W, 0, 4, 8, 1e-10, 1.0, False, *answers)
    with pytest.raises(ValueError, match="does not take these sizes"):
        native.solve_in_lanes(W, 0, 3, 9, 1e-10, 1.0, False, *answers[:-1], np.zeros(3, np.uint8))
    with pytest.raises(TypeError, match="float64 of shape"):
        native.outputs(W[0], np.full(3, 0.5))
    with pytest.raises(TypeError, match="float64 of shape"):
        native.climb(W[0], p[:1], p, 2)
    with pytest.raises(ValueError, match="sizes of at least 1"):
        native.climb(W[0][:0], p[:0], p[:0], 2)


@pytest.mark.parametrize("shape", [(3, 3), (20, 200), (300, 20), (5, 5000)], ids=str)
def test_the_parts_of_a_certificate_are_wrong_by_no_more_than_their_stated_error(shape):
    n, m = shape
    rng = np.random.default_rng(5)
    W = rng.dirichlet(np.full(m, 0.1), size=n)
    W /= W.sum(axis=1, keepdims=True)
    p = rng.dirichlet(np.ones(n))
    Q = native.outputs(W, p)
    entropies = native.neg_entropies(W)
    D = native.certified_divergences(W, entropies, Q)
    flint.ctx.prec = 200
    balls = [[flint.arb(w) for w in row] for row in W.tolist()]
    exact_Q = [sum(flint.arb(a) * row[y] for a, row in zip(p.tolist(), balls, strict=True)) for y in range(m)]
    eps = np.finfo(float).eps
    assert all(abs(float(q - e)) <= eps * float(e) for q, e in zip(Q.tolist(), exact_Q, strict=True))
    logs = [flint.arb(q).log() for q in Q.tolist()]
    for x, row in enumerate(balls[:20]):
        total = sum(row, flint.arb(0))
        exact = (
            sum((w * ((w / total).log() - l) for w, l in zip(row, logs, strict=True) if w > 0), flint.arb(0)) / total
        )
        bound = eps * (4.6 * np.log(m) + 2.1 * abs(D[x]) + 2.0)
        assert abs(float(exact - flint.arb(D[x]))) <= bound
