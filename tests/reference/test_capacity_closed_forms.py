"""Capacities with a closed form, evaluated in ball arithmetic for the very doubles that are given.

A matrix of doubles stands for the channel whose rows are the doubles divided by their exact
sum; the parameter of the closed form is read from those, so that no rounding of 1-p stands
between the formula and the bracket, and no tolerance is needed.
"""

import itertools

import flint
import numpy as np
import pytest

import bestchannel as bc
from bestchannel import channels
from tests.reference import ball
from tests.reference.ball import binary_entropy, entropy, log2

arb = flint.arb

SPECIAL = [0.0, 5e-324, 1e-300, 1e-100, 1e-20, 1e-16, 1e-9, 1e-3, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1 - 1e-9, 1 - 2**-53, 1.0]
PROBABILITIES = [*SPECIAL, *np.random.default_rng(1).random(40), *(0.5 + 10.0 ** -np.arange(2, 16))]


def of_bsc(rows):
    """1 - h(p) [CT06, eq. (7.5)]."""
    return 1 - binary_entropy(rows[0][1])


def of_bec(rows):
    """1 - e [CT06, eq. (7.15)]."""
    return 1 - rows[0][1]


def of_binary(rows):
    """For P(1|0) = a and P(1|1) = b: (a h(b) - b h(a)) / (b - a) + log2(1 + 2^((h(a) - h(b)) / (b - a))).

    [Ash65, eq. (3.3.5) specialised to two inputs: the inverse of the matrix times its row entropies].
    """
    a, b = rows[0][1], rows[1][1]
    if a == b or (b - a).contains(0):
        return arb(0)
    ha, hb = entropy(rows[0]), entropy(rows[1])
    return (a * hb - b * ha) / (b - a) + log2(1 + arb(2) ** ((ha - hb) / (b - a)))


def of_z(rows):
    """log2(1 + (1-q) q^(q/(1-q))) [CT06, problem 7.8 for q = 1/2: log2(5/4)]."""
    q = rows[1][0]
    if q == 0:
        return arb(1)
    if q == 1:
        return arb(0)
    return log2(1 + (1 - q) * (q / (1 - q) * q.log()).exp())


def of_symmetric(rows):
    """log2 of the number of outputs minus the entropy of a row [CT06, Th. 7.2.1]."""
    return log2(len(rows[0])) - entropy(rows[0])


def of_uniform_input(rows):
    """I(P; W) at the uniform P, which is optimal where a group that acts transitively on the inputs permutes outputs.

    [Gal68, Th. 4.5.2].
    """
    n = len(rows)
    q = [sum(row[y] for row in rows) / n for y in range(len(rows[0]))]
    return entropy(q) - sum(entropy(row) for row in rows) / n


def zero(rows):
    return arb(0)


def of_noiseless(rows):
    """log2 of the number of outputs that occur."""
    return log2(sum(any(row[y] == 1 for row in rows) for y in range(len(rows[0]))))


def cases():
    for p in PROBABILITIES:
        yield "BSC", channels.bsc(p).W, of_bsc
        yield "BSC as binary asymmetric", channels.bsc(p).W, of_binary
        yield "BEC", channels.bec(p).W, of_bec
        yield "Z", channels.z_channel(p).W, of_z
        yield "Z as binary asymmetric", channels.z_channel(p).W, of_binary
    for a, b in [*itertools.product(SPECIAL[::2], SPECIAL[1::2]), *np.random.default_rng(2).random((60, 2))]:
        yield "binary asymmetric", channels.binary_asymmetric(a, b).W, of_binary
    for q, p in itertools.product([2, 3, 5, 8, 26], PROBABILITIES[::3]):
        yield "q-ary symmetric", channels.q_ary_symmetric(q, p).W, of_symmetric
        yield "typewriter", channels.noisy_typewriter(q, p).W, of_symmetric
    # Rows permute one another and columns sum alike; the columns are no permutations: weakly symmetric, not symmetric.
    for weights in np.random.default_rng(3).integers(0, 2**20, (20, 2)) / 2.0**21:
        a, c = weights
        yield "weakly symmetric", np.array([[a, 0.5 - a, c, 0.5 - c], [0.5 - a, a, 0.5 - c, c]]), of_symmetric
    # [CT06, section 7.2], its example of a weakly symmetric channel; in doubles the column sums differ by 2^-54
    yield "Cover and Thomas", np.array([[1 / 3, 1 / 6, 1 / 2], [1 / 3, 1 / 2, 1 / 6]]), of_uniform_input
    for row in np.random.default_rng(4).dirichlet(np.full(5, 0.4), 20):
        circulant = np.array([np.roll(row, shift) for shift in range(5)])
        yield "circulant", circulant, of_uniform_input
        yield "circulant with an erasure", np.hstack([0.75 * circulant, np.full((5, 1), 0.25)]), of_uniform_input
    for n in (1, 2, 3, 5, 6, 7, 24, 25, 40):
        yield "noiseless", np.eye(n), of_noiseless
        yield "noiseless, inputs shared", np.eye(n)[np.arange(2 * n) % n], of_noiseless
        yield "noiseless, outputs unused", np.eye(n, n + 3), of_noiseless
        yield "useless", np.tile(np.arange(1.0, n + 1) / (n * (n + 1) / 2), (3, 1)), zero
        yield "useless, one output", np.ones((n, 1)), zero
        yield "useless, one input", np.full((1, n), 1 / n), zero


CASES: dict[str, list] = {}
for kind, W, formula in cases():
    CASES.setdefault(kind, []).append((W, formula))


def truths(kind):
    with ball.precision():
        return [(W, formula(ball.rows_of(W))) for W, formula in CASES[kind]]


def holds(answer, truth):
    with ball.precision():
        return not (ball.surely_below(truth, answer.lower) or ball.surely_below(answer.upper, truth))


def wrong(kind, **options):
    """The channels of a kind whose bracket misses the closed form or is not narrow enough."""
    answers = [(W, truth, bc.capacity(W, **options)) for W, truth in truths(kind)]
    return [(W.tolist(), str(truth), a) for W, truth, a in answers if not (a.converged and holds(a, truth))]


@pytest.mark.parametrize("kind", CASES)
def test_bracket_contains_the_closed_form(kind):
    assert wrong(kind) == []


@pytest.mark.parametrize("kind", CASES)
def test_rigorous_bracket_contains_the_closed_form(kind):
    assert wrong(kind, rigorous=True) == []


@pytest.mark.parametrize("kind", CASES)
def test_bracket_under_a_tight_tolerance_contains_the_closed_form(kind):
    assert wrong(kind, tol=1e-13) == []


def test_formulas_agree_where_families_meet():
    # the closed forms themselves, each against another one
    with ball.precision():
        for p in (0.0, 0.1, 0.25, 0.5, 1.0):
            bsc, z = ball.rows_of(channels.bsc(p).W), ball.rows_of(channels.z_channel(p).W)
            assert of_bsc(bsc).overlaps(of_binary(bsc))
            assert of_bsc(bsc).overlaps(of_symmetric(bsc))
            assert of_bsc(bsc).overlaps(of_uniform_input(bsc))
            assert of_z(z).overlaps(of_binary(z))
        # [CT06, problem 7.8]: the Z-channel with q = 1/2 has capacity log2(5/4)
        assert of_z(ball.rows_of([[1.0, 0.0], [0.5, 0.5]])).overlaps(log2(arb(5) / 4))
        # [CT06, section 7.1.3]: the noisy typewriter of 26 letters has capacity log2 13
        assert of_symmetric(ball.rows_of(channels.noisy_typewriter(26).W)).overlaps(log2(13))


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("budget", [1e-6, 0.1, 0.25, 0.499, 0.5, 0.75, 1.0])
def test_bsc_with_a_budget_of_ones_has_capacity_h_of_the_crossing_minus_h(p, budget, rigorous):
    # P(output 1) = b(1-p) + (1-b)p grows with the share b <= 1/2 of ones, and H(Y|X) = h(p) whatever b
    answer = bc.capacity(channels.bsc(p), cost=[0, 1], budget=budget, rigorous=rigorous)
    with ball.precision():
        p = ball.rows_of(channels.bsc(p).W)[0][1]
        b = arb(min(budget, 0.5))
        truth = binary_entropy(b * (1 - p) + (1 - b) * p) - binary_entropy(p)
    assert answer.converged
    assert holds(answer, truth)
    assert answer.input[1] <= budget * (1 + 2**-50)


FLOORS = [1e-300, 1e-9, 0.01, 0.125, 1 / 6]

PSEUDO = {
    # For one row w the best Q is w raised to eta: the letters that w lacks take eta each.
    "one row, one letter missing": ([[1.0, 0.0]], lambda eta: -log2(1 - eta)),
    "one row, two letters missing": ([[1.0, 0.0, 0.0]], lambda eta: -log2(1 - 2 * eta)),
    "one row, none missing": ([[0.5, 0.5]], lambda eta: arb(0)),
    # The uniform output is optimal by symmetry and above the floor, so that the floor does not bind.
    "noiseless": (np.eye(3), lambda eta: log2(3)),
    "BSC": ([[0.75, 0.25], [0.25, 0.75]], lambda eta: 1 - binary_entropy(arb(0.25))),
    # An unused output takes eta from the others alike.
    "noiseless with an unused output": (np.eye(2, 3), lambda eta: 1 - log2(1 - eta)),
    "BSC with an unused output": (
        [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]],
        lambda eta: 1 - binary_entropy(arb(0.25)) - log2(1 - eta),
    ),
}


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("eta", FLOORS)
@pytest.mark.parametrize("kind", PSEUDO)
def test_pseudo_capacity_bracket_contains_the_closed_form(kind, eta, rigorous):
    W, formula = PSEUDO[kind]
    with ball.precision():
        truth = formula(arb(eta))
    answer = bc.pseudo_capacity(W, eta, rigorous=rigorous)
    assert answer.converged
    assert holds(answer, truth)


@pytest.mark.parametrize("rigorous", [False, True])
def test_pseudo_capacity_of_a_row_whose_second_letter_falls_below_the_floor_when_the_first_takes_its_share(rigorous):
    # w = (0, 3/16, 13/16), eta = 1/6: letter 1 is above eta, but (3/16) / (6/5) < 1/6 once letter 0 has eta,
    # so both are raised and Q = (eta, eta, 1 - 2 eta)
    answer = bc.pseudo_capacity([[0.0, 3 / 16, 13 / 16]], 1 / 6, rigorous=rigorous)
    with ball.precision():
        eta, b, c = arb(1 / 6), arb(3) / 16, arb(13) / 16
        truth = b * log2(b / eta) + c * log2(c / (1 - 2 * eta))
    assert answer.converged
    assert holds(answer, truth)
