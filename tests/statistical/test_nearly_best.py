"""What is proved before the end is wrong with probability at most delta.

100 runs of 1,500 senses at delta = 0.1: a policy that keeps the promise errs more than 27 times once in a million. The
twin that counts a tenth of the evidence that is missing errs in half of the runs and more, which is noticed with
probability 0.9999.
"""

import numpy as np
import pytest

from bestchannel import Adaptive
from tests.statistical.limits import most_failures, power
from tests.statistical.nearly_best_study import CHANNELS, Boastful, errors, nearly_best
from tests.study.misled import Misled

RUNS, DELTA = 100, 0.1


def test_limit_and_power_are_those_of_the_docstring():
    assert most_failures(RUNS, DELTA) == 27
    assert power(RUNS, DELTA, 0.5) > 0.9999


@pytest.mark.parametrize("name", ["BSC(0.11) leads BSC(0.1)", "ternary"])
def test_statement_about_a_leader_that_is_worse_is_wrong_no_more_often_than_delta(name):
    found = nearly_best(Misled, CHANNELS[name], RUNS, delta=DELTA)
    assert len(found) > 0.9 * RUNS
    assert errors(found) <= most_failures(RUNS, DELTA)


def test_statement_by_a_tenth_of_the_missing_evidence_is_noticed():
    found = nearly_best(Boastful, CHANNELS["BSC(0.11) leads BSC(0.1)"], RUNS, delta=DELTA)
    assert errors(found) > most_failures(RUNS, DELTA)


def test_statement_says_more_than_the_alphabets_do():
    found = nearly_best(Adaptive, CHANNELS["BSC(0.11) leads BSC(0.1)"], 20, delta=DELTA)
    assert np.median(found[:, 1]) < 0.25  # the alphabets say 1 bit
