"""What the paper's policies cost: counts against real runs, bounds against counts, orders against their formulas."""

import math

import numpy as np
import pytest
from theorems import (
    theorem_1_bound,
    theorem_1_order,
    theorem_2_bound,
    theorem_2_order,
    theorem_3_bound,
    theorem_3_order,
)

from bestchannel import BestChanID, MedianChanEl, NaiveChanSel, Observation, capacity, identify
from bestchannel.channels import Channel, bsc, q_ary_symmetric
from bestchannel.errors import InputError
from bestchannel.intervals.paper_bounds import Rate
from bestchannel.study.planning import expected_requests, expected_senses

BINARY = Rate(2, 2)

# Sums and products of a handful of doubles.
ROUNDING = 1e-13

BSCS = [bsc(p) for p in (0.2, 0.05, 0.11, 0.3, 0.06, 0.25, 0.4)]
MIXED = [q_ary_symmetric(5, 0.3), bsc(0.1), q_ary_symmetric(3, 0.2), bsc(0.01), Channel.from_rows([[1.0], [1.0]])]


def exact_sensor(channels):
    """Senses whose proportions are the probabilities, up to one sense per cell."""

    def sense(request):
        return {channel: table(channels[channel].W, senses) for channel, senses in request.senses.items()}

    def table(W, senses):
        counts = np.floor(W * np.array(senses)[:, None]).astype(np.int64)
        counts[:, 0] += np.array(senses) - counts.sum(axis=1)
        return counts

    return sense


def gaps_of(channels):
    values = [capacity(channel).lower for channel in channels]
    return [max(values) - value for value in values]


def alphabets_of(channels):
    return [(channel.n_inputs, channel.n_outputs) for channel in channels]


@pytest.mark.parametrize("channels", [BSCS, BSCS[:1], MIXED, MIXED[::-1]])
@pytest.mark.parametrize("subroutine", ["naive", "median"])
def test_best_chan_id_uses_the_senses_computed_from_the_gaps(channels, subroutine):
    policy = BestChanID(alphabets_of(channels), delta=0.07, subroutine=subroutine)
    asked = []
    while request := policy.ask():
        policy.tell(Observation(request.number, exact_sensor(channels)(request)))
        asked.append(dict(request.senses))
    expected = expected_requests(
        "best-chan-id", gaps_of(channels), alphabets_of(channels), delta=0.07, subroutine=subroutine
    )
    assert list(expected) == asked


@pytest.mark.parametrize("make", [NaiveChanSel, MedianChanEl])
@pytest.mark.parametrize("channels", [BSCS, BSCS[:1], MIXED, MIXED[::-1]])
@pytest.mark.parametrize("epsilon", [0.03, 0.5, 3.0])
def test_pac_policies_use_the_senses_computed_from_the_gaps(make, channels, epsilon):
    found = identify(exact_sensor(channels), make(alphabets_of(channels), epsilon=epsilon, delta=0.2))
    expected = expected_requests(make.name, gaps_of(channels), alphabets_of(channels), delta=0.2, epsilon=epsilon)
    assert list(expected) == [step.request.senses for step in found.audit.steps]


def test_gap_of_one_eighth_nat_decides_whether_a_second_round_is_needed():
    # ε₁ = 1/8 nat [EBWGW24, Alg. 1].
    for gap_nats, rounds in ((0.1249, 2), (0.1251, 1)):
        requests = expected_requests("best-chan-id", [0, gap_nats / math.log(2)], [(2, 2)] * 2, delta=0.1)
        assert len(list(requests)) == 2 * rounds  # one for the estimates, one for the subroutine


def test_channels_without_capacity_are_not_sensed():
    assert not list(expected_requests("best-chan-id", [0, 0, 0], [(1, 4), (3, 1), (1, 1)], delta=0.1))


def test_equal_best_channels_would_never_end():
    with pytest.raises(InputError, match="channels 1 and 2 both have gap 0: BestChanID would never end"):
        expected_senses("best-chan-id", [0.1, 0, 0], [(2, 2)] * 3, delta=0.1)


@pytest.mark.parametrize("k", [2, 3, 7, 8, 9, 65, 1000])
@pytest.mark.parametrize("shape", [(2, 2), (3, 7), (16, 16)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (0.3, 0.1), (2.0, 0.9)])
def test_bounds_of_theorems_2_and_3_hold_for_every_run(k, shape, epsilon, delta):
    rate, gaps, sizes, bits = Rate(*shape), [0, *[0.1] * (k - 1)], [shape] * k, epsilon / math.log(2)
    naive = expected_senses("naive", gaps, sizes, delta=delta, epsilon=bits)
    median = expected_senses("median", gaps, sizes, delta=delta, epsilon=bits)
    assert naive < theorem_2_bound(k, epsilon, delta, rate)
    assert median < theorem_3_bound(k, epsilon, delta, rate)


@pytest.mark.parametrize("subroutine", ["naive", "median"])
@pytest.mark.parametrize("gaps", [[0, 0.6], [0.5, 0], [0, 2.0**-5], [0, 0.13, 0.13], [0, *np.linspace(0.01, 0.4, 9)]])
def test_bound_of_theorem_1_holds_where_no_estimate_errs(gaps, subroutine):
    bits = [gap / math.log(2) for gap in gaps]
    cost = expected_senses("best-chan-id", bits, [(2, 2)] * len(bits), delta=0.1, subroutine=subroutine)
    assert cost < theorem_1_bound(gaps, 0.1, BINARY, subroutine=subroutine)


def test_bound_of_theorem_2_is_the_printed_one():
    # [EBWGW24, proof of Thm. 2] with ν = 4|X||Y| = 24, k = 5, and t̃ at the level of the estimates.
    level = math.log(2 * 5 * 2 / 0.1)
    t = 6.25 * (3 * math.e**2 / (2 * level)) ** 0.2
    expected = 4 * 93.75 * 24 * 5 * level / 0.04 * math.log(4 * t * 24 * 5 * level / 0.04) ** 2
    assert theorem_2_bound(5, 0.2, 0.1, Rate(2, 3)) == pytest.approx(expected, rel=ROUNDING)


def test_bound_of_theorem_3_is_the_limit_of_its_first_terms():
    # [EBWGW24, proof of Thm. 3]; (8/9)^r r³ is below 1e-9 of the sum from r = 300.
    def term(r):
        g = 16 * math.log(2 * 3 * 2**r / 0.1)
        t = 6.25 * (math.e**2 / (g / 16)) ** 0.2
        return (8 / 9) ** (r - 1) * g * math.log(4 * t * g / (0.75 ** (r - 1) * 0.3 / 4) ** 2) ** 2

    expected = 128 * 93.75 * 11 / 0.09 * sum(map(term, range(1, 300)))
    assert theorem_3_bound(11, 0.3, 0.1, BINARY) == pytest.approx(expected, rel=1e-8)


def test_order_of_theorem_1_is_the_printed_one():
    def term(gap):
        level = math.log(math.log(1 / gap) / 0.01)
        return level * (math.log(level) ** 2 + math.log(1 / gap) ** 2) / gap**2

    # The best channel counts like its nearest rival; 2·3 is the hidden |X||Y|.
    expected = 6 * (2 * term(0.05) + term(0.2))
    found = theorem_1_order([0.2, 0, 0.05], 0.01, n_inputs=2, n_outputs=3)
    assert found == pytest.approx(expected, rel=ROUNDING)


def test_orders_of_theorems_2_and_3_are_the_printed_ones():
    for order, level in ((theorem_2_order, math.log(8 / 0.1)), (theorem_3_order, math.log(1 / 0.1))):
        expected = 8 / 0.01 * level * math.log(level / 0.01) ** 2
        assert order(8, 0.1, 0.1) == pytest.approx(expected, rel=ROUNDING)
        assert order(8, 0.1, 0.1, n_inputs=4, n_outputs=5) == pytest.approx(20 * expected, rel=ROUNDING)


def test_orders_have_a_value_where_their_logarithms_vanish():
    # Δ = e^-1 and above, δ = 1: every logarithm counts as 1.
    assert theorem_1_order([0, 2.0], 1.0) == pytest.approx(2 * 1 * (0 + 1) / 4)
    assert theorem_3_order(3, 4.0, 1.0) == pytest.approx(3 / 16)


def test_orders_want_one_best_channel():
    with pytest.raises(InputError, match="exactly one 0, the best channel's; got"):
        theorem_1_order([0.0, 0.0, 0.1], 0.1)
