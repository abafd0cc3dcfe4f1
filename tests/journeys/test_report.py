"""`bestchannel report` as people use it: from a result or a run to a file that a browser opens."""

import hashlib
import html
import json
import random
import re
import shlex
import subprocess
import sys

import pytest

from bestchannel.counts import write_channels
from tests.journeys.command import bestchannel, result_of
from tests.report.examples import BSC, bsc
from tests.report.reading import Page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Channels, the result of identifying the best of them, and the same as a run."""
    folder = tmp_path_factory.mktemp("report")
    write_channels(folder / "links.json", {name: bsc(p, name) for name, p in BSC.items()})
    options = ("identify", "--simulate", folder / "links.json", "--delta", "0.05", "--seed", "7", "--json")
    (folder / "result.json").write_text(bestchannel(*options).stdout)
    assert bestchannel(*options, "--run", folder / "run.db").returncode == 0
    assert bestchannel(*options, "--max-senses", "100", "--run", folder / "short.db").returncode == 3
    return folder


def drawn(source, target):
    run = bestchannel("report", source, "-o", target)
    assert (run.returncode, run.stdout.strip()) == (0, str(target)), run.stderr
    return target.read_text(encoding="utf-8")


def test_a_result_becomes_a_page_with_its_verdict(folder):
    source = drawn(folder / "result.json", folder / "report.html")
    assert Page(source).words.startswith("decided cable has the largest capacity.")


def test_a_run_becomes_the_same_page_with_its_seed(folder):
    from_run = Page(drawn(folder / "run.db", folder / "run.html")).words
    from_result = Page(drawn(folder / "result.json", folder / "report.html")).words
    assert (
        from_run.split("Course")[1].split("Reproduce it")[0] == from_result.split("Course")[1].split("Reproduce it")[0]
    )
    assert re.search(r"time less than 1 s from 20\d\d-\d\d-\d\d \d\d:\d\d UTC", from_run)
    assert "drawn from run.db, a run that is decided" in from_run
    assert "bestchannel verify run.db" in from_run
    assert "bestchannel verify report.html" in from_result
    for words in (from_run, from_result):
        assert re.search(r"bestchannel identify --simulate \S*links.json --policy adaptive", words)
    assert (
        "bestchannel identify --simulate links.json --policy adaptive --delta 0.05 --sampling fewest --threshold proved --seed 7"
        in from_run
    )


def test_a_run_that_has_not_ended_is_drawn_as_it_stands(folder):
    words = Page(drawn(folder / "short.db", folder / "short.html")).words
    assert words.startswith("undecided Undecided between ")
    assert "drawn from short.db, a run that is limited" in words


def test_a_run_that_was_told_nothing_is_drawn_too(folder):
    alphabets = folder / "alphabets.json"
    alphabets.write_text(json.dumps({"channels": {"a": [2, 2], "b": [2, 2]}}))
    made = bestchannel("run", "new", folder / "new.db", "--alphabets", alphabets, "--delta", "0.1")
    assert made.returncode == 0, made.stderr
    source = drawn(folder / "new.db", folder / "new.html")
    assert "Nothing has been sensed yet." in source
    assert "bestchannel run resume new.db" in source


def test_a_recording_leads_to_a_verdict_and_a_report(folder):
    rng = random.Random(5)
    trials = [(name, x, x ^ (rng.random() < p)) for name, p in BSC.items() for x in (0, 1) for _ in range(1500)]
    rng.shuffle(trials)
    log = folder / "trials.csv"
    log.write_text("channel,x,y\n" + "".join(f"{name},{x},{int(y)}\n" for name, x, y in trials))
    run = bestchannel("identify", "--replay", log, "--delta", "0.05", "--run", folder / "replayed.db", "--json")
    assert run.returncode == 0, run.stderr
    words = Page(drawn(folder / "replayed.db", folder / "replayed.html")).words
    assert words.startswith("decided cable has the largest capacity.")
    assert "bestchannel identify --replay trials.csv --policy adaptive" in words
    assert hashlib.sha256(log.read_bytes()).hexdigest() in words


def test_report_and_run_can_be_verified_and_a_report_drawn_again(folder):
    page = folder / "checked.html"
    drawn(folder / "run.db", page)
    for path in (folder / "run.db", page, folder / "result.json"):
        checked = bestchannel("verify", path)
        assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
        assert checked.stdout.startswith("valid: ")
    again = Page(drawn(page, folder / "again.html")).words
    assert again.startswith("decided cable has the largest capacity.")
    page.write_text(
        page.read_text().replace('\\"senses\\": {\\"cable\\"', "x").replace('"best": "cable"', '"best": "rope"')
    )
    assert bestchannel("verify", page).returncode == 3


def test_counts_become_a_report_with_a_title(folder):
    counts = folder / "counts.csv"
    counts.write_text(
        "channel,x,y,count\na,0,0,950\na,0,1,50\na,1,0,40\na,1,1,960\nb,0,0,1\nb,1,1,1\nb,1,0,1\nb,0,1,1\n"
    )
    target = folder / "counts.html"
    run = bestchannel(
        "report", counts, "-o", target, "--title", "Attic", "--note", "measured on Monday", "--delta", "0.1"
    )
    assert run.returncode == 0, run.stderr
    words = Page(target.read_text()).words
    assert words.startswith("Attic undecided Undecided between a and b. ")
    assert "measured on Monday" in words
    assert "bestchannel estimate counts.csv --delta 0.1" in words
    assert "it has none" in refused(target, "-o", folder / "again.html")


@pytest.mark.parametrize("source", ["-", "<(cat)"])
def test_counts_from_a_pipe_are_read_once(folder, source):
    target = folder / "piped.html"
    rows = b"channel,x,y,count\na,0,0,95\na,0,1,5\na,1,0,4\na,1,1,96\nb,0,0,7\nb,1,1,7\nb,0,1,3\nb,1,0,3\n"
    line = f"{shlex.quote(sys.executable)} -m bestchannel report {source} -o {shlex.quote(str(target))}"
    run = subprocess.run(
        ["bash", "-c", f"cat | {line}" if source == "-" else f"exec 3<&0; {line.replace('cat', 'cat <&3')}"],
        input=rows,
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, b"")
    words = Page(target.read_text()).words
    assert "senses 220 " in words
    assert source != "-" or ("estimate - --delta 0.05" in words and "drawn from standard input" in words)


def test_json_says_what_was_written(folder):
    code, result = result_of("report", folder / "result.json", "-o", folder / "json.html")
    assert code == 0
    assert result["bytes"] == (folder / "json.html").stat().st_size
    assert (result["best"], result["decided"]) == ("cable", True)


def refused(*arguments):
    run = bestchannel("report", *arguments)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.count("\n") == 1
    assert "Traceback" not in run.stderr
    return run.stderr


def test_what_is_no_result_is_refused_by_name(folder):
    assert "must be a whole number" in refused(folder / "links.json")
    assert "probabilities are for `capacity`" in refused(folder / "links.json")
    broken = folder / "broken.json"
    broken.write_text('{"audit": {}}')
    assert "broken.json: this must be the JSON of an identification" in refused(broken)
    assert "there is no such file" in refused(folder / "nothing.json")
    assert "no folder to write it into" in refused(folder / "result.json", "-o", folder / "none" / "r.html")
    assert "would replace the file" in refused(folder / "result.json", "-o", folder / "result.json")


def test_a_damaged_file_ends_in_one_sentence_and_no_page(folder):
    rng = random.Random(1)
    for source in ("result.json", "run.db"):
        whole = (folder / source).read_bytes()
        for _ in range(2):
            cut = folder / f"cut-{source}"
            cut.write_bytes(whole[: rng.randrange(20, len(whole) - 1)])
            refused(cut, "-o", folder / "cut.html")
            assert not (folder / "cut.html").exists()


def test_options_for_counts_are_refused_for_a_record(folder):
    for verb, source, options in [
        ("report", "run.db", ("--delta", "0.05", "--design", "adaptive", "--rank")),
        ("report", "result.json", ("--epsilon", "0", "--columns", "x=a", "--transpose", "--outputs", "0,1")),
        ("estimate", "run.db", ("--outputs", "0,1", "--bins", "none", "--set-aside", "5")),
        ("estimate", "result.json", ("--columns", "x=a", "--transpose", "--form", "rows", "--channel-axis", "first")),
    ]:
        answer = bestchannel(verb, folder / source, *options)
        names = ", ".join(option for option in options if option.startswith("--"))
        assert answer.returncode == 1
        assert f"{source}: {names} are options for files of counts, and this is a result" in answer.stderr
        assert answer.stdout == ""


TABLE = "channel,x,y,count\na,low,0,95\na,low,1,5\na,high,0,5\na,high,1,95\nb,low,0,70\nb,low,1,30\nb,high,0,30\nb,high,1,70\n"


def words_of(folder, source, *options):
    answer = bestchannel("report", source, "-o", folder / "r.html", "--json", *options)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout), Page((folder / "r.html").read_text()).words


def test_what_estimate_printed_is_drawn_as_its_counts_are(tmp_path):
    (tmp_path / "counts.csv").write_text(TABLE)
    printed = tmp_path / "estimate.json"
    printed.write_text(bestchannel("estimate", tmp_path / "counts.csv", "--json", "--delta", "0.01", "--rank").stdout)
    told, words = words_of(tmp_path, printed)
    of_counts, same = words_of(tmp_path, tmp_path / "counts.csv", "--delta", "0.01", "--rank")
    assert {**told, "bytes": 0} == {**of_counts, "bytes": 0}
    assert words.partition("Reproduce it")[0] == same.partition("Reproduce it")[0]
    assert "Order" in words
    assert "low" in words


def test_estimate_of_binned_outputs_is_drawn_with_their_condition(tmp_path):
    rows = "".join(f"{i % 2},{i % 2 + 0.3 * ((i * 37) % 11 - 5) / 5:.3f}\n" for i in range(600))
    (tmp_path / "log.csv").write_text("x,y\n" + rows)
    printed = tmp_path / "estimate.json"
    printed.write_text(bestchannel("estimate", tmp_path / "log.csv", "--bins", 4, "--json").stdout)
    assert "for binned outputs" in words_of(tmp_path, printed)[1]


SPOILT = {
    "without its counts": lambda channel: channel.pop("counts"),
    "with counts that are none": lambda channel: channel.update(counts=[[1, -2], [3, 4]]),
    "with other letters": lambda channel: channel.update(inputs=["0"]),
    "with one name twice": lambda channel: channel.update(name="b"),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_printed_estimate_is_refused_in_a_sentence(tmp_path, spoil):
    (tmp_path / "counts.csv").write_text(TABLE)
    document = json.loads(bestchannel("estimate", tmp_path / "counts.csv", "--json").stdout)
    SPOILT[spoil](document["channels"][0])
    (tmp_path / "estimate.json").write_text(json.dumps(document))
    answer = bestchannel("report", tmp_path / "estimate.json", "-o", tmp_path / "r.html")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "estimate.json: " in answer.stderr


def test_estimate_reads_what_it_printed_as_a_report_does(tmp_path):
    (tmp_path / "counts.csv").write_text(
        "channel,x,y,count\n"
        + "".join(f"{c},{x},{y},{90 if x == y else 10 + 20 * (c == 'b')}\n" for c in "ab" for x in "01" for y in "01")
    )
    printed = bestchannel("estimate", "counts.csv", "--delta", "0.2", "--rank", "--json", cwd=tmp_path).stdout
    (tmp_path / "estimate.json").write_text(printed)
    assert bestchannel("estimate", "estimate.json", "--json", cwd=tmp_path).stdout == printed
    other = json.loads(bestchannel("estimate", "estimate.json", "--delta", "0.1", "--json", cwd=tmp_path).stdout)
    assert other["delta"] == 0.1
    refused = bestchannel("estimate", "estimate.json", "--outputs", "0,1", cwd=tmp_path)
    assert (refused.returncode, "--outputs is an option for files of counts" in refused.stderr) == (1, True)


def test_what_the_order_of_senses_said_stays_with_an_estimate(tmp_path):
    rows = "".join(f"{i % 2},{(i + (i > 300)) % 2}\n" for i in range(600))
    (tmp_path / "log.csv").write_text("x,y\n" + rows)
    printed = bestchannel("estimate", "log.csv", "--json", cwd=tmp_path)
    assert "drifts" in printed.stderr
    (tmp_path / "estimate.json").write_text(printed.stdout)
    again = bestchannel("estimate", "estimate.json", "--json", cwd=tmp_path)
    assert (again.stdout, again.stderr) == (printed.stdout, printed.stderr)
    unchecked = bestchannel("estimate", "estimate.json", "--no-checks", "--json", cwd=tmp_path)
    assert json.loads(unchecked.stdout)["checks"] is None


@pytest.mark.parametrize("options", ["--design joint", "--combine a,b", "--groups day --design joint"])
def test_an_estimate_of_counts_is_refused_where_trials_are_wanted(options, tmp_path):
    (tmp_path / "counts.csv").write_text(TABLE)
    (tmp_path / "estimate.json").write_text(bestchannel("estimate", tmp_path / "counts.csv", "--json").stdout)
    refused = bestchannel("estimate", "estimate.json", *options.split(), cwd=tmp_path)
    assert refused.returncode == 1
    assert "estimate.json: this is an estimate, which has counts and no trials" in refused.stderr


def test_an_estimate_beside_other_files_is_refused_as_what_it_is(tmp_path):
    (tmp_path / "counts.csv").write_text(TABLE)
    (tmp_path / "estimate.json").write_text(bestchannel("estimate", tmp_path / "counts.csv", "--json").stdout)
    refused = bestchannel("estimate", "estimate.json", "counts.csv", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "estimate.json: this is an estimate as JSON" in refused.stderr


def test_report_asks_of_counts_what_estimate_asks(tmp_path):
    (tmp_path / "counts.csv").write_text("channel,x,y,count\na,0,0,990\na,0,1,10\na,1,0,10\na,1,1,990\n")
    assert bestchannel("report", "counts.csv", "--above", "0.5", cwd=tmp_path).returncode == 0
    assert "Above 0.5 bit: a" in (tmp_path / "report.html").read_text()


def test_estimate_refuses_a_record_that_contradicts_itself_as_a_report_does(tmp_path):
    document = json.loads(bestchannel("identify", "--simulate", "bsc:0.1", "--simulate", "bsc:0.3", "--json").stdout)
    (tmp_path / "forged.json").write_text(json.dumps(document | {"senses": document["senses"] + 1}))
    for verb in ("estimate", "report"):
        refused = bestchannel(verb, "forged.json", cwd=tmp_path)
        assert refused.returncode == 1
        assert "contradicts itself: its senses are said to be" in refused.stderr


def test_verify_says_that_an_estimate_is_no_record(tmp_path):
    (tmp_path / "counts.csv").write_text("9,1\n2,8\n")
    (tmp_path / "estimate.json").write_text(bestchannel("estimate", tmp_path / "counts.csv", "--json").stdout)
    refused = bestchannel("verify", tmp_path / "estimate.json")
    assert refused.returncode == 1
    assert "this is an estimate" in refused.stderr


ROWS = "channel,x,y,count\na,0,0,990\na,0,1,10\na,1,0,10\na,1,1,990\nb,0,0,600\nb,0,1,400\nb,1,0,400\nb,1,1,600\n"
ASKED_OF_COUNTS = (
    "", "--above 0.5 --tolerance 0.1", "--top 1 --epsilon 0.1", "--order", "--within 5%", "--rank --delta 0.0123456789",
    "--above 1e5 --rate a=1e6 --rate b=2e5", "--outputs 0,1,2", "--transpose --design adaptive", "--input-distribution 0.3,0.7",
)  # fmt: skip


@pytest.mark.parametrize("options", ASKED_OF_COUNTS)
def test_the_command_on_a_report_of_counts_asks_the_same_again(options, tmp_path):
    (tmp_path / "counts.csv").write_text(ROWS)
    bestchannel("report", "counts.csv", *options.split(), cwd=tmp_path)
    command = re.search(r"<pre[^>]*><code>bestchannel ([^<]*)", (tmp_path / "report.html").read_text())[1]
    again = bestchannel(*shlex.split(html.unescape(command)), "--json", cwd=tmp_path)
    assert again.stdout == bestchannel("estimate", "counts.csv", *options.split(), "--json", cwd=tmp_path).stdout


def test_the_command_on_a_report_of_several_files_names_each(tmp_path):
    for name in ("a b.csv", "c.csv"):
        (tmp_path / name).write_text("9,1\n2,8\n")
    bestchannel("report", "a b.csv", "c.csv", cwd=tmp_path)
    assert "estimate 'a b.csv' --delta 0.05 c.csv" in html.unescape((tmp_path / "report.html").read_text())


def test_the_command_on_a_report_of_an_identification_asks_its_question_and_names_no_file_that_is_none(tmp_path):
    simulated = ["--simulate", "bsc:0.05", "--simulate", "bsc:0.3", "--above", "0.5", "--tolerance", "0.1"]
    (tmp_path / "result.json").write_text(bestchannel("identify", *simulated, "--json").stdout)
    bestchannel("report", "result.json", cwd=tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert "bestchannel identify --simulate CHANNELS --policy adaptive" in text
    assert "--above 0.5 --tolerance 0.1" in text
