"""`bestchannel bound` from outside."""

import json

import pytest

from tests.journeys.command import bestchannel, result_of

PAIR = {"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}
MIXED = {**PAIR, "a channel with a long name": [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], "one input": [[1, 0]]}


@pytest.fixture
def file_of(tmp_path):
    def write(channels):
        path = tmp_path / "channels.json"
        path.write_text(json.dumps({"channels": channels}))
        return path

    return write


def test_json_has_the_keys_of_the_contract(file_of):
    code, result = result_of("bound", file_of(PAIR), "--delta", 0.01)
    assert code == 0
    assert {"delta", "best", "gaps", "theorem4_senses", "characteristic_time", "senses_lower_bound"} <= set(result)
    assert (result["delta"], result["best"], list(result["gaps"])) == (0.01, "a", ["a", "b"])
    T = result["characteristic_time"]
    assert T["lower"] <= 100.08 <= T["upper"] <= 1.01 * T["lower"]
    # kl(0.01, 0.99) = 4.5032
    assert result["senses_lower_bound"] == pytest.approx(4.50322 * T["lower"], rel=1e-5)
    assert result["theorem4_senses"]["lower"] == pytest.approx(185.65, abs=0.01)
    assert sum(sum(shares) for shares in result["allocation"].values()) == pytest.approx(1.0)


def test_table_fits_eighty_columns_and_names_every_bound(file_of):
    run = bestchannel("bound", file_of(MIXED))
    assert run.returncode == 0
    assert max(map(len, run.stdout.splitlines())) <= 80
    for text in ("best: a", "characteristic time T*", "Theorem 4: does not apply", "Gaussian", "one input"):
        assert text in run.stdout


def test_ties_are_null_in_json_and_infinite_in_words(file_of):
    tie = file_of({"a": PAIR["a"], "b": PAIR["a"][::-1]})
    code, result = result_of("bound", tie)
    assert (code, result["best"], result["senses_lower_bound"]) == (0, None, None)
    assert result["characteristic_time"] == {"lower": None, "upper": None}
    assert "infinite" in bestchannel("bound", tie).stdout


def test_one_channel_needs_no_senses(file_of):
    code, result = result_of("bound", file_of({"a": PAIR["a"]}))
    assert (code, result["best"], result["senses_lower_bound"], result["theorem4_senses"]) == (0, "a", 0.0, None)


def test_refused_input_exits_1_with_one_sentence(file_of, tmp_path):
    for arguments in ((file_of(PAIR), "--delta", 2), (tmp_path / "none.json",), (file_of({"a": [[0.5, 0.4]]}),)):
        run = bestchannel("bound", *arguments, "--json")
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr.startswith("error: ")
        assert run.stderr.count("\n") == 1


def test_other_questions_have_their_own_time_and_answer_first(file_of):
    for option, kind, words in ((("--above", 0.4), "above", "above 0.4 bit: a;"), (("--top", 1), "top", "best 1: a")):
        code, result = result_of("bound", file_of(PAIR), *option)
        assert (code, result["question"]["kind"], result["best"]) == (0, kind, "a")
        assert 0 < result["characteristic_time"]["lower"] <= result["characteristic_time"]["upper"]
        assert words in bestchannel("bound", file_of(PAIR), *option).stdout
    assert bestchannel("bound", file_of(PAIR), "--top", 3).returncode == 1
