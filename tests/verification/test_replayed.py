"""`replayed` compares to the bit."""

import copy
import math

import pytest

from tests.verification.replayed import differs, made


@pytest.mark.parametrize("number", [0, 3, 13, 20])
def test_a_record_is_replayed_to_the_bit(number):
    assert differs(made(number)) is None


def test_a_stake_that_is_off_by_its_last_digit_is_noticed():
    document = made(0)
    stakes = next(step["stakes"] for step in document["audit"]["steps"] if step["stakes"] and step["stakes"]["bets"])
    other = copy.deepcopy(stakes)
    bet = next(iter(other["bets"].values()))
    bet["weight"] = math.nextafter(bet["weight"], math.inf)
    document["audit"]["steps"] = [{**step, "stakes": other} if step["stakes"] == stakes else step
                                  for step in document["audit"]["steps"]]  # fmt: skip
    assert differs(document) == "audit"
