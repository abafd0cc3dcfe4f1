"""Adaptive, step by step: what it asks for, its evidence by a second implementation, and where it ends."""

import itertools
import math

import numpy as np
import pytest

from bestchannel import Adaptive, BestChanID, InputError, Observation, Simulator, identify
from bestchannel.channels import Channel, bec, bsc, q_ary_symmetric, random_channel, z_channel
from bestchannel.confidence.anytime import CAPACITY_SPREAD, REFINEMENTS, ROUNDING
from bestchannel.identification.adaptive import FIRST_SENSES, FIRST_SHARE, HOPELESS
from bestchannel.study.instances import random_binary_channels
from tests.reference import blahut_arimoto

NATS = math.log(2)
"""Nats in a bit."""

ENOUGH = 10**9


def alphabets_of(channels):
    return [(channel.n_inputs, channel.n_outputs) for channel in channels]


def run(channels, *, seed=1, max_senses=ENOUGH, **options):
    policy = Adaptive(alphabets_of(channels), **{"delta": 0.1, **options})
    return identify(Simulator(channels, rng=seed), policy, max_senses=max_senses)


def tell(policy, tables):
    """Answer the open request with the given rows, in whole numbers."""
    request = policy.ask()
    counts = {}
    for channel, senses in request.senses.items():
        counts[channel] = np.floor(np.array(tables[channel]) * np.array(senses)[:, None] + 0.5).astype(int)
        counts[channel][:, 0] += np.array(senses) - counts[channel].sum(axis=1)
    policy.tell(Observation(request.number, counts))


def test_first_request_is_a_few_senses_of_every_input_of_what_can_be_worth_something():
    policy = Adaptive([(2, 2), (1, 3), (4, 3), (2, 1)], delta=0.1)
    assert policy.ask().senses == {0: (FIRST_SENSES,) * 2, 2: (FIRST_SENSES,) * 4}


@pytest.mark.parametrize("seed", range(5))
def test_senses_are_100_000_times_fewer_than_those_of_best_chan_id(seed):
    instance = random_binary_channels(np.random.default_rng(seed), 10, 0.13)
    results = [
        identify(Simulator(instance.channels, rng=seed), policy(instance.alphabets, delta=0.05))
        for policy in (Adaptive, BestChanID)
    ]
    assert [result.best for result in results] == [instance.best] * 2
    assert 1e5 * results[0].senses < results[1].senses


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize(
    "channel", [bsc(0.1), bsc(0.5), z_channel(0.3), bsc(0.0)], ids=["BSC", "useless", "Z", "noiseless"]
)
def test_epsilon_decides_exact_ties(channel, k):
    result = run([channel] * k, epsilon=0.1)
    assert result.decided
    assert result.senses < 10**6


def test_larger_epsilon_takes_fewer_senses():
    senses = [run([bsc(0.1), bsc(0.12), bsc(0.11)], epsilon=epsilon).senses for epsilon in (0.0, 0.05, 0.2)]
    assert senses[0] > 2 * senses[1] > 4 * senses[2]


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_epsilon_that_is_no_accuracy_is_refused(epsilon):
    with pytest.raises(InputError, match=rf"epsilon \(the accuracy, in bits\) must lie in \[0, .*; it is {epsilon:g}"):
        Adaptive([(2, 2)] * 2, epsilon=epsilon, delta=0.1)


def test_channels_of_many_sizes_are_compared():
    # bits: 0.29, 1.42, 0.90, 0.65, 0
    sizes = [(2, 2), (3, 3), (2, 3), (4, 4), (5, 2)]
    channels = [
        bsc(0.2),
        q_ary_symmetric(3, 0.02),
        bec(0.1),
        q_ary_symmetric(4, 0.3),
        Channel.from_rows([[0.5, 0.5]] * 5),
    ]
    assert alphabets_of(channels) == sizes
    for seed in range(5):
        assert run(channels, seed=seed, delta=0.01).best == 1


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("p", [0.01, 0.2, 0.4])
@pytest.mark.parametrize(
    "worthless", [[[1.0], [1.0]], [[0.2, 0.3, 0.5]], [[1.0]]], ids=["one output", "one input", "both"]
)
def test_channel_worth_nothing_by_its_alphabet_is_ruled_out_by_senses_of_the_leader_alone(worthless, p, epsilon):
    channels = [Channel.from_rows(worthless), bsc(p)]
    policy, sensor, senses = Adaptive(alphabets_of(channels), delta=0.1, epsilon=epsilon), Simulator(channels, rng=1), 0
    while (request := policy.ask()) is not None:
        assert list(request.senses) == [1]
        senses += request.total
        policy.tell(Observation(request.number, sensor(request)))
    assert policy.recommendation == 1
    assert senses < 10_000


def test_epsilon_decides_between_channels_that_carry_nothing():
    assert run([Channel.from_rows([[1.0], [1.0]]), bsc(0.5)], epsilon=0.05).decided


@pytest.mark.parametrize("row", [(2, 4), (1, 5), (3, 3), (6, 0)])
def test_channel_worth_nothing_by_its_alphabet_never_leads(row):
    # six equal rows: their estimated value is 0 but for rounding, which may be downwards
    policy = Adaptive([(6, 1), (6, 2)], delta=0.1)
    policy.tell(Observation(1, {1: np.tile(row, (6, 1))}))
    assert policy.leader == 1
    assert list(policy.ask().senses) == [1]


@pytest.mark.parametrize("channel", [bsc(0.1), bsc(0.5), bsc(0.0)], ids=["BSC", "useless", "noiseless"])
def test_exact_ties_end_undecided_where_64_bit_counts_end(channel):
    # of both, because delta is too small for an error to be seen
    result = run([channel] * 2, delta=1e-6, max_senses=None)
    assert (result.best, result.decided, result.candidates) == (None, False, (0, 1))
    assert 2**62 < result.senses < 2**65


def test_noiseless_leader_is_named():
    # gaps of 0.02 bit and more; at delta = 0.1 some 86,000 senses are enough
    assert run([bsc(0.003), bsc(0.0), bsc(0.002)], delta=0.01, max_senses=10**6).best == 1


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 0.5, 0.999])
def test_any_delta_ends_with_the_best_channel(delta):
    # at delta = 0.999 nothing is promised, but the channels are far apart
    result = run([bsc(0.3), bsc(0.01), bsc(0.4)], delta=delta)
    assert (result.best, result.senses < 10**6) == (1, True)


def test_ruled_out_channels_never_come_back_without_epsilon():
    channels = [random_channel(3, 3, rng=np.random.default_rng(seed)) for seed in range(8)]
    candidates = []
    identify(
        Simulator(channels, rng=1),
        Adaptive([(3, 3)] * 8, delta=0.1),
        progress=lambda status: candidates.append(set(status.candidates)),
    )
    assert all(later <= earlier for earlier, later in itertools.pairwise(candidates))
    assert len(candidates[-1]) == 1


def test_shares_of_delta_add_up_to_delta():
    # over the restarts of one leader's bets, and with epsilon over the leaders
    policy = Adaptive([(2, 2)] * 2, delta=0.1)
    assert policy._threshold(1) == pytest.approx(math.log(1 / (FIRST_SHARE * 0.1)), rel=1e-15)
    within = Adaptive([(2, 2)] * 2, delta=0.1, epsilon=0.05)
    spent = 0.0
    for attempt in range(1, 400):
        within._attempt = attempt
        for restarts in range(20):
            within._evidence[1].restarts = policy._evidence[1].restarts = restarts
            spent += math.exp(-within._threshold(1))
    # sum of 1/(i(i+1)) up to 399 is 399/400; beyond 20 restarts 1e-20 is left
    assert spent == pytest.approx(0.1 * 399 / 400, rel=1e-12)
    alone = [math.log(1 / 0.1) - math.log(FIRST_SHARE * (1 - FIRST_SHARE) ** i) for i in range(20)]
    assert policy._threshold(1) == pytest.approx(alone[19], rel=1e-12)
    assert sum(math.exp(-nats) for nats in alone) == pytest.approx(0.1, rel=1e-12)


def test_new_leader_within_epsilon_starts_anew_with_a_smaller_share():
    good, poor = bsc(0.01).W, bsc(0.3).W
    policy = Adaptive([(2, 2)] * 2, delta=0.1, epsilon=0.1)
    for _ in range(3):
        tell(policy, [good, poor])
    assert policy.leader == 0
    assert policy._threshold(1) == pytest.approx(math.log(2 / (FIRST_SHARE * 0.1)), rel=1e-15)
    assert policy._weigh()[1] > 0.0
    while policy.leader == 0 and policy.ask() is not None:
        tell(policy, [poor, good])
    assert policy.leader == 1
    assert policy.candidates == (0, 1)
    assert policy._weigh() == {0: 0.0}
    assert policy._threshold(0) == pytest.approx(math.log(6 / (FIRST_SHARE * 0.1)), rel=1e-15)


class Recorder(Adaptive):
    """Keeps the bets that were fixed before each answer, the answers, and the evidence before rivals are ruled out."""

    def __init__(self, *arguments, **options):
        self.exchange, self.evidence, self.dropped = [], [], []
        super().__init__(*arguments, **options)

    def _settle(self, bets, counts):
        self.exchange.append((bets, counts))
        super()._settle(bets, counts)

    def _rule_out(self):
        before = self._weigh()
        thresholds = {rival: self._threshold(rival) for rival in before}
        self.evidence.append((before, thresholds, self.leader))
        found = super()._rule_out()
        self.dropped.append(set(before) - set(self.candidates))
        return found


def plain_root(W, N, stakes):
    """ν with sum_y W N / (ν + stakes) = 1 by bisection: between the least that is positive and N more."""
    low, high = -min(stakes), N - min(stakes)
    for _ in range(200):
        nu = (low + high) / 2
        if nu + min(stakes) <= 0.0 or math.fsum(w * N / (nu + stake) for w, stake in zip(W, stakes, strict=True)) > 1.0:
            low = nu
        else:
            high = nu
    return high


def plain_leader_bets(W, P, N, s):
    """(pays, price) of one rival as docs/theory/adaptive.md defines them, entry by entry."""
    inputs, outputs = range(len(W)), range(len(W[0]))
    V = [list(row) for row in W]
    for _ in range(REFINEMENTS):
        Q = [math.fsum(P[x] * V[x][y] for x in inputs) for y in outputs]
        stakes = [[s * P[x] * math.log(V[x][y] / Q[y]) for y in outputs] for x in inputs]
        nu = [plain_root(W[x], N[x], stakes[x]) for x in inputs]
        wealth = [[(nu[x] + stakes[x][y]) / N[x] for y in outputs] for x in inputs]
        V = [[0.5 * V[x][y] + 0.5 * W[x][y] / wealth[x][y] for y in outputs] for x in inputs]
    price = math.fsum(max(N[x] * (wealth[x][y] - 1) - stakes[x][y] for y in outputs) for x in inputs)
    return [[math.log(value) for value in row] for row in wealth], price


class Ledger:
    """The evidence against one rival: L + s ε - G C(Ŵ), from nothing but the bets and the answers."""

    def __init__(self, shape):
        self.paid, self.weight, self.total, self.counts = 0.0, 0.0, 0.0, np.zeros(shape)

    def book(self, bets, i, counts):
        theta, rounds = float(bets.thetas[i]), float(bets.rounds[i])
        s = rounds * theta * (1 - CAPACITY_SPREAD * theta / 2)
        pays, price = plain_leader_bets(bets.rows.tolist(), bets.inputs.tolist(), bets.senses.tolist(), s)
        table = counts[bets.leader].tolist()
        self.paid += math.fsum(
            n * pay for row, line in zip(table, pays, strict=True) for n, pay in zip(row, line, strict=True)
        )
        self.paid -= price + ROUNDING
        self.weight += s
        if bets.rivals[i] in counts:
            self.total += theta * rounds
            self.counts = self.counts + theta * counts[bets.rivals[i]]

    def nats(self, epsilon):
        """The evidence, by the capacity of a second implementation, and how far G C(Ŵ) may be off."""
        if not self.total:
            return self.paid + self.weight * epsilon * NATS, 0.0
        low, high = blahut_arimoto.capacity(self.counts / self.counts.sum(axis=1, keepdims=True), gap=1e-10)
        # the certified bracket of the policy is 1e-9 bit wide
        return self.paid + (self.weight * epsilon - self.total * high) * NATS, self.total * (1e-9 + high - low) * NATS


REPLAYED = {
    "binary": ([bsc(0.3), bsc(0.05), bsc(0.12), z_channel(0.5)], 0.0),
    "within epsilon": ([bsc(0.15), bsc(0.1), bsc(0.12)], 0.04),
    "three inputs": ([random_channel(3, 4, rng=np.random.default_rng(seed)) for seed in (1, 2, 5)], 0.0),
    "different sizes": ([bsc(0.1), bec(0.3), Channel.from_rows([[1.0], [1.0]])], 0.0),
}


@pytest.mark.parametrize("name", REPLAYED)
@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_that_of_a_second_implementation(name, seed):
    channels, epsilon = REPLAYED[name]
    policy = Recorder(alphabets_of(channels), delta=0.05, epsilon=epsilon)
    identify(Simulator(channels, rng=seed), policy, max_senses=10**5)
    assert policy.recommendation is not None
    ledgers, leader, compared = [Ledger(shape) for shape in policy.alphabets], None, 0
    # the evidence after the first look, then after every answer
    for (evidence, thresholds, leads), dropped, answer in zip(
        policy.evidence, policy.dropped, [None, *policy.exchange], strict=True
    ):
        if answer:
            bets, counts = answer
            for i, rival in enumerate(bets.rivals):
                ledgers[rival].book(bets, i, counts)
        if epsilon and leads != leader:
            ledgers = [Ledger(shape) for shape in policy.alphabets]
        leader = leads
        for rival, nats in evidence.items():
            expected, width = ledgers[rival].nats(epsilon)
            assert nats == pytest.approx(expected, abs=width + 1e-9)
            assert (rival in dropped) == (nats >= thresholds[rival])
            if nats < HOPELESS:
                ledgers[rival] = Ledger(policy.alphabets[rival])
            compared += nats != 0.0
    assert compared > 5


@pytest.mark.parametrize("seed", range(5))
def test_bets_are_what_the_request_asks_for_and_fixed_before_its_answer(seed):
    channels = [bsc(0.3), bsc(0.05), bsc(0.12), z_channel(0.5)]
    sensor, told = Simulator(channels, rng=seed), []
    policy = Recorder([(2, 2)] * 4, delta=0.05)
    while (request := policy.ask()) is not None:
        # the same past, and an answer as strange as can be: every sense gives the last output
        other = Recorder([(2, 2)] * 4, delta=0.05)
        for observation in told:
            other.tell(observation)
        strange = {channel: np.array([[0, n] for n in senses]) for channel, senses in request.senses.items()}
        other.tell(Observation(request.number, strange))
        told.append(Observation(request.number, sensor(request)))
        policy.tell(told[-1])
        if request.number > 1:
            bets, same = policy.exchange[-1][0], other.exchange[-1][0]
            assert tuple(bets.senses) == request.senses[bets.leader]
            assert all((m,) * 2 == request.senses[rival] for rival, m in zip(bets.rivals, bets.rounds, strict=True))
            assert (bets.leader, bets.rivals) == (same.leader, same.rivals)
            for field in ("rows", "inputs", "senses", "thetas", "rounds", "weights"):
                assert getattr(bets, field).tobytes() == getattr(same, field).tobytes()


def test_asking_for_evidence_changes_nothing():
    channels = [bsc(0.1), bsc(0.2), bsc(0.3)]
    plain, watched = Adaptive([(2, 2)] * 3, delta=0.1), Adaptive([(2, 2)] * 3, delta=0.1)
    sensor = Simulator(channels, rng=1)
    while (request := plain.ask()) is not None:
        assert watched._weigh() == watched._weigh()
        assert watched.ask() == request
        observation = Observation(request.number, sensor(request))
        plain.tell(observation)
        watched.tell(observation)
    assert watched.recommendation == plain.recommendation == 0


@pytest.mark.parametrize("alphabets", [[(2, 2)], [(1, 2), (2, 1)]])
def test_policy_that_ends_at_once_has_no_evidence(alphabets):
    policy = Adaptive(alphabets, delta=0.1)
    assert policy.recommendation == 0
    assert set(policy._weigh().values()) <= {0.0}
