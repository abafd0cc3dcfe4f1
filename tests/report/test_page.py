import re

import pytest

from bestchannel.policies import Adaptive, identify
from bestchannel.report.page import page
from bestchannel.report.summary import summarise
from bestchannel.sensing import Simulator
from tests.report.examples import (
    EVERY,
    alone,
    bsc,
    by_the_paper,
    decided,
    hostile_names,
    identified,
    large,
    undecided,
    unsensed,
    useless,
)
from tests.report.reading import Page

HEADINGS = ["Capacities", "Course", "Where the senses went", "The channels", "The lower bound", "Reproduce it"]


@pytest.fixture(params=EVERY.values(), ids=EVERY.keys(), scope="module")
def source(request):
    return page(request.param())


def headings(source):
    return re.findall("<h2>(.*?)</h2>", source)


def test_everything_that_opens_closes(source):
    found = Page(source)
    assert (found.open, found.faults) == ([], [])


def test_nothing_is_fetched_and_nothing_runs(source):
    found = Page(source)
    assert not found.named("script")
    references = [a[key] for _, a in found.elements for key in ("src", "href", "srcset") if key in a]
    assert references == ["data:,"]
    assert "url(" not in source
    assert "@import" not in source
    assert not [key for _, a in found.elements for key in a if key.startswith("on")]


def test_every_picture_has_a_name_and_a_description(source):
    for drawing in re.findall(r'<svg role="img".*?</desc>', source):
        assert re.search(r"<title>[^<]+</title><desc>[^<]+</desc>$", drawing)


def test_the_page_declares_its_language_width_and_encoding(source):
    assert source.startswith("<!DOCTYPE html>")
    assert '<html lang="en">' in source
    assert '<meta charset="utf-8">' in source
    assert 'content="width=device-width' in source


def test_a_finished_identification_has_every_section():
    assert headings(page(decided())) == HEADINGS


def test_the_verdict_comes_first_with_its_guarantee():
    words = Page(page(decided())).words
    assert words.startswith("decided cable has the largest capacity. The named channel is the best with probability")


def test_an_undecided_one_says_between_which_channels_and_how_many_senses_are_missing():
    words = Page(page(undecided())).words
    forecast = undecided().audit.steps[-1].status.more_senses
    assert words.startswith("undecided Undecided between ")
    assert f"About {forecast:,} more senses would decide." in words
    assert "rope" not in words.split(".")[0]


def test_within_epsilon_is_not_called_the_largest():
    words = Page(page(by_the_paper())).words
    assert "is within 0.2 bits of the largest capacity." in words
    assert "has the largest capacity" not in words


def test_a_policy_that_weighs_no_evidence_has_no_evidence_figure():
    assert "Evidence against rivals" not in page(by_the_paper())
    assert "Evidence against rivals" in page(decided())


def test_before_the_first_sense_there_is_only_the_question():
    source = page(unsensed())
    assert headings(source) == ["Reproduce it"]
    assert "Nothing has been sensed yet." in source


def test_one_channel_is_a_valid_identification():
    assert "only is the only channel." in page(alone())


def test_both_intervals_of_every_channel_stand_in_the_table():
    words = Page(page(decided())).words
    for channel in summarise(decided()).channels:
        found = channel.estimate
        assert f"{found.capacity:.4f} {found.lower:.4f} … {found.upper:.4f}" in words
        assert f"{found.asymptotic.lower:.4f} … {found.asymptotic.upper:.4f}" in words


def test_every_moment_stands_in_the_table_of_the_course():
    words = Page(page(decided())).words
    for step in decided().audit.steps:
        assert f"{step.request.number} {step.status.senses:,} {len(step.status.candidates)} " in words


def test_every_input_of_the_heat_map_carries_its_senses():
    source = page(decided())
    for channel in summarise(decided()).channels:
        for letter, senses in zip(channel.inputs, channel.by_input, strict=True):
            assert f"<title>{channel.name}, input {letter}: {senses:,.0f} senses" in source


def test_names_are_shown_and_never_obeyed():
    source = page(hostile_names())
    assert "<script" not in source
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in source
    assert "\x00" not in source
    assert "\u202e" not in source
    assert "链路 ∂ é" in source


def test_a_long_name_is_shortened_where_it_is_read():
    name = "long " * 200
    assert name.strip() not in Page(page(hostile_names())).words


def test_channels_without_capacity_and_with_other_alphabets_are_drawn():
    words = Page(page(useless())).words
    assert "deaf not estimated" in words
    assert "clean has the largest capacity." in words


def test_a_fixed_input_distribution_is_named_and_capacities_are_not_claimed():
    channels = {"a": bsc(0.02), "b": bsc(0.3)}
    sensor = Simulator(channels, rng=1)
    policy = Adaptive(sensor.alphabets, delta=0.05, input_distribution=[0.25, 0.75])
    source = page(identify(sensor, policy))
    assert "a has the largest I(P;W)." in source
    assert "I(P;W) at P = (0.25, 0.75)" in source
    assert "--input-distribution 0.25,0.75" in source


def test_the_command_names_policy_and_options():
    assert "bestchannel identify --simulate CHANNELS --policy adaptive --delta 0.05" in page(decided())
    assert "--policy naive --delta 0.1 --epsilon 0.2" in page(by_the_paper())
    sensor = Simulator({"a": bsc(0.01), "b": bsc(0.4)}, rng=1)
    calibrated = Adaptive(sensor.alphabets, delta=0.05, sampling="lucb", threshold="calibrated")
    assert "--delta 0.05 --sampling lucb --threshold calibrated" in page(identify(sensor, calibrated))


def test_the_fingerprint_and_the_origin_stand_in_the_page():
    source = page(decided(), origin=[("drawn from", "r<1>.json")])
    assert f"sha256:{summarise(decided()).fingerprint}" in source
    assert "r&lt;1&gt;.json" in source


def test_the_same_result_gives_the_same_page():
    assert page(undecided()) == page(undecided())


def test_156_binary_channels_take_less_than_half_a_megabyte():
    channels = {f"q{j}": bsc(0.01 + 0.002 * j) for j in range(156)}
    source = page(identified(channels, max_senses=60_000, epsilon=1e-3))
    assert len(source.encode()) < 500_000
    assert Page(source).words.count("q155") >= 4


def test_sixteen_letters_take_bytes_in_proportion_so_that_200_such_channels_stay_below_two_megabytes():
    # 12 and 24 channels instead of 200, whose estimates alone take many seconds
    small, twice = (len(page(large(n, 16)).encode()) for n in (12, 24))
    assert twice + (twice - small) / 12 * (200 - 24) < 2_000_000
