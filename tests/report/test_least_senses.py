import pytest

import bestchannel as bc
from bestchannel.channels import Channel
from bestchannel.lower_bound.bound import lower_bound
from bestchannel.report.page import least_senses, page
from bestchannel.report.summary import summarise
from tests.report.examples import alone, bsc, by_the_paper, decided, identified, large, useless


def test_the_bound_is_that_of_the_estimated_channels():
    summary = summarise(decided())
    known = lower_bound([Channel.from_rows(c.W_hat, normalize=True) for c in summary.channels], 0.05, rtol=0.01)
    found = least_senses(summary)
    assert found.proved
    assert found.senses == pytest.approx(known.senses_lower_bound, rel=0.05)  # both brackets are that wide at most


def test_the_page_sets_the_bound_beside_the_senses():
    source = page(decided())
    found = least_senses(summarise(decided()))
    assert f"<b>at least</b> {found.senses:,.0f} senses" in source
    assert f"<b>this run</b> {decided().senses} senses, {decided().senses / found.senses:.3g} times as many" in source


def test_large_channels_get_the_approximation_and_it_says_so():
    found = least_senses(summarise(large(12, 16)))
    assert not found.proved
    assert found.senses > 0
    assert "not a proof" in found.remark


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (alone, "Nothing to tell apart"),
        (by_the_paper, "within ε"),
        (lambda: identified({"a": bsc(0.02), "b": bsc(0.3)}, input_distribution=[0.5, 0.5]), "I(P;W)"),
    ],
)
def test_where_the_bound_does_not_apply_the_reason_stands_there(example, reason):
    found = least_senses(summarise(example()))
    assert found.senses is None
    assert reason in found.remark


def test_channels_of_capacity_0_by_their_alphabet_do_not_hinder_the_bound():
    assert least_senses(summarise(useless())).senses > 0


@pytest.mark.parametrize("question", [bc.Above(0.5), bc.Top(1), bc.Order(), bc.Within(0.2)])
def test_other_questions_have_the_bound_of_their_own(question):
    sensor = bc.Simulator({"a": bsc(0.02), "b": bsc(0.3), "one input": [[0.5, 0.5]]}, rng=1)
    summary = summarise(bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05, question=question)))
    found = least_senses(summary)
    assert found.proved
    assert 0 < found.senses < summary.senses
