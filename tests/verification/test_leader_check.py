"""Bets win nothing on average: by the sum over all answers, for any numbers that a record may hold."""

import itertools
import math

import numpy as np
import pytest

from bestchannel.record import Bet
from bestchannel.verification.adaptive_check import paid_nats
from bestchannel.verification.paper_check import information
from bestchannel.verification.record import NotValidError


def rows_of(senses, n_outputs):
    """All counts that so many senses of one input can give, with the number of their orders."""
    for counts in itertools.product(range(senses + 1), repeat=n_outputs):
        if sum(counts) == senses:
            yield counts, math.factorial(senses) // math.prod(map(math.factorial, counts))


def answers(W, senses):
    """All tables of counts, each with its probability."""
    for rows in itertools.product(*(rows_of(n, W.shape[1]) for n in senses)):
        table = np.array([counts for counts, _ in rows])
        yield table, math.prod(orders for _, orders in rows) * float((W**table).prod())


def bet_of(rng, n_inputs, n_outputs, weight):
    V = rng.dirichlet(np.ones(n_outputs), size=n_inputs) * rng.uniform(0.5, 2.0)  # not even rows that sum to 1
    V = np.maximum(V, 0.05)
    nu = weight * np.abs(np.log(V)).max() * rng.uniform(2.0, 4.0, size=n_inputs) + 0.5
    return sound_bet(weight=weight, auxiliary=V, multipliers=nu)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("senses", [(3, 2), (0, 4), (2, 2, 1)])
def test_bets_on_the_leader_win_nothing_beyond_its_capacity(senses, seed):
    rng = np.random.default_rng(seed)
    shape = (len(senses), 3 if seed % 2 else 2)
    W, P = rng.dirichlet(np.ones(shape[1]), size=shape[0]), rng.dirichlet(np.ones(shape[0]))
    bet = bet_of(rng, *shape, weight=float(rng.uniform(0.1, 5.0)))
    mean = sum(p * math.exp(paid_nats(bet, P, table, "")) for table, p in answers(W, senses))
    assert mean <= math.exp(bet.weight * information(P, W)) * (1 + 1e-12)


def sound_bet(**changes):
    fields = {"since": 1, "restarts": 0, "weight": 2.0, "tilts": np.zeros(2), "outputs": np.full(2, 0.5)}
    V, nu = np.array([[0.7, 0.3], [0.3, 0.7]]), np.array([6.0, 6.0])
    return Bet(**{**fields, "auxiliary": V, "multipliers": nu, **changes})


NOT_BETS = {
    "rows with a 0": ({"auxiliary": np.array([[1.0, 0.0], [0.3, 0.7]])}, [0.5, 0.5], "must be at least 1e-200"),
    "rows without digits": ({"auxiliary": np.full((2, 2), 2.5e-323)}, [0.5, 0.5], "must be at least 1e-200"),
    "no distribution": ({}, [0.5, 0.6], "the input distribution of a bet must sum to 1"),
    "a negative probability": ({}, [-0.5, 1.5], "the input distribution of a bet must sum to 1"),
    "a small multiplier": ({"multipliers": np.array([0.1, 6.0])}, [0.5, 0.5], "its multipliers are too small here"),
    "another size": ({"multipliers": np.ones(3)}, [0.5, 0.5], "a bet must have the leader's inputs and outputs"),
}


@pytest.mark.parametrize(("changes", "inputs", "sentence"), NOT_BETS.values(), ids=NOT_BETS.keys())
def test_numbers_that_are_no_bet_are_named(changes, inputs, sentence):
    counts = np.array([[4, 2], [1, 5]])
    assert math.isfinite(paid_nats(sound_bet(), np.array([0.5, 0.5]), counts, "here"))
    with pytest.raises(NotValidError, match=sentence):
        paid_nats(sound_bet(**changes), np.array(inputs), counts, "here")
