"""Logarithm and exponential against ball arithmetic of 200 bits, and the same bits in every variant."""

import os
import subprocess
import sys

import flint
import numpy as np
import pytest

from bestchannel.native import library
from bestchannel.native import library as mathematics

COUNT = 4000


def anywhere(rng):
    """Positive numbers of every binary order, the smallest below the normal ones."""
    return rng.integers(1, 2047 << 52, COUNT).astype(np.uint64).view(np.float64)


def near(rng, where):
    """Numbers around one, as near as 1e-15."""
    return where + (rng.random(COUNT) - 0.5) * 10.0 ** (-15 * rng.random(COUNT))


def errors_in_ulp(x, computed, exact):
    """|computed - exact| in units in the last place of the exact value."""
    flint.ctx.prec = 200
    for one, value in zip(x.tolist(), computed.tolist(), strict=True):
        true = exact(flint.arb(one))
        yield abs(float((flint.arb(value) - true) / np.spacing(abs(float(true)))))


ARGUMENTS = {
    "log anywhere": ("log", anywhere, 0.6),
    "log near 1": ("log", lambda rng: near(rng, 1.0), 0.6),
    "log of two binary orders": ("log", lambda rng: 0.5 + 1.5 * rng.random(COUNT), 0.6),
    "quick_log near 1": ("quick_log", lambda rng: near(rng, 1.0), 2.0),
    "quick_log of probabilities": ("quick_log", lambda rng: rng.random(COUNT) + 1e-300, 2.0),
    "log1p anywhere": ("log1p", anywhere, 0.6),
    "log1p near 0": ("log1p", lambda rng: near(rng, 0.0), 0.6),
    "log1p near -1": ("log1p", lambda rng: -1.0 + 10.0 ** (-16 * rng.random(COUNT)), 0.6),
    "log1p of changes": ("log1p", lambda rng: 2.0 * rng.random(COUNT) - 0.999, 0.6),
    "exp where it is normal": ("exp", lambda rng: -708.0 + 1417.0 * rng.random(COUNT), 0.6),
    "exp near 0": ("exp", lambda rng: near(rng, 0.0), 0.6),
    "exp of differences": ("exp", lambda rng: 4.0 * rng.random(COUNT) - 3.0, 0.6),
    "exp below the normal numbers": ("exp", lambda rng: -708.4 - 36.0 * rng.random(COUNT), 1.0),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_no_error_exceeds_the_stated_one(case):
    name, draw, bound = ARGUMENTS[case]
    x = draw(np.random.default_rng(7))
    exact = {"quick_log": "log"}.get(name, name)
    assert max(errors_in_ulp(x, getattr(mathematics, name)(x), lambda ball: getattr(ball, exact)())) <= bound


def test_the_ends_of_the_line_are_those_of_ieee_754():
    ends = np.array([0.0, -0.0, -1.0, -2.0, 5e-324, np.inf, -np.inf, np.nan, 1.0, 710.0, -746.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(mathematics.log(ends), np.log(ends))
        np.testing.assert_array_equal(mathematics.log1p(ends), np.log1p(ends))
        np.testing.assert_array_equal(
            mathematics.exp(ends[[0, 1, 5, 6, 7, 9, 10]]), [1, 1, np.inf, 0, np.nan, np.inf, 0]
        )


def test_psi_is_its_definition_without_cancellation():
    u = np.concatenate([near(np.random.default_rng(3), 0.0), [-1.0, -0.5, 0.02, -0.02, 3.0, 1e9]])
    flint.ctx.prec = 200
    exact = [float((1 + flint.arb(t)) * flint.arb(t).log1p() - flint.arb(t)) if t > -1.0 else 1.0 for t in u.tolist()]
    np.testing.assert_allclose(mathematics.psi(u), exact, rtol=1e-12, atol=0.0)


PROGRAM = """
import hashlib, numpy as np
from bestchannel.native import library, library as m
bits = np.random.default_rng(1).integers(0, 2**63, 200_001).astype(np.uint64).view(np.float64)
x = np.concatenate([bits, np.random.default_rng(2).random(100_003)])
digest = hashlib.sha256()
for y in (m.log(x), m.log1p(x), m.log1p(-x), m.exp(x), m.exp(-x), m.quick_log(abs(x[-100_003:]) + 1e-300), m.psi(x)):
    digest.update(np.where(np.isnan(y), 0.0, y).tobytes())
print(library.VARIANT, digest.hexdigest())
"""


def test_every_variant_gives_the_same_bits():
    answers = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "BESTCHANNEL_VECTORS": variant},
            capture_output=True, text=True, check=True,
        ).stdout.split()
        for variant in library.VARIANTS
    ]  # fmt: skip
    assert answers[0][0] == "baseline"
    assert len({digest for _, digest in answers}) == 1, answers
