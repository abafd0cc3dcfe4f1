"""`bestchannel explain` from outside: what guarantees cite is there."""

import re

import pytest

import bestchannel as bc
from bestchannel.cli.explain import TOPICS, explained, readable
from tests.journeys.command import bestchannel, result_of

POLICIES = [
    bc.Adaptive([(2, 2)] * 2, delta=0.1),
    bc.BestChanID([(2, 2)] * 2, delta=0.1),
    bc.BestChanID([(2, 2)] * 2, delta=0.1, input_distribution=(0.5, 0.5)),
    bc.NaiveChanSel([(2, 2)] * 2, delta=0.1, epsilon=0.1),
    bc.MedianChanEl([(2, 2)] * 2, delta=0.1, epsilon=0.1),
]


def test_without_a_topic_the_topics_are_listed():
    run = bestchannel("explain")
    assert run.returncode == 0
    assert [line.split()[0] for line in run.stdout.splitlines()] == list(TOPICS)
    assert [topic["topic"] for topic in result_of("explain")[1]["topics"]] == list(TOPICS)


def test_explanation_is_a_promise_and_five_lines():
    for topic in TOPICS:
        promise, blank, *lines, _, full = bestchannel("explain", topic).stdout.splitlines()
        assert promise.startswith(f"{topic}: ")
        assert (blank, full) == ("", f"The theorem and its proof: bestchannel explain {topic} --full")
        assert 2 <= len(lines) <= 5
        assert all(len(line) <= 80 for line in lines)


def test_full_explanation_has_promise_theorem_proof_and_references():
    text = bestchannel("explain", "adaptive", "--full").stdout
    assert text.startswith("adaptive: the named channel is the best, wrong with probability at most delta")
    for part in ("## Theorem", "Proof. Let a be a best channel", "## References", "[SF04] N. Shulman"):
        assert part in text


@pytest.mark.parametrize("topic", TOPICS)
def test_formulas_are_text(topic):
    text = re.sub(r"`[^`]*`", "", bestchannel("explain", topic, "--full").stdout)
    assert not re.search(r"[\\$]|\{[^}]*\}_|[_^]\{", text)


def test_formulas_are_read_as_they_are_meant():
    assert readable(r"$\hat W_x \le \tfrac{\delta}{2k}$") == "Ŵ_x ≤ δ/(2k)"
    assert readable(r"$e^{sC} + 10^{-6} \cdot \sum_x P^\ast_x \log x_1$") == "e^(sC) + 10⁻⁶ · Σ_x P*_x log x₁"
    assert readable(r"$\sqrt{2 \log(1/\alpha)/v}\log n$") == "√(2 log(1/α)/v) log n"
    assert readable(r"*Let* $n\times n$ `**be**` **so**.") == "Let n×n `**be**` so."
    assert readable("$$\\frac{1}{T} = 2 \\quad x$$") == "    1/T = 2   x"


def test_json_has_the_parts():
    code, answer = result_of("explain", "estimate")
    assert code == 0
    assert answer.keys() == {"topic", "title", "promise", "summary", "text", "references"}
    assert answer["title"].startswith("Intervals")
    assert "EBWGW24" in answer["references"]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_its_page_and_every_link_in_it_is_another_topic(topic):
    text = explained(topic)["text"]
    assert ".md)" not in text
    for other in re.findall(r"bestchannel explain ([a-z0-9-]+)", text):
        assert explained(other)["text"]


def test_what_guarantees_cite_is_a_topic():
    cited = [re.search(r"bestchannel explain ([a-z-]+)\]", policy.guarantee)[1] for policy in POLICIES]
    for design in ("fixed", "adaptive"):
        guarantee = bc.estimate({"a": [[1, 2], [2, 1]]}, design=design).guarantee
        cited.append(re.search(r"bestchannel explain ([a-z-]+)\]", guarantee)[1])
    assert set(cited) == {"adaptive", "best-chan-id", "naive", "median", "recorded-counts", "estimate"}
    assert set(cited) <= set(TOPICS)


def test_unknown_topic_is_refused_in_one_sentence():
    run = bestchannel("explain", "magic")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("error: the topic must be one of adaptive, questions, best-chan-id, ")
    assert run.stderr.endswith("; it is 'magic'\n")
