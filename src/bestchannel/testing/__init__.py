"""What every policy and every sensor promises, as checks that the tests of any package can run.

A check takes a function that makes the policy or the sensor afresh, and raises `AssertionError` with what must hold and
what was found. No test framework is needed, and any can be used:

    from bestchannel.testing import POLICY_CHECKS

    @pytest.mark.parametrize("check", POLICY_CHECKS)
    def test_policy_keeps_the_contract(check):
        check(partial(Elimination, delta=0.1))
"""

from bestchannel.testing.policy_checks import POLICY_CHECKS, check_policy
from bestchannel.testing.sensor_checks import SENSOR_CHECKS, check_sensor

__all__ = ["POLICY_CHECKS", "SENSOR_CHECKS", "check_policy", "check_sensor"]
