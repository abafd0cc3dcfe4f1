"""Several files, folders, comments, printed arrays, logs without a header, and the order that times give."""

import json

import numpy as np
import pandas as pd
import pytest

import bestchannel as bc
from bestchannel.errors import InputError
from tests.journeys.command import bestchannel, result_of
from tests.statistical.order_study import changing

LOG = "0,0\n" * 9 + "0,1\n" + "1,1\n" * 8 + "1,0\n" * 2
TABLE = [[9, 1], [2, 8]]


def counts(found):
    return {name: content.counts.tolist() for name, content in found.items()}


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_several_files_are_a_channel_each(tmp_path):
    near, far = written(tmp_path / "near.csv", f"x,y\n{LOG}"), written(tmp_path / "far.json", "[[5, 5], [4, 6]]")
    expected = {"near": TABLE, "far": [[5, 5], [4, 6]]}
    assert counts(bc.read_counts([near, far])) == counts(bc.read_counts(tmp_path)) == expected
    assert {c["name"] for c in result_of("estimate", near, far)[1]["channels"]} == set(expected)
    assert {c["name"] for c in result_of("estimate", tmp_path)[1]["channels"]} == set(expected)


def test_channels_that_columns_name_are_joined_over_files(tmp_path):
    rows = [f"a,{row}" for row in LOG.split()]
    for day, part in (("monday", rows[:7]), ("tuesday", [*rows[7:], "b,0,0"])):
        written(tmp_path / f"{day}.csv", "channel,x,y\n" + "\n".join(part))
    assert counts(bc.read_counts(tmp_path)) == {"a": TABLE, "b": [[1]]}
    assert bc.read_trials([tmp_path / "monday.csv", tmp_path / "tuesday.csv"]).counts()["a"].tolist() == TABLE


def test_two_files_of_one_name_are_refused(tmp_path):
    for folder in ("one", "two"):
        written(tmp_path / folder / "link.csv", f"x,y\n{LOG}")
    with pytest.raises(bc.InputError, match='2 files are called "link"'):
        bc.read_counts(tmp_path)


def test_refusal_of_one_of_several_files_names_it(tmp_path):
    good, bad = written(tmp_path / "a.csv", f"x,y\n{LOG}"), written(tmp_path / "b.csv", "x,y\n0,1\n0\n")
    with pytest.raises(bc.InputError, match=r"^\S*b\.csv: line 3 must have 2 fields"):
        bc.read_counts([good, bad])


def test_known_channels_of_several_files_are_read_together(tmp_path):
    for name, p in (("good", 0.9), ("bad", 0.6)):
        written(tmp_path / f"{name}.csv", f"{p},{1 - p}\n{1 - p},{p}\n")
    assert list(bc.read_channels(tmp_path)) == ["bad", "good"]
    assert result_of("bound", tmp_path / "good.csv", tmp_path / "bad.csv")[1]["best"] == "good"
    both = [word for name in ("good", "bad") for word in ("--simulate", tmp_path / f"{name}.csv")]
    assert result_of("identify", *both)[1]["best"] == "good"


def test_a_run_on_several_recordings_goes_on(tmp_path):
    for name, error in (("good", 0.02), ("bad", 0.3)):
        x, y, _ = changing(2, 600, lambda t, error=error: error + 0 * t)(np.random.default_rng(1))
        written(tmp_path / f"{name}.csv", "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)))
    both = [word for name in ("good", "bad") for word in ("--replay", tmp_path / f"{name}.csv")]
    code, whole = result_of("identify", *both, "--epsilon", "0.2")
    result_of("identify", *both, "--epsilon", "0.2", "--run", tmp_path / "run.db", "--max-senses", "40")
    again = result_of("run", "resume", tmp_path / "run.db", "--max-senses", "10000")
    assert (code, whole["best"]) == (again[0], again[1]["best"]) == (0, "good")


@pytest.mark.parametrize(
    "text",
    [
        f"# made on Monday\n% version 2, of three\nx,y\n{LOG}",
        f"x,y\n{LOG}# the end, of this, file\n",
        f"# x,y\n{LOG}",
        "% tab 'quoted\n# x y\n" + LOG.replace(",", " "),
        f"#,x,y\n{''.join(f'{i},{row}' + chr(10) for i, row in enumerate(LOG.split()))}",
        "# counts\n9,1\n# between, two, rows\n2,8\n",
    ],
)
def test_comment_lines_are_passed_over(tmp_path, text):
    assert counts(bc.read_counts(written(tmp_path / "link.csv", text))) == {"link": TABLE}


def test_labels_that_begin_like_comments_stay_labels(tmp_path):
    text = "x,y\n" + "#,#\n%,%\n" * 5 + "#,%\n"
    assert counts(bc.read_counts(written(tmp_path / "signs.csv", text))) == {"signs": [[5, 1], [0, 5]]}


def test_tab_before_a_number_sign_is_a_blank_corner_and_no_comment(tmp_path):
    path = written(tmp_path / "link.tsv", "\t#1\tlost\n63\t2\t9\n150\t8\t1\n")
    (content,) = bc.read_counts(path).values()
    assert (content.inputs, content.outputs) == (("63", "150"), ("#1", "lost"))
    assert content.counts.tolist() == [[2, 9], [8, 1]]


def test_rows_that_lack_fields_are_refused_by_their_line(tmp_path):
    path = written(tmp_path / "link.csv", "time,x,y\n" + "".join(f"{i},{i % 2},{i % 2}\n" for i in range(20)) + "7\n")
    with pytest.raises(InputError, match="line 22 must have 3 fields"):
        bc.read_counts(path)


def test_refusal_that_quotes_a_title_as_long_as_the_file_is_a_sentence(tmp_path):
    path = written(tmp_path / "rows.jsonl", json.dumps({"x": 0, "y": 1, "co" + "u" * 10**5: 3}) + "\n")
    with pytest.raises(InputError, match="there is no column p") as refusal:
        bc.read_channels(path)
    assert len(str(refusal.value)) < 3000


@pytest.mark.filterwarnings("error")
def test_infinite_probabilities_are_no_trials(tmp_path):
    path = written(tmp_path / "nested.json", '{"a": {"0": 1e999, "1": 2}, "b": {"0": 1, "1": 2}}')
    with pytest.raises(InputError, match="these are counts or probabilities"):
        bc.read_trials(path)


def test_long_log_with_comments_and_times_is_read_like_a_short_one(tmp_path, monkeypatch):
    rows = [f"{i * 7919 % 4001},{row}" for i, row in enumerate(LOG.split() * 200)]
    path = written(tmp_path / "link.csv", "# made on Monday\ntime,x,y\n" + "\n".join(rows) + "\n# the end\n")
    short = bc.read_counts(path)["link"]
    monkeypatch.setattr("bestchannel.counts.text_log.BLOCK", 100)
    long = bc.read_counts(path)["link"]
    assert long.counts.tolist() == short.counts.tolist() == (200 * np.array(TABLE)).tolist()
    assert long.by_time
    np.testing.assert_array_equal(long.order, short.order)


@pytest.mark.parametrize("ending", [".txt", ".csv", ".json", ""])
@pytest.mark.parametrize("show", [str, repr])
def test_printed_arrays_of_numpy_are_read(tmp_path, show, ending):
    path = tmp_path / f"link{ending}"
    for array in (np.array(TABLE), np.array(TABLE, float), np.arange(2, 80).reshape(2, -1)):
        path.write_text(show(array) + "\n")
        assert bc.read_counts(path)["link"].counts.tolist() == array.tolist()
    W = np.array([[0.875, 0.125], [0.25, 0.75]])
    path.write_text(f"# W\n{show(W)}\n")
    assert bc.read_channels(path)["link"].W.tolist() == W.tolist()


def test_a_printed_array_that_leaves_numbers_out_is_refused(tmp_path):
    path = written(tmp_path / "link.txt", str(np.arange(20_000).reshape(100, 200)))
    with pytest.raises(bc.InputError, match=r"leaves out numbers \(\.\.\.\)"):
        bc.read_counts(path)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (LOG, ["x", "y"]),
        (LOG.replace("0", "off").replace("1", "on"), ["x", "y"]),
        ("0,0,9\n0,1,1\n1,0,2\n1,1,8\n", ["x", "y", "count"]),
        ("".join(f"link,{row}\n" for row in LOG.split()), ["channel", "x", "y"]),
    ],
)
def test_rows_without_a_header_are_read_as_columns_says(tmp_path, text, columns):
    path = written(tmp_path / "link.csv", text)
    with pytest.raises(bc.InputError, match=f"write --columns {','.join(columns)} "):
        bc.read_counts(path)
    assert counts(bc.read_counts(path, columns=columns)) == {"link": TABLE}


def test_columns_of_rows_that_have_names_are_refused(tmp_path):
    with pytest.raises(bc.InputError, match="the first line names the columns already"):
        bc.read_counts(written(tmp_path / "link.csv", f"x,y\n{LOG}"), columns=["x", "y"])


def test_many_levels_of_whole_numbers_get_the_hint_about_bins(tmp_path, monkeypatch):
    def end(*_, **__):
        raise SystemExit(0)

    monkeypatch.setattr("bestchannel.cli.measured.estimated", end)  # the hint comes before
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 3000)
    levels = np.rint(2000 + 100 * x + rng.normal(0, 60, 3000)).astype(int)
    path = written(tmp_path / "adc.csv", "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, levels, strict=True)))
    assert "--bins 8 (bins=8)" in bestchannel("estimate", path).stderr
    assert "--bins 8" not in bestchannel("estimate", path, "--bins", "8").stderr


DRIFTS = changing(2, 4000, lambda t: 0.05 + 0.3 * t)(np.random.default_rng(1))[:2]


def shuffled():
    frame = pd.DataFrame({"t": np.arange(4000) / 8, "x": DRIFTS[0], "y": DRIFTS[1]})
    return frame.sample(frac=1.0, random_state=1)


def test_the_order_of_a_frame_is_checked():
    frame = pd.DataFrame({"x": DRIFTS[0], "y": DRIFTS[1]})
    assert "drifts" in bc.estimate(frame).checks.warnings[0]
    assert "drifts" in bc.estimate({"link": frame}, outputs=["0", "1"]).checks.warnings[0]
    assert not bc.estimate(frame.sample(frac=1.0, random_state=1)).checks.warnings


@pytest.mark.parametrize("kind", ["numbers", "dates", "texts"])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", ".xlsx", ""])
def test_times_give_the_order_of_the_senses(tmp_path, ending, kind):
    frame = shuffled()
    frame["t"] = pd.Timestamp("2026-01-02") + pd.to_timedelta(frame["t"], "s") if kind != "numbers" else frame["t"]
    frame["t"] = frame["t"].astype(str) if kind == "texts" else frame["t"]
    frame = frame.rename(columns={"t": "time"})
    if ending == ".csv":
        frame.to_csv(tmp_path / "log.csv", index=False)
    elif ending == ".parquet":
        frame.to_parquet(tmp_path / "log.parquet")
    elif ending == ".jsonl":
        frame.astype({"time": str} if kind == "dates" else {}).to_json(
            tmp_path / "log.jsonl", orient="records", lines=True
        )
    elif ending == ".xlsx":
        frame.to_excel(tmp_path / "log.xlsx", index=False)
    found = frame if not ending else bc.read_counts(tmp_path / f"log{ending}")
    checks = bc.estimate(found).checks
    assert checks.by_time
    assert "drifts" in checks.warnings[0]


def test_another_column_is_a_time_where_columns_says_so(tmp_path):
    shuffled().to_csv(tmp_path / "log.csv", index=False)
    assert not bc.estimate(bc.read_counts(tmp_path / "log.csv")).checks.by_time
    assert bc.estimate(bc.read_counts(tmp_path / "log.csv", columns={"time": "t"})).checks.by_time
    run = bestchannel("estimate", tmp_path / "log.csv", "--columns", "time=t")
    assert "in the order of the column time" in run.stderr


def test_times_that_say_nothing_leave_the_order_of_the_rows(tmp_path):
    text = "time,x,y\n" + "".join(f"morning,{row}\n" for row in LOG.split())
    found = bc.read_counts(written(tmp_path / "link.csv", text))["link"]
    assert (found.by_time, found.counts.tolist()) == (False, TABLE)


@pytest.mark.parametrize(
    ("text", "by_time"),
    [
        ('x,y,time\n0,1, "7"\n1,1, 5\n', True),
        ("x,y,time,note\n0,1,7,é\n1,1,5,b\n", True),
        ("x,y,time\n0,1,7\n   \n1,1,5\n", True),
        ("x,y,time\n0,1,7\n1,1,é\n", False),
        ("x,y,time\r0,1,7\r1,1,5\r", True),
        ('x,y,time\n0,1,7\n"1\n",1,2026-01-01\n0,0,5\n', False),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_times_are_found_whatever_stands_around_them(tmp_path, text, by_time, encoding):
    (tmp_path / "link.csv").write_bytes(text.encode(encoding))
    assert bc.read_counts(tmp_path / "link.csv", form="rows")["link"].by_time == by_time
