"""Measured outputs as bins: which senses choose them, which are counted, and how little they lose."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.stats import norm

import bestchannel as bc
from bestchannel.counts import quantisation
from bestchannel.counts.quantisation import LOWER_BOUND, SHARED, Binning
from bestchannel.errors import InputError
from tests.counts.test_soft_outputs import csv, noisy
from tests.journeys.command import bestchannel, result_of


def capacity_between(means, spread, edges):
    """The capacity of Gaussian rows cut at the edges, in bits."""
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    return bc.capacity(np.stack([np.diff(norm.cdf(ends, mean, spread)) for mean in means]), normalize=True).lower


def soft_capacity(means, spread):
    """Of the unbinned channel, as 2000 bins have it; refining 1000 of them changes it by less than 1e-5."""
    return capacity_between(means, spread, np.linspace(min(means) - 7 * spread, max(means) + 7 * spread, 2000))


def test_given_edges_are_closed_below_and_open_above():
    binning = Binning(((-1.0, 0.0, 2.5),), None, 0, by_share=False)
    values = np.array([-np.inf, -1.5, -1.0, -0.5, 0.0, 2.4, 2.5, np.inf])
    assert binning.numbers(values[:, None]).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert binning.labels() == ("<-1", "-1..0", "0..2.5", ">=2.5")


def test_edges_count_every_sense_and_keep_the_order():
    trials = bc.quantise({"link": ([0, 1, 0, 1], [-2.0, 3.0, 0.5, -1.0])}, bins=[0.0])
    assert [rows.tolist() for rows in trials.outputs[0]] == [[0, 1], [1, 0]]
    assert trials.sent[0].tolist() == [0, 1, 0, 1]
    assert trials.alphabets[0].outputs == ("<0", ">=0")
    assert not trials.inferred_outputs


def test_the_first_senses_of_every_input_choose_the_edges_and_no_other_sense_does():
    x, y = noisy(4000)
    trials = bc.quantise({"link": (x, y)}, bins=8, set_aside=300)
    aside = np.zeros(len(x), np.bool_)
    for letter in (0, 1):
        aside[np.flatnonzero(x == letter)[:300]] = True
    assert trials.binnings[0].set_aside == 600 == aside.sum()
    np.testing.assert_array_equal(trials.sent[0], x[~aside])
    other = y.copy()
    other[~aside] = np.random.default_rng(5).normal(10.0, 3.0, (~aside).sum())  # other senses, the same edges
    assert bc.quantise({"link": (x, other)}, bins=8, set_aside=300).binnings == trials.binnings
    expected = trials.binnings[0].numbers(y[~aside][:, None])
    for letter in (0, 1):
        np.testing.assert_array_equal(trials.outputs[0][letter], expected[x[~aside] == letter])


def test_a_share_is_of_every_input_and_is_a_condition_of_the_guarantee():
    x, y = noisy(4000)
    by_share = bc.quantise({"link": (x, y)}, bins=4, set_aside=0.25)
    assert by_share.binnings[0].set_aside == sum((x == letter).sum() // 4 for letter in (0, 1))
    assert bc.estimate(by_share).guarantee.endswith(f"{LOWER_BOUND}, {SHARED}")
    assert bc.estimate(bc.quantise({"link": (x, y)}, bins=4)).guarantee.endswith(LOWER_BOUND)


@pytest.mark.parametrize(
    ("means", "spread", "bins", "most_lost"),
    [((-1, 1), 0.8, 8, 0.04), ((-1, 1), 1.2, 8, 0.04), ((-3, -1, 1, 3), 0.5, 16, 0.04), ((-1, 1), 0.8, 16, 0.02)],
)
def test_learned_bins_lose_little_of_the_soft_capacity(means, spread, bins, most_lost):
    rng = np.random.default_rng(3)
    x = rng.integers(0, len(means), 200 * len(means))
    y = np.array(means)[x] + rng.normal(0.0, spread, len(x))
    kept = capacity_between(means, spread, quantisation.cuts_of_line(y, x, bins)[-1])
    soft = soft_capacity(means, spread)
    assert (1 - most_lost) * soft < kept <= soft


def test_the_issue_of_two_noisy_links_is_settled_by_eight_bins():
    """±1 with noise of 0.8 and 1.2 have 0.637 and 0.375 bit, not 1 bit each."""
    assert round(soft_capacity((-1, 1), 0.8), 3) == 0.637
    assert round(soft_capacity((-1, 1), 1.2), 3) == 0.375
    trials = bc.quantise({"near": noisy(20_000, 0.8, 1), "far": noisy(20_000, 1.2, 2)}, bins=8)
    result = bc.estimate(trials)
    assert result.verdict.best == "near"
    for name, spread in (("near", 0.8), ("far", 1.2)):
        kept = capacity_between((-1, 1), spread, result[name].binning.edges[0])
        assert result[name].lower < kept < result[name].upper
        assert kept <= soft_capacity((-1, 1), spread)


def quadrature(n, spread, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, n)
    return x, np.exp(1j * np.pi / 4 * (2 * x + 1)) + rng.normal(0, spread, n) + 1j * rng.normal(0, spread, n)


def test_points_of_the_plane_lose_little_too():
    """Four phases are two real channels side by side, ±1/√2 under the same noise, so twice their capacity."""
    x, y = quadrature(40_000, 0.5)
    soft = 2 * soft_capacity((-np.sqrt(0.5), np.sqrt(0.5)), 0.5)
    result = bc.estimate(bc.quantise({"link": (x, y)}, bins=16, set_aside=0.2))["link"]
    assert result.n_outputs <= 16
    assert 0.93 * soft < result.capacity < 1.01 * soft


def test_infinite_outputs_have_bins_of_their_own():
    """As saturated LLRs, which tell everything."""
    x = np.array([0, 1] * 500)
    saturated = np.where(x == 1, np.inf, -np.inf)
    assert bc.estimate(bc.quantise({"link": (x, saturated)}, bins=4))["link"].capacity > 0.999
    some = np.where(np.arange(1000) % 3 == 0, saturated, np.sin(np.arange(1000.0)))
    counts = bc.quantise({"link": (x, some)}, bins=8).counts()["link"]
    assert bc.mutual_information([0.5, 0.5], counts / counts.sum(axis=1, keepdims=True)) > 0.28  # of 1/3 bit


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300, 1.7e308])
def test_edges_are_found_at_any_scale(scale):
    x, y = noisy(2000, 0.05)
    with np.errstate(over="raise", invalid="raise"):
        trials = bc.quantise({"link": (x, np.clip(y, -1.0, 1.0) * scale)}, bins=4)
    assert bc.estimate(trials)["link"].capacity > 0.9


def test_two_inputs_in_the_plane_are_cut_along_the_line_between_them():
    """With noise as strong everywhere, the projection on the line loses nothing."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, 4000)
    direction = np.exp(0.7j)
    y = direction * (2 * x - 1) + rng.normal(0, 0.8, 4000) + 1j * rng.normal(0, 0.8, 4000)
    (binning,) = bc.quantise({"link": (x, y)}, bins=8, set_aside=1000).binnings
    along = int(np.argmax([len(cuts) for cuts in binning.edges]))
    axis = np.array(binning.axes[along]) / np.linalg.norm(binning.axes[along])
    assert (
        abs(axis @ [direction.real, direction.imag]) > 0.98
    )  # half a step between the angles that are tried, and noise


def test_every_way_to_hold_a_log_gives_the_same_trials(tmp_path):
    x, y = noisy(2000)
    trials = bc.quantise({"log": (x, y)}, bins=8)
    frame = pd.DataFrame({"channel": "log", "x": x, "y": y})
    path = tmp_path / "log.csv"
    path.write_text(csv(x, y.tolist()))
    np.savez(tmp_path / "log.npz", x=x, y=y)
    others = [
        bc.quantise(frame, bins=8),
        bc.read_trials(path, bins=8),
        bc.read_trials(tmp_path / "log.npz", bins=8),
    ]
    for other in others:
        assert other.binnings == trials.binnings
        assert other.alphabets == trials.alphabets
        for a, b in zip(other.outputs[0], trials.outputs[0], strict=True):
            np.testing.assert_array_equal(a, b)
    counts = bc.read_counts(path, bins=8)
    np.testing.assert_array_equal(counts["log"].counts, trials.counts()["log"])


def test_a_second_column_has_the_other_coordinate(tmp_path):
    x, y = quadrature(3000, 0.5)
    trials = bc.quantise({"log": (x, y)}, bins=8)
    columns = {"sent": x, "i": y.real, "q": y.imag}
    pd.DataFrame(columns).to_csv(tmp_path / "log.csv", index=False)
    pd.DataFrame(columns).to_parquet(tmp_path / "log.parquet")
    np.savez(tmp_path / "log.npz", **columns)
    savemat(tmp_path / "log.mat", columns)
    for ending in ("csv", "parquet", "npz", "mat"):
        names = {"x": "sent", "y": "i", "y2": "q"}
        other = bc.read_trials(tmp_path / f"log.{ending}", columns=names, bins=8)
        assert other.binnings == trials.binnings
        with pytest.raises(InputError, match="look like measured values"):
            bc.read_counts(tmp_path / f"log.{ending}", columns=names)
    _, found = result_of("estimate", tmp_path / "log.csv", "--columns", "x=sent,y=i,y2=q", "--bins", "8")
    assert found["channels"][0]["binning"]["axes"] is not None


def test_a_column_called_y2_is_passed_over_unless_it_is_asked_for(tmp_path):
    (tmp_path / "log.csv").write_text("x,y,y2\n0,0,5\n1,1,6\n0,1,7\n1,1,8\n")
    assert bc.read_counts(tmp_path / "log.csv")["log"].outputs == ("0", "1")


def test_bins_of_known_channels_are_refused(tmp_path):
    (tmp_path / "links.json").write_text('{"channels": {"a": [[0.9, 0.1], [0.2, 0.8]]}}')
    run = bestchannel("identify", "--simulate", tmp_path / "links.json", "--bins", "8")
    assert run.returncode == 1
    assert "--bins is for counts and trial logs" in run.stderr


def test_a_long_log_is_cut_like_a_short_one(tmp_path):
    x, y = noisy(250_000)
    path = tmp_path / "long.csv"
    path.write_text(csv(x, y.tolist()))
    assert path.stat().st_size > 2**22
    np.testing.assert_array_equal(
        bc.read_counts(path, bins=[-1, 0, 1])["long"].counts, bc.quantise({"log": (x, y)}, [-1, 0, 1]).counts()["log"]
    )


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        ([1, 2], {"bins": 4}, "must map names to pairs"),
        ({"a": ([0, 1], ["low", "high"])}, {"bins": [0.0]}, 'the outputs of channel "a"'),
        ({"a": ([0, 1], [0.5])}, {"bins": [0.0]}, "one output per input"),
        ({"a": ([0, 1], [0.5, np.nan])}, {"bins": [0.0]}, 'sense 2 of channel "a" must have an output that is a num'),
        ({"a": ([0, 1], [[1, 2, 3], [1, 2, 3]])}, {"bins": [0.0]}, "shape"),
        ({"a": ([0, 1], [0.5, 1.5])}, {"bins": [1.0, 0.0]}, "that increase"),
        ({"a": ([0, 1], [0.5, 1.5])}, {"bins": [np.inf]}, "finite numbers"),
        ({"a": ([0, 1], [0.5, 1.5])}, {"bins": 1}, "from 2 to 1024"),
        ({"a": ([0, 1], [0.5, 1.5])}, {"bins": "8"}, "a number of bins or a list of edges"),
        (
            {"a": ([0, 1] * 40, np.arange(80.0))},
            {"bins": 8},
            "200 of its 80 senses would be set aside; --set-aside 0.5 ",
        ),
        ({"a": ([0, 1] * 40, np.arange(80.0))}, {"bins": 8, "set_aside": 1.5}, "set_aside must lie in"),
        ({"a": ([0, 1] * 40, np.arange(80.0))}, {"bins": 8, "set_aside": -1}, "would be set aside"),
        ({"a": ([0, 1] * 40, np.ones(80))}, {"bins": 8, "set_aside": 0.5}, "must have different outputs"),
        ({"a": ([0, 1], np.ma.array([0.5, 1.5], mask=[True, False]))}, {"bins": [1.0]}, "some are masked"),
        ({"a": (np.ma.array([0, 1], mask=[True, False]), [0.5, 1.5])}, {"bins": [1.0]}, "some are masked"),
    ],
)
def test_what_cannot_be_cut_is_refused(log, options, message):
    with pytest.raises(InputError, match=message):
        bc.quantise(log, **options)


def test_a_text_among_measured_outputs_is_refused_with_its_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n0,0.5\n1,lost\n")
    with pytest.raises(InputError, match="line 3, y must be a number to be put into a bin; it is 'lost'"):
        bc.read_trials(path, bins=[0])
    path.write_text("x,y\n0,0.5\n1,1+2j\n")
    with pytest.raises(InputError, match="line 3, y must be a real number like those before"):
        bc.read_trials(path, bins=[0])
    path.write_text("x,y,count\n0,0.5,3\n")
    with pytest.raises(InputError, match="bins are made from measured outputs with one row per sense"):
        bc.read_counts(path, bins=[0])
    path.write_text("x,y\n0.5,a\n-0.7,b\n")
    assert bc.read_counts(path, bins=[0], transpose=True)["log"].counts.tolist() == [[0, 1], [1, 0]]
    path.write_text("9,1\n2,8\n")
    with pytest.raises(InputError, match="leave bins"):
        bc.read_counts(path, bins=[0])
    path.write_text("x,y\n0,0.5\n")
    with pytest.raises(InputError, match="outputs cannot be declared beside them"):
        bc.read_trials(path, bins=[0], outputs=["a"])


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "links.csv"
    links = {name: zip(*noisy(4000, spread, 7), strict=True) for name, spread in (("near", 0.5), ("far", 1.5))}
    rows = [f"{name},{x},{y}\n" for name, senses in links.items() for x, y in senses]
    path.write_text("channel,x,y\n" + "".join(rows))
    return path


def test_every_verb_that_takes_trials_takes_bins_and_says_what_they_mean(recorded, tmp_path):
    code, found = result_of("estimate", recorded, "--bins", "8")
    assert code == 0
    assert LOWER_BOUND in found["guarantee"]
    assert [channel["binning"]["set_aside"] for channel in found["channels"]] == [200, 200]
    assert len(found["channels"][0]["binning"]["edges"][0]) == len(found["channels"][0]["outputs"]) - 1
    run = tmp_path / "run.db"
    replays = [result_of("identify", "--replay", recorded, "--bins=-1,0,1", *more) for more in ([], ["--run", run])]
    for code, identified in replays:
        assert code == 0
        assert identified["best"] == "near"
        assert LOWER_BOUND in identified["guarantee"]
    (tmp_path / "result.json").write_text(json.dumps(replays[0][1]))
    for source in (run, tmp_path / "result.json"):
        result_of("report", source, "-o", tmp_path / "report.html")
        assert LOWER_BOUND in (tmp_path / "report.html").read_text()
    assert result_of("verify", tmp_path / "result.json")[0] == 0


def test_a_binned_run_is_resumed_with_its_bins(recorded, tmp_path):
    run = tmp_path / "run.db"
    begun = result_of("identify", "--replay", recorded, "--bins", "4", "--run", run, "--max-senses", "100")
    assert begun[0] == 3
    whole = result_of("identify", "--replay", recorded, "--bins", "4")[1]
    resumed = result_of("run", "resume", run, "--max-senses", "10000")[1]
    assert resumed == {key: whole[key] for key in resumed}
