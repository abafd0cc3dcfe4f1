"""Levels in bits per second, from outside."""

import json

import pytest

import bestchannel as bc
from bestchannel.channels import bsc
from tests.journeys.command import bestchannel, result_of

LINKS = {"slow": bsc(0.02).W.tolist(), "fast": bsc(0.1).W.tolist()}  # 0.859 and 0.531 bit
RATES = ("--rate", "slow=1e5", "--rate", "fast=4e5")  # 85,900 and 212,400 bit/s


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.json"
    path.write_text(json.dumps({"channels": LINKS}))
    return path


def test_capacities_are_shown_in_bits_per_second_beside_bits_per_symbol(links):
    code, result = result_of("capacity", links, *RATES)
    assert code == 0
    for channel, rate in zip(result["channels"], (1e5, 4e5), strict=True):
        assert channel["rate"] == rate
        assert channel["per_second"] == {"lower": channel["lower"] * rate, "upper": channel["upper"] * rate}
    assert "bit/s" in bestchannel("capacity", links, *RATES).stdout
    assert "rate" not in result_of("capacity", links)[1]["channels"][0]


def test_every_channel_is_compared_with_the_level_over_its_rate(links, tmp_path):
    answers = {"slow": "below", "fast": "above"}
    run = tmp_path / "run.json"
    asked = bestchannel("identify", "--simulate", links, "--above", 1.2e5, *RATES, "--json")
    run.write_text(asked.stdout)
    assert json.loads(asked.stdout)["answers"] == answers
    checked = bestchannel("verify", run).stdout
    assert "above 120000 bit/s: fast; below 120000 bit/s: slow" in checked
    counts = tmp_path / "counts.json"
    counts.write_text(
        json.dumps({"channels": {n: [[round(4000 * p) for p in row] for row in W] for n, W in LINKS.items()}})
    )
    code, result = result_of("estimate", counts, "--above", 1.2e5, *RATES)
    assert (code, result["answers"], result["question"]["rates"]) == (0, answers, [1e5, 4e5])
    bound = result_of("bound", links, "--above", 1.2e5, *RATES)[1]["characteristic_time"]
    alone = [bc.lower_bound([LINKS[n]], 0.05, question=bc.Above(1.2e5 / r)) for n, r in (("slow", 1e5), ("fast", 4e5))]
    assert bound["lower"] == pytest.approx(sum(each.characteristic_time.lower for each in alone))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--above", 1e5, "--rate", "slow=1e5"), "'fast' has none"),
        (("--above", 1e5, "--rate", "1e5", "--rate", "slow=quick"), "must be a number"),
        (("--above", 1e5, "--rate", "1e5", "--rate", "other=1"), "there is no 'other'"),
        (("--above", 1e5, "--rate", "0"), "must lie in"),
        (("--above", 1e5, "--rate", "1e5", "--rate", "2e5"), "given twice"),
        (("--top", 1, "--rate", "1e5"), "--rate makes the level of --above bits per second"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(links, arguments, sentence):
    run = bestchannel("identify", "--simulate", links, *arguments)
    assert (run.returncode, run.stdout) == (1, "")
    assert sentence in run.stderr
