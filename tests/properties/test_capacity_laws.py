"""Laws that hold for the capacity of all channels.

Brackets contain the truth, so laws need no tolerance: equal capacities have brackets that
overlap, and C(A) <= C(B) means lower(A) <= upper(B). Only where a law combines matrices into
another one are that one's entries rounded; what this may change is allowed for by `ROUNDED`.
"""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bestchannel as bc
from bestchannel import Channel
from bestchannel.channels import cascade, product
from bestchannel.information import divergences_nats
from tests.properties.channel_strategies import channels, distributions, stacks
from tests.reference import ball

EPS = np.finfo(float).eps

ROUNDED = 64 * EPS
"""In bits. Entries off by a relative k eps move D(W_x || Q) by at most k eps (D + 2/e + 1) nats;
a sum of 5 products has k <= 8 and D <= log 25."""

several = settings(max_examples=40)


def overlap(a, b, allowed=0.0):
    return a.lower <= b.upper + allowed and b.lower <= a.upper + allowed


@given(W=channels())
def test_capacity_lies_between_zero_and_the_logarithm_of_the_smaller_alphabet(W):
    C = bc.capacity(W)
    assert C.converged
    assert 0.0 <= C.lower <= C.upper
    assert C.gap <= 1e-9
    # the ceiling is rounded once
    assert C.upper <= math.log2(min(W.shape)) * (1 + 4 * EPS)


@given(W=channels())
def test_the_distributions_achieve_and_prove_the_bounds(W):
    C = bc.capacity(W)
    scaled = W / W.sum(axis=1, keepdims=True)
    for P in (C.input, C.output):
        assert P.min() >= 0.0
        assert abs(P.sum() - 1.0) <= 4 * len(P) * EPS
    # divergences_nats is good to some units in the last place of numbers <= log 5
    achieved = float(C.input @ divergences_nats(scaled, C.input @ scaled)) / math.log(2.0)
    proved = float(divergences_nats(scaled, C.output).max()) / math.log(2.0)
    assert C.lower <= achieved + ROUNDED
    assert min(proved, math.log2(min(W.shape))) - ROUNDED <= C.upper


@given(data=st.data(), W=channels())
def test_relabelling_inputs_and_outputs_changes_nothing(data, W):
    inputs = data.draw(st.permutations(range(W.shape[0])))
    outputs = data.draw(st.permutations(range(W.shape[1])))
    assert overlap(bc.capacity(W), bc.capacity(W[np.ix_(inputs, outputs)]), ROUNDED)


@given(data=st.data(), W=channels())
def test_a_duplicated_input_changes_nothing(data, W):
    x = data.draw(st.integers(0, len(W) - 1))
    assert overlap(bc.capacity(W), bc.capacity(np.vstack([W, W[x : x + 1]])))


@given(data=st.data(), W=channels())
def test_an_input_that_mixes_others_changes_nothing(data, W):
    P = data.draw(distributions(len(W)))
    assert overlap(bc.capacity(W), bc.capacity(np.vstack([W, P @ W]), normalize=True), ROUNDED)


@given(data=st.data(), W=channels())
def test_another_input_never_lowers_capacity(data, W):
    more = np.vstack([W, data.draw(distributions(W.shape[1]))])
    assert bc.capacity(W).lower <= bc.capacity(more).upper


@given(data=st.data(), W=channels(largest=4))
def test_an_unused_output_changes_nothing(data, W):
    y = data.draw(st.integers(0, W.shape[1]))
    assert overlap(bc.capacity(W), bc.capacity(np.insert(W, y, 0.0, axis=1)))


@given(data=st.data(), W=channels())
def test_an_output_split_at_random_changes_nothing(data, W):
    # the coin that splits it is independent of the input
    share = data.draw(st.sampled_from([0.5, 0.25, 2.0**-30]))
    split = np.hstack([W[:, :1] * share, W[:, :1] * (1 - share), W[:, 1:]])
    assert overlap(bc.capacity(W), bc.capacity(split), ROUNDED)


@given(data=st.data(), W=channels())
def test_merging_outputs_never_raises_capacity(data, W):
    merge = np.eye(W.shape[1])[
        data.draw(st.lists(st.integers(0, W.shape[1] - 1), min_size=W.shape[1], max_size=W.shape[1]))
    ]
    merged = cascade(Channel.from_rows(W), Channel.from_rows(merge))
    assert bc.capacity(merged).lower <= bc.capacity(W).upper + ROUNDED


@given(data=st.data(), W=channels(largest=4))
def test_a_cascade_has_at_most_the_capacity_of_either_channel(data, W):
    V = data.draw(channels(n_inputs=W.shape[1], largest=4))
    line = bc.capacity(cascade(Channel.from_rows(W), Channel.from_rows(V)))
    assert line.lower <= min(bc.capacity(W).upper, bc.capacity(V).upper) + ROUNDED


@several
@given(V=channels(largest=3), W=channels(largest=4))
def test_the_product_of_channels_adds_their_capacities(V, W):
    both = bc.capacity(product(Channel.from_rows(V), Channel.from_rows(W)))
    first, second = bc.capacity(V), bc.capacity(W)
    assert both.lower <= first.upper + second.upper + ROUNDED
    assert first.lower + second.lower <= both.upper + ROUNDED


@given(data=st.data(), W=channels(largest=4), share=st.sampled_from([0.0, 1e-9, 0.25, 0.5, 0.9, 1.0]))
def test_capacity_is_convex_in_the_channel(data, W, share):
    # [CT06, Th. 2.7.4]: I(P; W) is convex in W for each P, and so is the maximum over P
    V = data.draw(channels(*W.shape))
    mixed = bc.capacity(share * V + (1 - share) * W, normalize=True)
    assert mixed.lower <= share * bc.capacity(V).upper + (1 - share) * bc.capacity(W).upper + ROUNDED


@given(W=channels(), share=st.sampled_from([1e-9, 1e-3, 0.5, 1.0]))
def test_pseudo_capacity_exceeds_capacity_by_at_most_the_logarithm_of_the_free_mass(W, share):
    # [EBWGW24, after eq. (2)]: C <= C_eta <= C - log2(1 - eta |Y|)
    m = W.shape[1]
    eta = share / (2 * m)
    C, floored = bc.capacity(W), bc.pseudo_capacity(W, eta)
    assert floored.converged
    assert floored.lower <= floored.upper
    assert C.lower <= floored.upper
    assert floored.lower <= C.upper - math.log1p(-eta * m) / math.log(2.0) + ROUNDED


@given(W=channels(), shares=st.tuples(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0)).map(sorted))
def test_pseudo_capacity_grows_with_the_floor(W, shares):
    low, high = (bc.pseudo_capacity(W, share / (2 * W.shape[1])) for share in shares)
    assert low.lower <= high.upper


@given(W=channels(), share=st.sampled_from([1e-9, 1e-3, 0.5, 1.0]))
def test_the_distributions_achieve_and_prove_the_pseudo_capacity(W, share):
    eta = share / (2 * W.shape[1])
    C = bc.pseudo_capacity(W, eta)
    D = divergences_nats(W / W.sum(axis=1, keepdims=True), C.output) / math.log(2.0)
    assert C.output.min() >= eta * (1 - 4 * EPS)
    assert abs(C.output.sum() - 1.0) <= 8 * len(C.output) * EPS
    assert abs(C.input.sum() - 1.0) <= 8 * len(C.input) * EPS
    # `output` is the best for `input`, so that the mean of D is the minimum over outputs
    assert C.lower <= C.input @ D + ROUNDED
    assert D.max() - ROUNDED <= C.upper


# rounded, as costs that differ by less than 1e-200 of the largest difference are refused
anything = st.floats(-10.0, 10.0).map(lambda cost: round(cost, 100))
costs = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0]) | anything, min_size=5, max_size=5)


@given(W=channels(), costs=costs, shares=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(sorted))
def test_capacity_under_a_cost_grows_with_the_budget_and_is_concave_in_it(W, costs, shares):
    cost = np.array(costs[: len(W)])
    least, most = cost.min(), cost.max()
    budgets = [least + share * (most - least) for share in shares]
    low, high = (bc.capacity(W, cost=cost, budget=max(budget, least)) for budget in budgets)
    middle = bc.capacity(W, cost=cost, budget=max(sum(budgets) / 2, least))
    assert low.lower <= high.upper
    assert (low.lower + high.lower) / 2 <= middle.upper + ROUNDED
    for answer, budget in zip((low, high), budgets, strict=True):
        assert answer.converged
        assert answer.input @ cost <= budget + 16 * EPS * (1.0 + np.abs(cost).max())


@given(W=channels(), costs=costs, extra=st.sampled_from([0.0, 1e-9, 1.0, 1e9]))
def test_a_budget_for_the_dearest_input_is_no_constraint(W, costs, extra):
    cost = np.array(costs[: len(W)])
    assert overlap(bc.capacity(W), bc.capacity(W, cost=cost, budget=cost.max() + extra))


@given(W=channels(), costs=costs)
def test_a_budget_for_the_cheapest_inputs_only_leaves_those(W, costs):
    cost = np.array(costs[: len(W)])
    cheapest = cost == cost.min()
    answer = bc.capacity(W, cost=cost, budget=cost.min())
    assert overlap(answer, bc.capacity(W[cheapest]))
    assert np.all(answer.input[~cheapest] == 0.0)


@several
@given(data=st.data(), leading=st.sampled_from([(), (1,), (3,), (2, 3), (9,), (1, 2, 2)]))
def test_a_stack_is_answered_channel_by_channel(data, leading):
    W = data.draw(stacks(leading))
    many = bc.capacities(W)
    assert many.lower.shape == many.upper.shape == many.gap.shape == many.converged.shape == leading
    assert many.input.shape == (*leading, W.shape[-2])
    assert many.output.shape == (*leading, W.shape[-1])
    for index in np.ndindex(leading):
        one = bc.capacity(W[index])
        # the arithmetic of a lane does not depend on its neighbours
        assert (many.lower[index], many.upper[index]) == (one.lower, one.upper)
        assert many.converged[index] == one.converged
        assert np.array_equal(many.input[index], one.input)
        assert np.array_equal(many.output[index], one.output)


@several
@given(W=stacks((40,)), workers=st.sampled_from([1, 2, 3, 7]), rtol=st.sampled_from([None, 1e-6]))
def test_the_number_of_workers_does_not_change_a_bit(W, workers, rtol):
    one, many = bc.capacities(W, workers=1, rtol=rtol), bc.capacities(W, workers=workers, rtol=rtol)
    for field in ("lower", "upper", "converged", "input", "output"):
        assert np.array_equal(getattr(one, field), getattr(many, field))


@given(q=distributions(4), signs=st.lists(st.integers(-4, 4), min_size=12, max_size=12), digits=st.integers(1, 5))
def test_a_relative_tolerance_is_met_and_true_for_tiny_capacities(q, signs, digits):
    W = q * (1.0 + 10.0**-digits * np.reshape(signs, (3, 4)) / 8.0)
    W /= W.sum(axis=1, keepdims=True)
    C = bc.capacity(W, rtol=1e-6)
    exact = bc.capacity(W, rtol=1e-6, rigorous=True)
    assert overlap(C, exact)
    if exact.upper > 1e-12:  # below, the rounding of the rows themselves is no longer small
        assert C.converged
        assert C.gap <= 1e-6 * C.upper


@several
@given(W=channels())
def test_the_rigorous_bracket_is_what_its_distributions_prove(W):
    C = bc.capacity(W, rigorous=True)
    with ball.precision():
        assert not ball.surely_below(ball.mutual_information(C.input, W), C.lower)
        assert not ball.surely_below(C.upper, ball.largest_divergence(W, C.output))
