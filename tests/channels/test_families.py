"""The families of channels: stochastic rows, the textbook's entries, special cases, refusals."""

import math

import numpy as np
import pytest

from bestchannel import InputError
from bestchannel.channels import (
    awgn_pam,
    awgn_qam,
    bec,
    binary_asymmetric,
    bsc,
    noisy_typewriter,
    poisson,
    product,
    q_ary_symmetric,
    random_channel,
    z_channel,
)

EPS = np.finfo(float).eps
PROBABILITIES = [0.0, 5e-324, 1e-16, 0.1, 1 / 3, 0.5, 0.9, 1 - 2**-53, 1.0]
DECIBELS = [-299.0, -40.0, -3.0, 0.0, 3.0, 10.0, 40.0, 300.0]

EVERY_FAMILY = [
    *[family(p) for family in (bsc, bec, z_channel) for p in PROBABILITIES],
    *[binary_asymmetric(a, b) for a in PROBABILITIES for b in PROBABILITIES],
    *[family(q, p) for family in (q_ary_symmetric, noisy_typewriter) for q in (2, 3, 10, 50) for p in PROBABILITIES],
    *[random_channel(n, m, rng=np.random.default_rng(n), concentration=c)
      for n, m in [(1, 1), (1, 5), (5, 1), (7, 7)] for c in (1e-300, 1e-3, 1.0, 1e9)],
    *[awgn_pam(order, snr) for order in (2, 3, 8) for snr in DECIBELS],
    *[awgn_pam(order, snr, n_outputs=bins) for order in (2, 5) for snr in DECIBELS for bins in (2, 7, 64)],
    *[awgn_qam(order, snr) for order in (4, 16) for snr in DECIBELS],
    *[poisson([0.0, *rates], dark=dark) for rates in ([], [1e-9], [1.0, 30.0], [1e4]) for dark in (0.0, 0.5)],
    poisson([2.0, 8.0], max_count=1),
]  # fmt: skip


@pytest.mark.parametrize("channel", EVERY_FAMILY, ids=lambda channel: channel.name)
def test_rows_are_probabilities(channel):
    assert channel.W.min() >= 0.0
    # m roundings of numbers whose sum is 1, and as many in the sum itself
    assert np.abs(channel.W.sum(axis=1) - 1.0).max() <= 2 * channel.n_outputs * EPS
    assert len(channel.inputs) == channel.n_inputs
    assert len(channel.outputs) == channel.n_outputs


def test_entries_are_those_of_the_textbook():
    # [CT06, fig. 7.5, 7.6], Z-channel [CT06, problem 7.8], typewriter [CT06, fig. 7.4]; dyadic, so exact
    assert bsc(0.25).W.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert bec(0.25).W.tolist() == [[0.75, 0.25, 0.0], [0.0, 0.25, 0.75]]
    assert z_channel(0.25).W.tolist() == [[1.0, 0.0], [0.25, 0.75]]
    assert binary_asymmetric(0.25, 0.125).W.tolist() == [[0.75, 0.25], [0.875, 0.125]]
    assert q_ary_symmetric(3, 0.5).W.tolist() == [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    assert noisy_typewriter(3, 0.25).W.tolist() == [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.25, 0.0, 0.75]]


def test_the_erasure_is_labelled_with_a_question_mark():
    assert bec(0.1).outputs == ("0", "?", "1")


@pytest.mark.parametrize("p", PROBABILITIES)
def test_special_cases_are_other_families(p):
    assert np.array_equal(binary_asymmetric(p, 1 - p).W[0], bsc(p).W[0])
    assert np.array_equal(q_ary_symmetric(2, p).W, bsc(p).W)
    assert np.array_equal(noisy_typewriter(2, p).W, bsc(p).W)


@pytest.mark.parametrize("p", [0.0, 0.125, 0.5, 1.0])  # dyadic: 1 - (1 - p) = p
def test_binary_asymmetric_channels_without_one_of_the_errors_are_z_channels(p):
    assert np.array_equal(binary_asymmetric(0.0, 1 - p).W, z_channel(p).W)


def test_half_is_the_default_of_the_typewriter():
    assert noisy_typewriter(26) == noisy_typewriter(26, 0.5)


def test_names_say_the_family_and_its_parameters():
    channels = [bsc(0.1), bec(0.25), z_channel(0.5), binary_asymmetric(0.1, 0.7), q_ary_symmetric(4, 0.1),
                noisy_typewriter(26), awgn_pam(4, 6), awgn_pam(4, 6, n_outputs=8), awgn_qam(16, 6.5),
                poisson([0, 10])]  # fmt: skip
    assert [channel.name for channel in channels] == [
        "BSC(0.1)", "BEC(0.25)", "Z(0.5)", "BAC(0.1,0.7)", "QSC(4,0.1)", "typewriter(26,0.5)", "4-PAM 6 dB hard",
        "4-PAM 6 dB 8 bins", "16-QAM 6.5 dB hard", "Poisson(2 levels)",
    ]  # fmt: skip


def test_random_channel_is_drawn_from_the_generator_given():
    draw = [random_channel(3, 4, rng=np.random.default_rng(seed), name="r") for seed in (1, 1, 2)]
    assert draw[0] == draw[1]
    assert draw[0] != draw[2]
    assert draw[0].W.shape == (3, 4)


def test_small_concentration_gives_nearly_deterministic_rows_and_large_one_nearly_uniform_rows():
    spiky = random_channel(50, 4, rng=np.random.default_rng(1), concentration=1e-4).W
    flat = random_channel(50, 4, rng=np.random.default_rng(1), concentration=1e8).W
    # Each entry of a Dirichlet row has variance (1/4)(3/4)/(4c+1): 2e-5 standard deviation for c = 1e8.
    # For c = 1e-4, P(max < 0.99) is about 3c log(99) = 1.4e-3 per row; the seed is fixed.
    assert np.all(spiky.max(axis=1) > 0.99)
    assert np.abs(flat - 0.25).max() < 6 * 2.2e-5


def gaussian_tail(t):
    """P(N > t) for a standard normal N, by the standard library."""
    return math.erfc(t / math.sqrt(2.0)) / 2.0


@pytest.mark.parametrize("snr_db", [-20.0, 0.0, 6.0, 9.6])
def test_hard_decision_on_two_amplitudes_is_a_bsc_of_q_of_the_root_of_the_ratio(snr_db):
    # antipodal amplitudes +-1, noise of deviation sigma: error Q(1/sigma) [CT06, ex. 9.1]
    error = gaussian_tail(10.0 ** (snr_db / 20.0))
    W = awgn_pam(2, snr_db).W
    # erfc and ndtr agree to a few units in the last place, times the slope of the tail
    assert pytest.approx(np.array([[1 - error, error], [error, 1 - error]]), rel=64 * EPS, abs=0.0) == W


@pytest.mark.parametrize("snr_db", [-10.0, 5.0, 20.0])
@pytest.mark.parametrize("bins", [None, 2, 5, 16])
def test_pam_is_the_mirror_image_of_itself(snr_db, bins):
    W = awgn_pam(4, snr_db, n_outputs=bins).W
    # amplitudes and thresholds are symmetric up to one rounding, which the slope (<= 1/sigma) multiplies
    slope = 10.0 ** (snr_db / 20.0)
    assert np.abs(W - W[::-1, ::-1]).max() <= 64 * EPS * (1.0 + slope)


def test_pam_amplitudes_have_mean_energy_one():
    for order in (2, 3, 4, 7, 8):
        # labels have three decimals: half of the last one, times twice the largest amplitude sqrt 3
        energy = np.mean([float(label) ** 2 for label in awgn_pam(order, 0.0).inputs])
        assert abs(energy - 1.0) <= 0.0005 * 2 * math.sqrt(3.0) + 0.0005**2


def test_pam_tails_keep_their_digits_on_both_sides():
    # at 27 dB the threshold is 22 deviations away from either amplitude: both tails are about 1e-111, not 0
    W = awgn_pam(2, 27.0).W
    assert W[0, 1] > 0.0
    assert W[0, 1] == pytest.approx(W[1, 0], rel=1e-9, abs=0.0)
    assert W[0, 1] == pytest.approx(gaussian_tail(10.0 ** (27.0 / 20.0)), rel=1e-9, abs=0.0)


def test_qam_is_a_product_of_two_pams():
    qam, pam = awgn_qam(16, 8.0, n_outputs_per_axis=5), awgn_pam(4, 8.0, n_outputs=5)
    assert np.array_equal(qam.W, product(pam, pam).W)
    assert (qam.inputs, qam.outputs) == (product(pam, pam).inputs, product(pam, pam).outputs)
    assert qam.name == "16-QAM 8 dB 5x5 bins"


def test_poisson_entries_are_the_law_of_counts():
    channel = poisson([0.0, 0.5, 4.0], dark=0.25, max_count=30)
    for x, mean in enumerate((0.25, 0.75, 4.25)):
        law = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(30)]
        # gammaln and exp lose about log(30!) = 75 units in the last place
        assert channel.W[x, :30] == pytest.approx(law, rel=200 * EPS, abs=0.0)
    assert channel.inputs == ("0", "0.5", "4")
    assert channel.outputs[:2] == ("0", "1")
    assert channel.outputs[-1] == ">=30"


def test_poisson_without_light_always_counts_zero():
    assert poisson([0.0]).W.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("brightest", [1e-9, 1.0, 20.0, 3e4])
def test_poisson_default_cut_leaves_less_than_1e_12_behind(brightest):
    assert poisson([0.0, brightest]).W[1, -1] <= 1e-12


BAD_PROBABILITIES = [-1e-9, 1.0 + 1e-9, np.nan, np.inf, "0.5", None, True, 0.5j]


@pytest.mark.parametrize("p", BAD_PROBABILITIES)
@pytest.mark.parametrize(
    ("family", "what"),
    [
        (bsc, "the crossover probability p"),
        (bec, "the erasure probability e"),
        (z_channel, "the probability q that 1 becomes 0"),
        (lambda p: binary_asymmetric(p, 0.5), r"the probability a = P\(1\|0\)"),
        (lambda p: binary_asymmetric(0.5, p), r"the probability b = P\(1\|1\)"),
        (lambda p: q_ary_symmetric(3, p), "the error probability p"),
        (lambda p: noisy_typewriter(3, p), "the probability p of the next letter"),
    ],
)
def test_a_probability_outside_zero_and_one_is_refused_by_name(family, what, p):
    with pytest.raises(InputError, match=rf"^{what} must (lie in \[0, 1\]|be a number); it is "):
        family(p)


INTENSITIES = "the intensities must be a vector of numbers in [0, 1e12]"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: q_ary_symmetric(1, 0.1), "the alphabet size q must be a whole number >= 2; it is 1"),
        (lambda: q_ary_symmetric(2.0, 0.1), "the alphabet size q must be a whole number >= 2; it is 2.0"),
        (lambda: noisy_typewriter(True), "the alphabet size q must be a whole number >= 2; it is True"),
        (lambda: random_channel(0, 2, rng=np.random.default_rng()), "n_inputs must be a whole number >= 1; it is 0"),
        (lambda: random_channel(2, -1, rng=np.random.default_rng()), "n_outputs must be a whole number >= 1; it is -1"),
        (
            lambda: random_channel(2, 2, rng=np.random.default_rng(), concentration=0),
            "the concentration must lie in (0, 1e+300]; it is 0",
        ),
        (lambda: awgn_pam(1, 0.0), "the order of the modulation must be a whole number >= 2; it is 1"),
        (lambda: awgn_pam(2, np.nan), "snr_db must lie in (-300, 300]; it is nan"),
        (lambda: awgn_pam(2, 0.0, n_outputs=1), "n_outputs must be a whole number >= 2; it is 1"),
        (lambda: awgn_qam(8, 0.0), "the order of a square QAM must be 4, 9, 16, 25, ...; it is 8"),
        (lambda: poisson([]), "the intensities must not be empty; its shape is (0,)"),
        (lambda: poisson([1.0, -2.0]), f"{INTENSITIES}; they are [1.0, -2.0]"),
        (lambda: poisson([[1.0]]), f"{INTENSITIES}; they are [[1.0]]"),
        (lambda: poisson([np.nan]), f"{INTENSITIES}; they are [nan]"),
        (lambda: poisson([1.0], dark=-1), "the dark count must lie in [0, 1e+12]; it is -1"),
        (lambda: poisson([1.0], max_count=0), "max_count must be a whole number >= 1; it is 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(call, message):
    with pytest.raises(InputError) as refused:
        call()
    assert str(refused.value) == message
