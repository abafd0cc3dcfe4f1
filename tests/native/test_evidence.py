"""The kernels of `evidence` against the values that their predecessors of version 0.2.0 gave, and against misuse.

Those took logarithm and exponential from the C library; with the same ones, these give the same bits. With our own,
which differ in the last digit, a search may end a step earlier or later: it then differs by what it settles for.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bestchannel.evidence.bets import LARGEST_INPUT, LARGEST_TILT, leader_bets, rival_tilts
from bestchannel.native import evidence
from bestchannel.native import library as mathematics
from bestchannel.native.library import VARIANTS
from tests.evidence.choices import rival_bets
from tests.native.inner import kernel_exp, kernel_log

GOLDEN = json.loads((Path(__file__).parent / "evidence_of_0.2.0.json").read_text())

SETTLED = 1e-3
"""Nats at which a climb ends."""


def golden(kind):
    """What was given, as arrays and numbers, and what that gave, of every case of a kind."""
    for name, case in GOLDEN.items():
        if name.startswith(kind):
            given = [np.array(each) if isinstance(each, list) else each for each in case["given"]]
            if kind in ("climbed", "bounded"):
                given[2:5] = [np.concatenate(given[2:5], axis=1)]  # senses, tilts and outputs, as one history
            yield name, given, [np.array(each) for each in case["gives"]]


def test_what_seems_to_be_lost_is_what_it_was():
    for name, given, (lost, *_) in golden("climbed"):
        assert evidence.climbed(*given) == pytest.approx(lost, abs=SETTLED), name


def test_what_is_lost_at_most_is_what_it_was():
    for name, given, (bound,) in golden("bounded"):
        assert evidence.bounded(*given)[0] == pytest.approx(bound, abs=SETTLED), name


def test_bets_on_the_leader_are_what_they_were():
    # the root ν is found to 1e-12 of N
    for name, given, expected in golden("leader"):
        bets = leader_bets(*given)
        for found, before in zip((bets.pays, bets.price, bets.auxiliary, bets.multipliers), expected, strict=True):
            assert found == pytest.approx(before, rel=1e-9, abs=1e-9), name


def test_bets_on_a_rival_are_what_they_were():
    # tilts are found to 1e-4 of themselves, and outputs with them
    for name, given, (tilts, outputs) in golden("tilts"):
        found = rival_tilts(*given)
        assert found[0] == pytest.approx(tilts, rel=1e-3), name
        assert found[1] == pytest.approx(outputs, abs=1e-4), name


def test_bet_that_should_win_most_is_what_it_was():
    for name, (W, P, N, gap, weights, gained, worst), (size, tilts, _) in golden("choice"):
        (bet,) = rival_bets(W[None], P[None], N[None], np.array([gap]), weights[None], gained[None], False, [worst])
        assert bet.size == size, name
        assert bet.tilts == pytest.approx(tilts, rel=1e-3), name


def test_a_golden_case_changed_by_a_percent_is_noticed():
    _, (counts, *given), (lost, *_) = next(golden("climbed"))
    assert abs(evidence.climbed(1.01 * counts, *given) - lost) > SETTLED


def test_rivals_together_are_what_each_is_alone():
    cases = list(zip(*(given for _, given, _ in golden("choice-4x3")), strict=True))
    given, worst = [np.array(each) for each in cases[:-1]], cases[-1]
    for i, together in enumerate(rival_bets(*given, False, worst)):
        (bet,) = rival_bets(*(each[i : i + 1] for each in given), False, worst[i : i + 1])
        assert bet.size == together.size
        assert bet.growth == together.growth
        assert np.array_equal(bet.tilts, together.tilts)
        assert np.array_equal(bet.outputs, together.outputs)


def tried_one_by_one(leader, rival, gap, worst, epsilon, largest):
    """Weight, growth, variance and the bets of the best of four weights, by the kernels that `wagers` is made of."""
    (W_b, P_b, D_b, N_b), (W, P, D, N) = leader, rival
    variance = ((P_b * D_b) ** 2 / N_b).sum() + ((P * D) ** 2 / N).sum()
    weights = min(gap / max(variance, 1e-12), largest * N.min()) * np.array([1.0, 0.75, 0.5, 0.25])
    bets = leader_bets(W_b, P_b, N_b, weights)
    gained = bets.settled(N_b[:, None] * W_b) + weights * epsilon
    own = (weighted := P_b[:, None] * W_b) * mathematics.log(W_b / weighted.sum(axis=0))
    shown = 2.0 * (weights * (own.sum() + epsilon) - gained) / weights**2
    given = W[None], P[None], N[None], np.array([gap]), weights[None], gained[None]
    (bet,) = rival_bets(*given, False, [worst])
    i = bet.size
    return [weights[i], bet.growth, shown[i]], [bet.tilts, bet.outputs, bets.pays[i], bets.auxiliary[i]]


@pytest.mark.parametrize("size", [(2, 2), (4, 3), (8, 8), (12, 12)], ids=str)
def test_bets_of_a_request_are_to_the_bit_those_of_weights_tried_one_by_one(size):
    # 144 cells are more than NumPy adds without halving
    rng, (n, m) = np.random.default_rng(size), size
    W, P, N = rng.dirichlet(np.ones(m), (3, n)), rng.dirichlet(np.full(n, 9.0), 3), rng.integers(5, 90, (3, n)) * 1.0
    D, b = rng.uniform(0.1, 1.0, (3, n)), 2
    leader, worst = (W[b], P[b], D[b], N[b]), np.full(n, 1.0 / n)
    addresses = [evidence.floats(worst, n), 0]
    found = evidence.wagers(
        leader, (W, P, D), [1, 0], N[[1, 0]], [0.3, 0.2], addresses, 0.01, 0.5, LARGEST_INPUT, LARGEST_TILT
    )
    for c, (a, gap, known) in enumerate([(1, 0.3, worst), (0, 0.2, None)]):
        numbers, arrays = tried_one_by_one(leader, (W[a], P[a], D[a], N[a]), gap, known, 0.01, 0.5)
        assert found.numbers[c].tolist() == numbers
        for ours, theirs in zip((found.tilts, found.outputs, found.pays, found.auxiliary), arrays, strict=True):
            assert np.array_equal(ours[c], theirs)


def test_cases_of_leader_bets_together_are_what_each_is_alone():
    cases = [given for name, given, _ in golden("leader-2x5")]
    W, P, N = (np.array(each) for each in list(zip(*cases, strict=True))[:3])
    together = leader_bets(W, P, N, np.array([3.0, 5.0]))
    for i, (W_i, P_i, N_i, weight) in enumerate(zip(W, P, N, (3.0, 5.0), strict=True)):
        alone = leader_bets(W_i, P_i, N_i, np.array([weight]))
        assert np.array_equal(alone.pays[0], together.pays[i])
        assert alone.price[0] == together.price[i]
        counts = np.full(W_i.shape, 2.0)
        assert alone.settled(counts)[0] == together.settled(np.stack([counts, counts]))[i]


def test_bets_of_weight_0_have_tilt_0_and_a_proper_output():
    # a part of a recording without a sense
    W, P = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])
    tilts, Q = rival_tilts(np.stack([W, W]), np.stack([P, P]), np.zeros((2, 2)), np.zeros(2))
    assert np.array_equal(tilts, np.zeros((2, 2)))
    assert Q.sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-12)


def test_bounds_of_counts_that_are_no_numbers_are_never_finite_and_small():
    _, (counts, *given), _ = next(golden("bounded"))
    bound = evidence.bounded(np.full_like(counts, np.nan), *given)[0]
    assert not bound <= given[-2]


def test_arrays_of_the_wrong_size_are_refused_before_a_pointer_is_used():
    _, given, _ = next(golden("bounded"))
    for place in (0, 1, 5, 6, 7):  # counts, charged, P, log W, log R
        wrong = list(given)
        wrong[place] = wrong[place][:-1].copy()
        with pytest.raises((TypeError, ValueError), match=r"shape|dimension"):
            evidence.bounded(*wrong)


def test_an_input_above_the_largest_is_never_met():
    for _, given, (_, P, *_) in golden("climbed"):
        if given[-1] > 0.0:
            evidence.climbed(*given)
            assert given[5].max() <= LARGEST_INPUT + 1e-9
            assert given[5] == pytest.approx(P, abs=0.05)


def test_quick_logarithm_and_exponential_are_right_to_two_units_in_the_last_place():
    # those of mathematics.h are right to 0.6
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-700, 700, 20_000), rng.normal(0, 1, 20_000), 10 ** rng.uniform(-20, 0, 20_000)])
    for quick, exact, at in ((kernel_exp, mathematics.exp, x), (kernel_log, mathematics.log, mathematics.exp(x))):
        found, true = quick(at), exact(at)
        assert np.all(np.abs(found - true) <= 2.0 * np.spacing(np.abs(true)))


def test_quick_logarithm_and_exponential_at_the_ends():
    infinite = np.array([-np.inf, np.inf, np.nan, 0.0, -1e9, 1e9])
    assert kernel_exp(infinite).tolist()[:2] == [0.0, np.inf]
    assert kernel_exp(infinite)[3:].tolist() == [1.0, 0.0, np.inf]
    assert np.isnan(kernel_exp(infinite)[2])
    found = kernel_log(np.array([0.0, np.inf, 1.0, -1.0, np.nan]))
    assert found[:3].tolist() == [-np.inf, np.inf, 0.0]
    assert np.isnan(found[3:]).all()


def all_bits():
    """A digest of everything that the kernels give for the golden cases."""
    digest = hashlib.sha256()
    for _, given, _ in golden("climbed"):
        digest.update(np.array(evidence.climbed(*given)).tobytes() + b"".join(each.tobytes() for each in given[5:8]))
    for _, given, _ in golden("bounded"):
        digest.update(np.array(evidence.bounded(*given)[0]).tobytes())
    for _, given, _ in golden("leader"):
        bets = leader_bets(*given)
        digest.update(b"".join(each.tobytes() for each in (bets.pays, bets.price, bets.auxiliary, bets.multipliers)))
    for _, given, _ in golden("tilts"):
        digest.update(b"".join(each.tobytes() for each in rival_tilts(*given)))
    return digest.hexdigest()


def test_every_width_of_vectors_gives_the_same_bits():
    script = "from tests.native.test_evidence import all_bits; print(all_bits())"
    found = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "BESTCHANNEL_VECTORS": variant},
            cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
        ).stdout
        for variant in VARIANTS
    }  # fmt: skip
    assert found == {f"{all_bits()}\n"}
