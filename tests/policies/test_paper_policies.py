"""The three algorithms of the paper, step by step: what they ask for, and what they do with the answers."""

import itertools
import math
import tracemalloc
from decimal import ROUND_CEILING, Decimal, localcontext

import numpy as np
import pytest

from bestchannel import BestChanID, InputError, MedianChanEl, NaiveChanSel, Observation, Simulator, identify
from bestchannel.channels import bsc
from bestchannel.intervals import Interval
from bestchannel.intervals.paper_bounds import Rate
from bestchannel.policies.paper_policies import best_of, better_half

NATS = math.log(2)
"""Nats in a bit."""


def plain_senses(epsilon, alpha, n_inputs=2, n_outputs=2, *, fixed_input=False):
    """⌈4c₁ g/ε² log²(4 t̃ g/ε²)⌉ [EBWGW24, Sec. IV] with 80 digits, g and t̃ as they are printed; ε in nats."""
    with localcontext() as context:
        context.prec = 80
        level = (n_inputs / Decimal(alpha)).ln()
        g = 2 * (3 * n_inputs + 2) ** 2 * (4 / Decimal(alpha)).ln() if fixed_input else 4 * n_inputs * n_outputs * level
        t_tilde = Decimal("6.25") * (n_outputs * Decimal(2).exp() / (n_inputs * level)) ** Decimal("0.2")
        ratio = 4 * g / Decimal(epsilon) ** 2
        return int((Decimal("93.75") * ratio * (t_tilde * ratio).ln() ** 2).to_integral_value(ROUND_CEILING))


def per_input(n, n_inputs=2):
    return (math.ceil(n / n_inputs) if n < 2**53 else -(-n // n_inputs),) * n_inputs


def noiseless(channels):
    """A sensor that returns the expected counts, rounded."""

    def sense(request):
        return {channel: expected(channels[channel].W, senses) for channel, senses in request.senses.items()}

    return sense


def expected(W, senses):
    counts = np.rint(W * np.array(senses)[:, None]).astype(np.int64)
    counts[:, 0] += np.array(senses) - counts.sum(axis=1)
    return counts


def requests_of(policy, sensor):
    requests = []
    while (request := policy.ask()) is not None:
        requests.append(request)
        policy.tell(Observation(request.number, sensor(request)))
    return requests


def bsc_of(nats):
    """The binary symmetric channel of this capacity, by bisection."""
    low, high = 0.0, 0.5
    for _ in range(100):
        p = (low + high) / 2
        capacity = math.log(2) + (p * math.log(p) + (1 - p) * math.log(1 - p))
        low, high = (p, high) if capacity > nats else (low, p)
    return bsc(p)


class Given:
    """A functional whose values are given beforehand, one list of intervals per request."""

    def __init__(self, *lists):
        self.lists = list(lists)

    def rate(self, n_inputs, n_outputs):
        return Rate(n_inputs, n_outputs)

    def values(self, stack):
        return self.lists.pop(0)


@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (3, 2), (2, 5), (7, 4)])
def test_first_round_of_best_chan_id_is_the_printed_formula(shape, delta):
    # ε₁ = 1/8, δ₁ = δ/50, and every input gets ⌈n₁/|X|⌉
    request = BestChanID([shape] * 3, delta=delta).ask()
    assert request.senses == dict.fromkeys(range(3), per_input(plain_senses(1 / 8, delta / 50, *shape), shape[0]))


def test_inputs_share_a_remainder_upwards():
    # n₁ = 2 (mod 3) for this size and delta: the three inputs together get one sense more
    n = plain_senses(1 / 8, 0.01 / 50, 3, 3)
    assert n % 3 == 2
    assert BestChanID([(3, 3)] * 2, delta=0.01).ask().total == 2 * (n + 1)


def test_first_round_of_best_chan_id_at_a_fixed_input_uses_remark_1():
    request = BestChanID([(2, 2)] * 2, delta=0.1, input_distribution=[0.4, 0.6]).ask()
    assert request.senses[0] == per_input(plain_senses(1 / 8, 0.1 / 50, fixed_input=True))


def test_channels_of_different_alphabets_get_their_own_numbers():
    senses = BestChanID([(2, 2), (3, 4), (1, 7), (4, 2)], delta=0.1).ask().senses
    wanted = {c: plain_senses(1 / 8, 0.1 / 50, *size) for c, size in {0: (2, 2), 1: (3, 4), 3: (4, 2)}.items()}
    assert senses == {0: per_input(wanted[0], 2), 1: per_input(wanted[1], 3), 3: per_input(wanted[3], 4)}


@pytest.mark.parametrize("k", [2, 5])
def test_naive_chan_sel_senses_are_the_printed_formula(k):
    policy = NaiveChanSel([(2, 3)] * k, epsilon=0.1, delta=0.2)
    n = plain_senses(0.1 * NATS, 0.2 / (2 * k), 2, 3)
    assert policy.ask().senses == dict.fromkeys(range(k), per_input(n))


def test_naive_chan_sel_is_one_request():
    assert len(requests_of(NaiveChanSel([(2, 2)] * 5, epsilon=0.1, delta=0.2), noiseless([bsc(0.1)] * 5))) == 1


def test_median_chan_el_senses_are_the_printed_schedule():
    # ε₁ = ε/4, δ₁ = δ/2, then ε ← 3ε/4 and δ ← δ/2; each round at δ_r/3
    channels = [bsc(p) for p in (0.3, 0.1, 0.25, 0.15, 0.35)]
    requests = requests_of(MedianChanEl([(2, 2)] * 5, epsilon=0.2, delta=0.3), noiseless(channels))
    for r, request in enumerate(requests):
        n = plain_senses(0.2 * NATS / 4 * 0.75**r, 0.3 / 2 ** (r + 1) / 3)
        assert set(request.senses.values()) == {per_input(n)}
    assert [tuple(request.senses) for request in requests] == [(0, 1, 2, 3, 4), (1, 2, 3), (1, 3)]


@pytest.mark.parametrize("k", range(2, 18))
def test_median_chan_el_keeps_the_upper_half_rounded_up(k):
    channels = [bsc(0.45 - 0.4 * j / k) for j in range(k)]
    requests = requests_of(MedianChanEl([(2, 2)] * k, epsilon=0.5, delta=0.3), noiseless(channels))
    sizes = [k]
    while sizes[-1] > 1:
        sizes.append(math.ceil(sizes[-1] / 2))
    assert [tuple(request.senses) for request in requests] == [tuple(range(k - size, k)) for size in sizes[:-1]]


@pytest.mark.parametrize("k", [2, 3, 8])
def test_median_chan_el_ends_at_exact_ties_with_the_first(k):
    # "strictly below the median" of the paper would remove nothing here, for ever
    policy = MedianChanEl([(2, 2)] * k, epsilon=0.5, delta=0.3)
    requests = requests_of(policy, noiseless([bsc(0.1)] * k))
    assert len(requests) == math.ceil(math.log2(k))
    assert policy.recommendation == 0


def test_better_half_keeps_the_first_of_equals_in_their_order():
    values = {4: 0.5, 7: 0.9, 1: 0.5, 3: 0.5, 2: 0.1}
    assert better_half({j: Interval(v, v) for j, v in values.items()}) == (1, 4, 7)


def test_best_of_is_the_first_of_equals():
    assert best_of({4: Interval(0.5, 0.5), 7: Interval(0.9, 0.9), 1: Interval(0.9, 0.9)}) == 7


def test_dropped_channels_are_no_candidates_of_an_undecided_median_chan_el():
    policy = MedianChanEl([(2, 2)] * 4, epsilon=0.5, delta=0.3)
    first = policy.ask().total
    result = identify(noiseless([bsc(p) for p in (0.4, 0.1, 0.2, 0.3)]), policy, max_senses=first)
    assert not result.decided
    assert result.candidates == (1, 2)


def test_round_of_best_chan_id_is_estimates_then_the_subroutine_with_samples_of_its_own():
    policy = BestChanID([(2, 2)] * 3, delta=0.1)
    requests = requests_of(policy, noiseless([bsc(0.3), bsc(0.1), bsc(0.2)]))
    # [EBWGW24, Alg. 1]: the subroutine gets (ε₁/2, δ₁), and NaiveChanSel δ₁/(2k) of it for each estimate
    estimates, subroutine = plain_senses(1 / 8, 0.1 / 50), plain_senses(1 / 16, 0.1 / 50 / 6)
    assert [request.senses for request in requests[:2]] == [
        dict.fromkeys(range(3), per_input(estimates)),
        dict.fromkeys(range(3), per_input(subroutine)),
    ]
    assert (policy.recommendation, policy.rounds, len(requests)) == (1, 1, 2)


def test_median_subroutine_takes_a_request_for_each_halving():
    requests = requests_of(
        BestChanID([(2, 2)] * 4, delta=0.1, subroutine="median"), noiseless([bsc(p) for p in (0.4, 0.1, 0.2, 0.3)])
    )
    n = [plain_senses(1 / 8, 0.002), plain_senses(1 / 64, 0.002 / 2 / 3), plain_senses(3 / 256, 0.002 / 4 / 3)]
    assert [set(request.senses.values()) for request in requests] == [{per_input(m)} for m in n]
    assert [tuple(request.senses) for request in requests] == [(0, 1, 2, 3), (0, 1, 2, 3), (1, 2)]


def test_channels_are_removed_by_the_estimates_of_the_round_not_by_those_of_the_subroutine():
    good, poor = bsc(0.01), bsc(0.4)
    policy = BestChanID([(2, 2)] * 2, delta=0.1)
    # the round's samples favour channel 0, the subroutine's name channel 1: relative to it nothing is far below
    for channels in ([good, poor], [poor, good]):
        request = policy.ask()
        policy.tell(Observation(request.number, noiseless(channels)(request)))
    assert policy.candidates == (0, 1)
    assert policy.round_number == 2
    # both favour channel 0
    for _ in range(2):
        request = policy.ask()
        policy.tell(Observation(request.number, noiseless([good, poor])(request)))
    assert policy.recommendation == 0


THRESHOLD = 0.75 - 0.125 / NATS
"""Bits: ε₁ = 1/8 nat below an estimate of 0.75 bit."""


@pytest.mark.parametrize(
    ("rival", "kept"),
    [
        (Interval(0.1, THRESHOLD), True),
        (Interval(0.1, math.nextafter(THRESHOLD, 0)), False),
        (Interval(THRESHOLD, THRESHOLD), True),
        (Interval(0.1, 0.7), True),
    ],
)
def test_channel_goes_only_where_every_value_of_both_brackets_says_so(rival, kept):
    # the nearly best channel lies in [0.75, 0.9]: its lower end decides, and the rival's upper end
    policy = BestChanID([(2, 2)] * 2, delta=0.1)
    near_best = Interval(0.75, 0.9)
    policy.functional = Given([near_best, rival], [near_best, rival])
    for _ in range(2):
        request = policy.ask()
        policy.tell(Observation(request.number, noiseless([bsc(0.1)] * 2)(request)))
    assert policy.candidates == ((0, 1) if kept else (0,))


@pytest.mark.parametrize("subroutine", ["naive", "median"])
def test_run_of_twenty_channels_costs_what_the_formulas_say(subroutine):
    # gaps in nats: 0.08 for one rival, which survives ε₁ = 1/8 and falls at ε₂ = 1/16; 0.2 and more for the others
    gaps = [0.2 + 0.01 * j for j in range(18)]
    channels = [bsc_of(0.5 - gap) for gap in [*gaps[:7], 0.08, *gaps[7:12], 0.0, *gaps[12:]]]
    policy = BestChanID([(2, 2)] * 20, delta=0.05, subroutine=subroutine)
    result = identify(Simulator(channels, rng=1), policy)
    assert (result.best, result.decided, result.rounds, result.candidates) == (13, True, 2, (13,))
    assert result.senses == sum(round_cost(r, k, 0.05, subroutine) for r, k in ((1, 20), (2, 2)))


def round_cost(r, k, delta, subroutine):
    """Senses of round r of BestChanID with k candidates, 2 inputs each, from the printed formulas."""
    epsilon_r, delta_r = 2.0**-r / 4, delta / (50 * r**3)
    cost = k * sum(per_input(plain_senses(epsilon_r, delta_r)))
    if subroutine == "naive":
        return cost + k * sum(per_input(plain_senses(epsilon_r / 2, delta_r / (2 * k))))
    halving = 1
    while k > 1:
        n = plain_senses(epsilon_r / 8 * 0.75 ** (halving - 1), delta_r / 2**halving / 3)
        cost, k, halving = cost + k * sum(per_input(n)), math.ceil(k / 2), halving + 1
    return cost


@pytest.mark.parametrize("policy", [NaiveChanSel, MedianChanEl])
def test_memory_does_not_grow_with_the_senses(policy):
    channels = [bsc(0.1), bsc(0.2)]
    identify(Simulator(channels, rng=1), policy([(2, 2)] * 2, epsilon=0.5, delta=0.1))  # what is loaded once
    tracemalloc.start()
    result = identify(Simulator(channels, rng=1), policy([(2, 2)] * 2, epsilon=1e-4, delta=0.1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.senses > 10**14
    assert peak < 10**6


@pytest.mark.parametrize("subroutine", ["naive", "median"])
def test_run_on_exact_ties_ends_undecided_where_64_bit_counts_end(subroutine):
    sensor, policy = noiseless([bsc(0.1)] * 2), BestChanID([(2, 2)] * 2, delta=0.1, subroutine=subroutine)
    requests = requests_of(policy, sensor)
    assert policy.ask() is None
    assert (policy.recommendation, policy.candidates) == (None, (0, 1))
    schedule = (per_input(n) for r in itertools.count(1) for n in senses_of_two(r, 0.1, subroutine))
    fitting = itertools.takewhile(lambda senses: senses[0] < 2**63, schedule)
    assert [request.senses for request in requests] == [dict.fromkeys(range(2), senses) for senses in fitting]
    last = Observation(requests[-1].number, sensor(requests[-1]))
    with pytest.raises(InputError, match="no request is open: the policy has ended and recommends None"):
        policy.tell(last)
    assert (policy.ask(), policy.recommendation, policy.candidates) == (None, None, (0, 1))


def senses_of_two(r, delta, subroutine):
    """n of both requests of round r of BestChanID with two candidates, from the printed formulas."""
    epsilon_r, delta_r = 2.0**-r / 4, delta / (50 * r**3)
    own = plain_senses(epsilon_r, delta_r)
    if subroutine == "naive":
        return own, plain_senses(epsilon_r / 2, delta_r / 4)
    return own, plain_senses(epsilon_r / 8, delta_r / 2 / 3)


def test_identification_of_exact_ties_ends_undecided_without_a_limit():
    result = identify(noiseless([bsc(0.1)] * 2), BestChanID([(2, 2)] * 2, delta=0.1))
    assert (result.best, result.decided, result.candidates) == (None, False, (0, 1))
    assert result.senses > 2**63


def test_median_chan_el_whose_next_round_does_not_fit_ends_undecided_with_the_better_half():
    epsilon = 8e-6
    wanted = [plain_senses(epsilon * NATS / 4 * 0.75**r, 0.3 / 2 ** (r + 1) / 3) // 2 for r in range(2)]
    assert wanted[0] < 2**63 < wanted[1]
    policy = MedianChanEl([(2, 2)] * 4, epsilon=epsilon, delta=0.3)
    requests = requests_of(policy, noiseless([bsc(p) for p in (0.4, 0.1, 0.2, 0.3)]))
    assert len(requests) == 1
    assert (policy.ask(), policy.recommendation, policy.candidates) == (None, None, (1, 2))
