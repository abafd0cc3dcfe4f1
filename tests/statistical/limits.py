"""How many failures a promise of probability allows in a test that must not raise a false alarm."""

from scipy.stats import binom

FALSE_ALARM = 1e-6


def most_failures(runs: int, probability: float) -> int:
    """The smallest c with P(more than c failures) <= FALSE_ALARM when each of `runs` fails with `probability`."""
    return int(binom.isf(FALSE_ALARM, runs, probability))


def power(runs: int, probability: float, true_probability: float) -> float:
    """The probability of noticing that runs promised to fail with `probability` fail with another."""
    return float(binom.sf(most_failures(runs, probability), runs, true_probability))
