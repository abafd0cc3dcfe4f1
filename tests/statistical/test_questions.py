"""Questions are answered wrongly no more often than δ allows, also by policies that are misled; a sabotaged twin is seen.

`python -m tests.statistical.question_errors` has 1,000 runs of more sets.
"""

import pytest

from tests.statistical.limits import most_failures
from tests.statistical.question_errors import CHANNELS, DELTA, SABOTAGED, sets, wrong_answers

RUNS = 60
SETS = {kind: case for kind, case in sets(*CHANNELS["BSC"]).items() if kind != "within" and "ε" not in kind}


@pytest.mark.parametrize("kind", SETS)
def test_misled_policies_err_no_more_often_than_delta_allows_and_a_sabotaged_one_does(kind):
    assert wrong_answers(*SETS[kind], RUNS) <= most_failures(RUNS, DELTA)
    assert wrong_answers(*SETS[kind], RUNS, delta=SABOTAGED) > most_failures(RUNS, DELTA)
