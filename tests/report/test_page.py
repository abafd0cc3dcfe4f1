import base64
import hashlib
import json
import re
import zlib
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import numpy as np
import pytest

from bestchannel.counts import LabelledCounts
from bestchannel.errors import InputError
from bestchannel.intervals import estimate
from bestchannel.intervals.verdict import one_digit
from bestchannel.policies import Adaptive, identify
from bestchannel.policies.transcript import as_document
from bestchannel.promises import in_words
from bestchannel.report.page import MOST_UNPACKED, page, record_element, record_in
from bestchannel.report.provenance import Provenance
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


def test_nothing_is_fetched_and_nothing_runs_but_the_script_of_the_page(source):
    found = Page(source)
    kinds = [attributes.get("type") for attributes in found.named("script")]
    assert kinds == ["application/json", None]
    script = source.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    assert found.named("meta")[3]["content"] == policy
    assert script == files("bestchannel.report").joinpath("page.js").read_text(encoding="utf-8")
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
    assert f"Some {one_digit(forecast):,} more senses would decide, if the estimates are right." in words
    assert "rope" not in words.split(".")[0]


def test_within_epsilon_is_not_called_the_largest():
    words = Page(page(by_the_paper())).words
    assert "is within 0.2 bit of the largest capacity." in words
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
        if found.asymptotic is not None:
            assert f"{found.asymptotic.lower:.4f} … {found.asymptotic.upper:.4f}" in words


def test_an_interval_that_is_withheld_is_neither_drawn_nor_written():
    counts = {"few": LabelledCounts("few", np.array([[9, 1], [1, 9]]), ("0", "1"), ("0", "1"), False)}
    source = page(estimate(counts))
    drawn = source.partition('data-name="few"')[2].partition("</g>")[0]
    assert 'class="proved"' in drawn
    assert 'class="normal"' not in drawn
    assert "0.0000 … 1.0000" not in Page(source).words
    assert "approximate, not proved, withheld (not measured for inputs with fewer than 20 senses)" in source


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
    assert source.count("<script") == 2
    assert "<script>alert" not in source
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
    source = page(decided(), origin=Provenance(more=(("drawn from", "r<1>.json"),)))
    assert f"sha256:{summarise(decided()).fingerprint}" in source
    assert "r&lt;1&gt;.json" in source


def test_the_same_result_gives_the_same_page():
    assert page(undecided()) == page(undecided())


def test_title_note_times_and_amendments_stand_in_the_page():
    began = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)
    about = Provenance(
        title="The <attic>",
        note="first line\nsecond line",
        began=began,
        ended=began + timedelta(hours=3, minutes=12),
        drawn=began + timedelta(days=1),
        amended=(2, 5),
    )
    words = Page(page(decided(), origin=about)).words
    assert words.startswith("The <attic> decided cable has the largest capacity.")
    assert "first line second line" in words
    assert "time 3 h 12 min from 2026-11-15 08:00 UTC" in words
    assert "last answer 2026-11-15 11:12 UTC drawn 2026-11-16 08:00 UTC" in words
    assert "amended the answer to request 2, 5, after it was told" in words
    assert "<title>The &lt;attic&gt; · cable has the largest capacity. · bestchannel</title>" in page(
        decided(), origin=about
    )


def test_the_command_has_the_files_that_are_known():
    simulated = Provenance(source="simulation", data="links.json", seed=7, report="r.html")
    assert "bestchannel identify --simulate links.json --policy adaptive" in page(decided(), origin=simulated)
    assert "--seed 7" in page(decided(), origin=simulated)
    assert "bestchannel verify r.html" in page(decided(), origin=simulated)
    laboratory = Provenance(source="laboratory", run="lab 1.db")
    assert "bestchannel run resume &#x27;lab 1.db&#x27;" in page(decided(), origin=laboratory)
    assert "bestchannel verify &#x27;lab 1.db&#x27;" in page(decided(), origin=laboratory)


def test_only_an_undecided_page_has_the_colour_of_undecided():
    assert '<div class="undecided">' in page(undecided())
    assert '<div class="undecided">' not in page(decided())


@pytest.mark.parametrize("name", EVERY)
def test_record_inside_a_page_is_the_record(name):
    result = EVERY[name]()
    assert record_in(page(result).encode()) == json.loads(json.dumps(as_document(result)))


def test_record_that_is_too_large_is_packed_and_one_that_is_still_too_large_is_left_out():
    result, whole = decided(), json.loads(json.dumps(as_document(decided())))
    plain = len(record_element(result, 10**9))
    packed = record_element(result, plain // 2)
    assert packed.startswith('<script type="application/json+deflate" id="record">')
    assert record_in(f"<!DOCTYPE html>{packed}".encode()) == whole
    assert record_element(result, 100) is None


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ("", "it has none"),
        ('<script type="application/json" id="record">{</script>', "the file must be JSON"),
        ('<script type="application/json+deflate" id="record">!</script>', "the record inside the page is damaged"),
        ('<script type="application/json+deflate" id="record">eJw=</script>', "does not end where it should"),
        (2 * '<script type="application/json" id="record">{}</script>', "it has none"),
    ],
)
def test_page_without_a_record_is_refused(record, sentence):
    with pytest.raises(InputError, match=sentence):
        record_in(f"<!DOCTYPE html>{record}".encode())


def test_record_that_would_unpack_without_end_is_refused():
    bomb = base64.b64encode(zlib.compress(b"0" * (MOST_UNPACKED + 1))).decode()
    with pytest.raises(InputError, match="does not end where it should"):
        record_in(f'<script type="application/json+deflate" id="record">{bomb}</script>'.encode())


def test_counts_become_a_page_without_a_course():
    counts = {
        name: LabelledCounts(name, np.array(rows), ("0", "1"), ("0", "1"), False)
        for name, rows in {
            "a": [[950, 50], [40, 960]],
            "b": [[700, 300], [310, 690]],
            "c": [[55, 45], [45, 55]],
        }.items()
    }
    found = estimate(counts, delta=0.1)
    source = page(found, origin=Provenance(source="counts", data="my counts.csv"))
    assert headings(source) == ["Capacities", "Where the senses went", "The channels", "Reproduce it"]
    words = Page(source).words
    assert words.startswith("decided a has the largest capacity. ")
    assert in_words(found.guarantee) in words
    assert "bestchannel estimate 'my counts.csv' --delta 0.1" in words


def test_undecided_counts_name_the_candidates_by_their_estimates():
    counts = {"low": [[80, 20], [20, 80]], "high": [[85, 15], [15, 85]], "out": [[500, 500], [500, 500]]}
    labelled = {n: LabelledCounts(n, np.array(c), ("0", "1"), ("0", "1"), False) for n, c in counts.items()}
    found = estimate(labelled)
    assert found.verdict.candidates[:2] == ("high", "low")
    assert Page(page(found)).words.startswith("undecided Undecided between high and low.")


def test_156_binary_channels_take_less_than_a_megabyte_with_their_record():
    channels = {f"q{j}": bsc(0.01 + 0.002 * j) for j in range(156)}
    result = identified(channels, max_senses=60_000, epsilon=1e-3)
    source = page(result)
    assert len(source.encode()) < 1_000_000
    assert record_in(source.encode())["senses"] == result.senses
    assert Page(source).words.count("q155") >= 4


def test_sixteen_letters_take_bytes_in_proportion_so_that_200_such_channels_stay_below_two_megabytes():
    # 12 and 24 channels instead of 200, whose estimates alone take many seconds
    small, twice = (len(page(large(n, 16)).encode()) for n in (12, 24))
    assert twice + (twice - small) / 12 * (200 - 24) < 2_000_000


def test_counts_that_are_ranked_show_the_places_of_channels():
    rows = {"a": [[1900, 100], [90, 1910]], "b": [[1400, 600], [600, 1400]], "c": [[1390, 610], [600, 1400]]}
    counts = {n: LabelledCounts(n, np.array(c), ("0", "1"), ("0", "1"), False) for n, c in rows.items()}
    source = page(estimate(counts, rank=True))
    assert "<title>a: place 1</title>" in source
    assert "<title>b: place 2-3</title>" in source
    assert "2 of 3 pairs of channels are settled" in Page(source).words
    assert "--rank" in Page(source).words
    assert "Order" not in headings(page(estimate(counts)))


def test_counts_of_adaptive_designs_say_so():
    counts = {"a": LabelledCounts("a", np.array([[90, 10], [10, 90]]), ("0", "1"), ("0", "1"), False)}
    fixed, adaptive = (Page(page(estimate(counts, design=d))).words for d in ("fixed", "adaptive"))
    assert "however the senses were chosen" in adaptive
    assert "--design adaptive" in adaptive
    assert "if senses are independent and nobody chose their numbers by looking at outputs." in fixed
