"""Channels of families on the command line: bsc:0.11 wherever known channels are read."""

import pytest

from bestchannel.channels.families import FAMILIES
from tests.journeys.command import bestchannel, result_of


def test_capacity_of_families_by_name():
    code, result = result_of("capacity", "bsc:0.11", "z:0.5", "bec:0.25")
    assert code == 0
    found = {channel["name"]: round(channel["lower"], 6) for channel in result["channels"]}
    # [CT06, 7.1.4 and 7.1.5], and log2(5/4)
    assert found == {"bsc:0.11": 0.500084, "z:0.5": 0.321928, "bec:0.25": 0.75}


EXAMPLES = {
    "bsc": "bsc:0.1", "bec": "bec:0.1", "z": "z:0.1", "bac": "bac:0.1,0.8", "qsc": "qsc:4,0.1",
    "typewriter": "typewriter:26", "pam": "pam:4,12", "qam": "qam:16,12", "poisson": "poisson:0,5",
}  # fmt: skip


def test_every_family_has_its_example_and_its_place_in_the_help():
    assert EXAMPLES.keys() == FAMILIES.keys()
    assert bestchannel("capacity", *EXAMPLES.values()).returncode == 0
    shown = "".join(bestchannel("capacity", "--help").stdout.replace("│", " ").split())
    for name, (_, parameters) in FAMILIES.items():
        assert f"{name}:{parameters}" in shown


def test_families_are_planned_bounded_and_simulated():
    assert result_of("bound", "bsc:0.05", "bsc:0.3")[1]["best"] == "bsc:0.05"
    assert result_of("plan", "bsc:0.05", "z:0.8", "--runs", 2)[1]["best"] == "bsc:0.05"
    code, result = result_of("identify", "--simulate", "bsc:0.05", "--simulate", "bsc:0.3", "--seed", 1)
    assert (code, result["best"]) == (0, "bsc:0.05")


REFUSED = {
    ("foo:1",): "there is no family 'foo' of channels; there are bsc:p, bec:e, z:q",
    ("bsc:2",): "a channel of this family is written bsc:p; it is 'bsc:2' (the crossover probability p must lie in",
    ("qsc:4",): "a channel of this family is written qsc:q,p; it is 'qsc:4'",
    ("bsc:0.1", "links.json"): "links.json: there is no such file",
    ("bsc:0.1", "bsc:0.1"): "each channel must be named once",
    ("bsc:0.1", "--transpose"): "--transpose is for files, and bsc:0.1 is none; leave it out",
}


@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_what_is_no_channel_of_a_family_is_refused_with_the_way_out(given):
    answer = bestchannel("capacity", *given)
    assert answer.returncode == 1
    assert REFUSED[given] in answer.stderr


def test_families_stand_beside_files_in_every_verb_that_takes_known_channels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.json").write_text('{"channels": {"mine": [[0.6, 0.4], [0.4, 0.6]]}}')
    found = result_of("capacity", "bsc:0.05", "links.json")[1]["channels"]
    assert {channel["name"] for channel in found} == {"bsc:0.05", "mine"}
    assert result_of("bound", "links.json", "bsc:0.05")[1]["best"] == "bsc:0.05"
    assert result_of("plan", "bsc:0.05", "links.json", "--runs", 2)[1]["best"] == "bsc:0.05"
    code, result = result_of("identify", "--simulate", "links.json", "--simulate", "bsc:0.05", "--seed", 1)
    assert (code, result["best"]) == (0, "bsc:0.05")


def test_file_that_is_called_like_a_family_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bsc:0.json").write_text('{"channels": {"mine": [[1, 0], [0, 1]]}}')
    assert [channel["name"] for channel in result_of("capacity", "bsc:0.json")[1]["channels"]] == ["mine"]
