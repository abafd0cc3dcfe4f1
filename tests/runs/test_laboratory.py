"""Runs that people answer: what is told is kept, once, and nothing else is taken."""

import pytest

from bestchannel import BestChanID, InputError, NaiveChanSel, Simulator, identify, runs
from bestchannel.channels import bsc
from bestchannel.policies import ChannelLabels
from bestchannel.runs.results import as_document
from tests.runs.steady import PARTIES, RIGHT, WRONG, Steady


def told(path, number, counts):
    with runs.open_run(path) as run:
        return run.tell(number, counts)


def test_sittings_lead_to_the_verdict_of_one_loop(lab):
    sensor = Simulator({"cable": bsc(0.02), "radio": bsc(0.3)}, rng=4)
    while (request := runs.view(lab).ask()) is not None:
        assert not told(lab, request.number, sensor(request)).repeated
    again = Simulator({"cable": bsc(0.02), "radio": bsc(0.3)}, rng=4)
    expected = identify(again, Steady(again.alphabets, delta=0.1))
    found = runs.read_run(lab)
    assert found == expected
    assert as_document(found)["audit"]["steps"] == as_document(expected)["audit"]["steps"]
    assert found.audit.channels == tuple(PARTIES)
    assert runs.view(lab).state == "decided"


def test_same_answer_again_is_harmless_and_another_is_refused(lab):
    answer = {0: RIGHT, 1: WRONG}
    assert not told(lab, 1, answer).repeated
    assert told(lab, 1, answer).repeated
    with pytest.raises(
        InputError, match="request 1 was answered otherwise before, and an answer stays; request 2 is open"
    ):
        told(lab, 1, {0: RIGHT, 1: RIGHT})
    assert told(lab, 1, answer).repeated
    assert runs.read_run(lab).senses == 4


@pytest.mark.parametrize("number", [-1, 0, 2, 3, 10**30])
def test_request_that_was_not_asked_cannot_be_answered(number, lab):
    with pytest.raises(InputError, match=f"request 1 is open; request {number} cannot be answered"):
        told(lab, number, {0: RIGHT, 1: RIGHT})


@pytest.mark.parametrize(
    "counts",
    [{}, {0: RIGHT}, {0: RIGHT, 1: RIGHT, 2: RIGHT}, {0: RIGHT, 1: 2 * RIGHT}, {0: RIGHT, 1: -RIGHT}, {0: RIGHT, 1: 3}],
)
def test_refused_answer_changes_nothing(counts, lab):
    with pytest.raises(InputError):
        told(lab, 1, counts)
    assert runs.read_run(lab).senses == 0
    assert not told(lab, 1, {0: RIGHT, 1: RIGHT}).repeated


def test_run_may_be_told_many_answers_in_one_sitting(lab):
    with runs.open_run(lab) as run:
        while (request := run.ask()) is not None:
            run.tell(request.number, {0: RIGHT, 1: WRONG})
        assert run.outcome().best == "cable"
        with pytest.raises(InputError, match="the run is decided; request 41 cannot be answered"):
            run.tell(41, {0: RIGHT, 1: WRONG})
        assert run.tell(40, {0: RIGHT, 1: WRONG}).repeated


def test_limit_of_senses_closes_the_run_until_it_is_raised(lab):
    with runs.open_run(lab) as run:
        run.limit(7)
        run.tell(1, {0: RIGHT, 1: WRONG})
        assert (run.state, run.ask()) == ("limited", None)
        with pytest.raises(InputError, match="the run is limited; request 2 cannot be answered"):
            run.tell(2, {0: RIGHT, 1: WRONG})
        run.limit(8)
        assert run.ask().number == 2


def test_existing_file_is_not_overwritten(lab):
    before = lab.read_bytes()
    with (
        pytest.raises(InputError, match="the file exists; choose another name"),
        runs.begin(lab, Steady([(2, 2)], delta=0.1)),
    ):
        pass
    assert lab.read_bytes() == before


def test_simulated_run_is_not_told_by_hand(tmp_path):
    channels, path = {"cable": bsc(0.02), "radio": bsc(0.3)}, tmp_path / "run.db"
    source = runs.Simulation(channels, 1)
    policy = Steady([(2, 2)] * 2, delta=0.1)
    runs.identify_durably(source.sensor(), policy, path, source=source.record(path), max_senses=8)
    with pytest.raises(InputError, match="this run answers itself; `bestchannel run resume` goes on with it"):
        told(path, 3, {0: RIGHT, 1: WRONG})


def test_laboratory_run_does_not_go_on_by_itself(lab):
    with pytest.raises(
        InputError, match="only a simulated or replayed run goes on by itself; this is a laboratory run"
    ):
        runs.resume(lab)


def test_policy_that_wants_nothing_is_decided_from_the_beginning(tmp_path):
    with runs.begin(
        tmp_path / "lab.db", BestChanID([(2, 3)], delta=0.1), [ChannelLabels("only", ("0", "1"), ("0", "1", "2"))]
    ) as run:
        assert (run.ask(), run.state, run.outcome().best) == (None, "decided", "only")


def test_policy_that_ends_now_where_it_asked_before_is_refused(lab, monkeypatch):
    with runs.open_run(lab) as run:
        run.tell(1, {0: RIGHT, 1: WRONG})
    monkeypatch.setattr(Steady, "requests", 1)
    with pytest.raises(InputError, match="disagree about request 2: the run was begun with another version"):
        runs.view(lab)


def test_counts_beyond_2_to_the_53_are_kept_to_the_last_digit(tmp_path):
    with runs.begin(tmp_path / "lab.db", NaiveChanSel([(2, 2)] * 2, delta=0.1, epsilon=1e-5)) as run:
        request = run.ask()
        n = request.senses[0][0]
        assert n > 2**53
        run.tell(1, {0: [[n, 0], [0, n]], 1: [[n - 1, 1], [1, n - 1]]})
    steps = runs.read_run(tmp_path / "lab.db").audit.steps
    assert steps[0].counts[1].tolist() == [[n - 1, 1], [1, n - 1]]
