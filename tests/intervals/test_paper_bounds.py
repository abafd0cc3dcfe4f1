"""The paper's bound and sample sizes, against formulas written out once more and facts about them."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestchannel.errors import InputError
from bestchannel.intervals.paper_bounds import (
    C1,
    Rate,
    best_chan_id_delta,
    best_chan_id_epsilon,
    best_chan_id_senses,
    median_senses,
    naive_senses,
    tv_radius,
)

BINARY = Rate(2, 2)

# Doubles carry 16 digits; a handful of operations loses one or two of them.
ROUNDING = 1e-14

rates = st.builds(Rate, st.integers(2, 64), st.integers(2, 64), st.booleans())
levels = st.floats(1e-12, 1.0)
accuracies = st.floats(1e-9, 0.7)


def plain_deviation(n, alpha, n_inputs, n_outputs):
    """[EBWGW24, Prop. 1], the fifth root taken as it is printed."""
    g = 4 * n_inputs * n_outputs * math.log(n_inputs / alpha)
    t = (n_outputs * math.e**2 / (n_inputs * math.log(n_inputs / alpha))) ** 0.2
    return 5 * math.sqrt(g) / 4 * math.log(n * t) / math.sqrt(n) + g / n


def decimal_deviation(n, alpha, n_inputs, n_outputs):
    """The same with 80 digits, for n beyond 2^53 where doubles cannot tell n from n - 1."""
    with localcontext() as context:
        context.prec = 80
        level = (Decimal(n_inputs) / Decimal(alpha)).ln()
        g = 4 * n_inputs * n_outputs * level
        t = (n_outputs * Decimal(2).exp() / (n_inputs * level)) ** Decimal("0.2")
        return Decimal("1.25") * g.sqrt() * (n * t).ln() / Decimal(n).sqrt() + g / n


def test_g_is_printed_formula():
    # [EBWGW24, Sec. III]: 4 |X| |Y| log(|X|/α)
    assert Rate(3, 5).g(0.1) == pytest.approx(60 * math.log(30), rel=ROUNDING)


def test_g_for_fixed_input_is_printed_formula():
    # [EBWGW24, Remark 1]: 2 (3|X| + 2)² log(4/α), whatever |Y| is
    assert Rate(3, 5, fixed_input=True).g(0.1) == pytest.approx(242 * math.log(40), rel=ROUNDING)


def test_constants_are_those_of_lemma_3():
    # [EBWGW24, Sec. III]: c₁ = 15·25/4, t̃ = (25/4) t
    assert C1 == 93.75
    assert BINARY.t_tilde(0.3) == pytest.approx(6.25 * BINARY.t(0.3), rel=ROUNDING)


def test_t_exceeds_the_printed_constant_for_large_alpha():
    # The text claims t <= 1.1 for α <= 1/2. At α = 1/2, |X| = |Y| = 2 it is (e²/log 4)^(1/5) = 1.3975,
    # and it equals 1.1 at α = 2 exp(-e²/1.1⁵) = 0.02035.
    assert BINARY.t(0.5) == pytest.approx((math.e**2 / math.log(4)) ** 0.2, rel=ROUNDING)
    assert BINARY.t(2 * math.exp(-(math.e**2) / 1.1**5)) == pytest.approx(1.1, rel=ROUNDING)


@given(st.integers(2, 64), st.integers(2, 64), st.floats(1, 1e15), levels)
def test_deviation_is_proposition_1(n_inputs, n_outputs, n, alpha):
    expected = plain_deviation(n, alpha, n_inputs, n_outputs)
    # log(n t) may be close to 0, where only its absolute error is small: that of log n and log t.
    slack = ROUNDING * (1 + math.log(n)) * math.sqrt(Rate(n_inputs, n_outputs).g(alpha) / n)
    assert Rate(n_inputs, n_outputs).deviation(n, alpha) == pytest.approx(expected, rel=ROUNDING, abs=slack)


def test_deviation_broadcasts_over_senses_and_levels():
    senses, alphas = np.array([[1e3], [1e6]]), np.array([0.5, 0.05, 0.005])
    deviations = BINARY.deviation(senses, alphas)
    assert deviations.shape == (2, 3)
    assert deviations[1, 2] == BINARY.deviation(1e6, 0.005)


@given(rates, st.integers(1, 10**9), levels)
def test_clipped_deviation_never_exceeds_the_largest_capacity(rate, n, alpha):
    assert 0 < rate.clipped_deviation(n, alpha) <= math.log(min(rate.n_inputs, rate.n_outputs))


def test_clipped_deviation_is_trivial_below_two_senses_per_output():
    # The proof needs n >= 2|Y|. A million senses are enough for 2 outputs, too few for 500001.
    clipped = [Rate(2, n_outputs).clipped_deviation(10**6, 0.5) for n_outputs in (2, 500_001)]
    assert clipped == [BINARY.deviation(10**6, 0.5), math.log(2)]


@given(rates, st.floats(1, 1e12), st.floats(1.001, 10), levels)
def test_deviation_falls_with_every_sense(rate, n, factor, alpha):
    assert rate.deviation(n * factor, alpha) < rate.deviation(n, alpha)


@given(st.integers(2, 16), st.integers(2, 16), st.integers(1, 10**7), st.floats(1e-6, 1.0))
def test_tv_radius_is_mean_plus_mcdiarmid(n_inputs, n_outputs, n, alpha):
    expected = math.sqrt((n_outputs - 1) / n) + math.sqrt(2 * math.log(1 / alpha) / n)
    assert tv_radius(n, alpha, n_outputs) == pytest.approx(expected, rel=ROUNDING)


def test_tv_radius_covers_an_example_that_breaks_the_printed_lemma():
    # One fair coin toss: Σ|P̂ - P| = 1 always. At α = 0.99 the paper's √(4|Y| log(1/α)/n) is 0.28.
    assert math.sqrt(8 * math.log(1 / 0.99)) < 1 <= tv_radius(1, 0.99, 2)


@given(rates, accuracies, levels)
def test_required_senses_suffice_for_proposition_1(rate, epsilon, alpha):
    # [EBWGW24, Lemma 3]
    assert rate.deviation(rate.required_senses(epsilon, alpha), alpha) <= epsilon


def test_required_senses_is_lemma_3():
    # [EBWGW24, Lemma 3] in doubles; the value is far from an integer compared with their error.
    g, t = 16 * math.log(40), (math.e**2 / math.log(40)) ** 0.2
    value = 93.75 * g / 0.01 * math.log(6.25 * t * g / 0.01) ** 2
    assert abs(value - round(value)) > value * ROUNDING
    assert BINARY.required_senses(0.1, 0.05) == math.ceil(value)


@given(rates, accuracies, levels)
def test_smallest_senses_is_the_first_that_satisfies_proposition_1(rate, epsilon, alpha):
    n = rate.smallest_senses(epsilon, alpha)
    assert rate.deviation(n, alpha) <= epsilon * (1 + ROUNDING)
    # Steps of 1 drown in rounding for large n; a millionth less must already be too few.
    fewer = min(n - 1, n - n // 10**6)
    assert n == 2 * rate.n_outputs or rate.deviation(fewer, alpha) > epsilon


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 1e-3, 1e-9, 1e-12])
@pytest.mark.parametrize("shape", [(2, 2), (4, 16)])
def test_smallest_senses_is_exact_to_one_sense(shape, epsilon):
    # ε = 1e-9 and 1e-12 need more than 2^53 senses.
    n = Rate(*shape).smallest_senses(epsilon, 0.05)
    assert decimal_deviation(n, 0.05, *shape) <= Decimal(epsilon) < decimal_deviation(n - 1, 0.05, *shape)


def test_smallest_senses_saves_a_factor_of_thirty():
    # Prop. 1 solved numerically against Lemma 3 at ε = 0.1: 62814500 / 1976650 = 31.8.
    assert 31 < BINARY.required_senses(0.1, 0.05) / BINARY.smallest_senses(0.1, 0.05) < 32


def test_smallest_senses_starts_where_the_proof_does():
    # An accuracy that the formula reaches at once still needs n >= 2|Y|.
    assert BINARY.smallest_senses(1e6, 0.5) == 4


def test_counts_beyond_doubles_are_true_ceilings():
    # At ε = 2^-40 the formula is evaluated with 80 digits; its value is far above 2^53.
    with localcontext() as context:
        context.prec = 80
        level = (2 / Decimal(1 / 64)).ln()
        ratio = 16 * level * 4 * 2**80
        t = (Decimal(2).exp() / level) ** Decimal("0.2")
        value = Decimal("93.75") * ratio * (Decimal("6.25") * t * ratio).ln() ** 2
        expected = int(value.to_integral_value("ROUND_CEILING"))
    assert BINARY.round_senses(2.0**-40, 1 / 64) == expected > 2**90


@given(rates, st.floats(1e-9, 1.4), levels)
def test_round_senses_leave_half_the_accuracy_to_each_estimate(rate, epsilon, alpha):
    # N(ε, α) is the first argument of Lemma 3 at ε/2, which is the larger one for ε <= 1 and more.
    assert rate.round_senses(epsilon, alpha) == rate.required_senses(epsilon / 2, alpha)


def test_best_chan_id_schedule():
    # [EBWGW24, Alg. 1]: ε_r = 2^-r/4, δ_r = δ/(50 r³)
    assert best_chan_id_epsilon(3) == 1 / 32
    assert best_chan_id_delta(2, 0.1) == 0.1 / 400
    assert best_chan_id_senses(2, 0.1, BINARY) == BINARY.round_senses(1 / 16, 0.1 / 400)


@given(rates, st.floats(1e-6, 2), st.floats(1e-6, 1), st.integers(1, 10**6))
def test_logarithmic_argument_rules_in_both_pac_algorithms(rate, epsilon, delta, n_channels):
    # The second arguments of the maxima, 2g/ε and 2g/ε², and their repaired form 4g/ε, never decide for ε <= 2.
    assert naive_senses(epsilon, delta, n_channels, rate) == rate.round_senses(epsilon, delta / (2 * n_channels))
    assert median_senses(epsilon, delta, rate) == rate.round_senses(epsilon, delta / 3)
    assert median_senses(epsilon, delta, rate) >= 4 * rate.g(delta / 3) / epsilon


def test_linear_arguments_rule_for_absurd_accuracies():
    # For ε² = 4 t̃ g the logarithm is 0 and only the second argument is left.
    epsilon = math.sqrt(4 * BINARY.t_tilde(0.1 / 4) * BINARY.g(0.1 / 4))
    assert naive_senses(epsilon, 0.1, 2, BINARY) == math.ceil(2 * BINARY.g(0.1 / 4) / epsilon)
    epsilon = math.sqrt(4 * BINARY.t_tilde(0.1) * BINARY.g(0.1))
    assert median_senses(epsilon, 0.3, BINARY) == math.ceil(2 * BINARY.g(0.3 / 3) / epsilon**2)


def test_fixed_input_changes_g_only():
    fixed = Rate(2, 2, fixed_input=True)
    assert fixed.t(0.05) == BINARY.t(0.05)
    g, t = 128 * math.log(80), (math.e**2 / math.log(40)) ** 0.2
    value = 93.75 * g / 0.01 * math.log(6.25 * t * g / 0.01) ** 2
    assert fixed.required_senses(0.1, 0.05) == math.ceil(value)


@pytest.mark.parametrize(
    ("epsilon", "alpha", "message"),
    [
        (0.0, 0.1, r"epsilon \(nats\) must lie in \(0, .*\]; it is 0"),
        (math.nan, 0.1, r"epsilon \(nats\) must lie in .*; it is nan"),
        (math.inf, 0.1, r"epsilon \(nats\) must lie in .*; it is inf"),
        (0.1, 0.0, r"the error probability must lie in \(0, 1\]; it is 0"),
        (0.1, 1.5, r"the error probability must lie in \(0, 1\]; it is 1.5"),
    ],
)
def test_counts_refuse_values_out_of_range(epsilon, alpha, message):
    for count in (BINARY.required_senses, BINARY.smallest_senses, BINARY.round_senses):
        with pytest.raises(InputError, match=message):
            count(epsilon, alpha)


def test_rate_refuses_channels_that_carry_nothing():
    with pytest.raises(InputError, match="at least 2 inputs and 2 outputs; got 1 and 3"):
        Rate(1, 3)
