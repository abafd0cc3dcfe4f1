"""How often questions are answered wrongly where that is as frequent as can be: at δ = 0.3, on hard sets, by policies
that are misled: python -m tests.statistical.question_errors --runs 1000.

A misled policy believes the opposite of the truth, whatever it senses, and bets on it from the beginning: the theorem
allows any bets. The sabotaged twin demands what δ = 0.97 would, and three nats less than that once bets have begun.
"""

import sys
from functools import partial
from unittest import mock

import numpy as np

from bestchannel import Above, Adaptive, Order, Simulator, Top, Within, capacity, identify
from bestchannel.channels import bsc, q_ary_symmetric, z_channel
from bestchannel.policies.adaptive import above, claims, worlds
from tests.statistical.limits import most_failures
from tests.statistical.table_command import print_table

DELTA, SABOTAGED, SENSES = 0.3, 0.97, 600
LITTLE = 1e-6  # bits, between the truth and what is false


def bits(channel):
    return capacity(channel, tol=1e-12).lower


def sets(channel, worse):
    """By question: what is asked of which channels, none of which may be said, and by how much each seems better."""
    level, gap = bits(channel), bits(channel) - bits(worse)
    return {
        "above": (Above(level + LITTLE), [channel], [0.1]),
        "below": (Above(level - LITTLE), [channel], [-0.1]),
        "top 1 of 2": (Top(1), [worse, channel], [0.1, 0.0]),
        "order of 3": (Order(), [worse, worse, channel], [0.1, 0.05, 0.0]),
        "top within ε": (Top(1, gap - LITTLE), [worse, channel], [0.1, 0.0]),
        "order within ε": (Order(gap - LITTLE), [worse, channel], [0.1, 0.0]),
        "within": (Within(0.1), [channel], [0.0]),
    }


CHANNELS = {
    "BSC": (bsc(0.1), bsc(0.11)),
    "Z": (z_channel(0.5), z_channel(0.52)),
    "3×3": (q_ary_symmetric(3, 0.1), q_ary_symmetric(3, 0.11)),
}


def looking(view_of, lies, *given):
    """A look at channels that takes them for better than they seem."""
    view = view_of(*given)
    return view._replace(values=np.maximum(view.values + np.array(lies), 0.0))


def wrong_answers(question, channels, lies, runs, *, misled=True, delta=DELTA, seed=5):
    """How many of the runs say something that is false."""
    demanded, less = claims.Bettor.demanded, 3.0 * (delta == SABOTAGED)
    values, wrong = np.array([bits(channel) for channel in channels]), 0
    lie = partial(looking, claims.view_of, lies if misled else np.zeros(len(lies)))
    begin = 0.0 if misled else worlds.BETTING_FROM
    with (
        mock.patch.object(claims, "view_of", lie),
        mock.patch.object(worlds, "BETTING_FROM", begin),
        mock.patch.object(above, "BETTING_FROM", begin),
        mock.patch.object(
            claims.Bettor, "demanded", lambda bettor, wealth: demanded(bettor, wealth) - less * (bettor.since > 0)
        ),
    ):
        for child in np.random.SeedSequence(seed).spawn(runs):
            sensor = Simulator(channels, rng=np.random.default_rng(child))
            policy = Adaptive(sensor.alphabets, delta=delta, question=question)
            identify(sensor, policy, max_senses=SENSES)
            wrong += policy.findings.says_something and not question.is_right(policy, values, 0.0)
    return wrong


COLUMNS = "channels", "question", "wrong, honest", "wrong, misled", "most that may be", "sabotaged: wrong"


def rows(runs, delta):
    """One for each question and set of channels."""
    for name, pair in CHANNELS.items():
        for kind, (question, channels, lies) in sets(*pair).items():
            of = partial(wrong_answers, question, channels, lies, runs)
            counted = of(misled=False, delta=delta), of(delta=delta)
            yield name, kind, *map(str, counted), str(most_failures(runs, delta)), str(of(delta=SABOTAGED))


if __name__ == "__main__":
    print_table(sys.argv[1:], __doc__, COLUMNS, rows, runs=1000, delta=DELTA)
