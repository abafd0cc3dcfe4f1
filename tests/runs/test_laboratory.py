"""Runs that people answer: what is told is kept, once, and nothing else is taken."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from bestchannel import BestChanID, InputError, NaiveChanSel, Simulator, identify, runs
from bestchannel.channels import bsc
from bestchannel.policies import ChannelLabels, Request
from bestchannel.policies.transcript import as_document
from bestchannel.runs.laboratory_files import AnswerSheet, answered_inputs
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
        InputError, match=r"request 1 was answered otherwise before, and an answer stays .*; request 2 is open"
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


def test_amended_answer_replaces_the_one_before_and_the_policy_goes_on_from_there(lab, tmp_path):
    for number in (1, 2, 3):
        told(lab, number, {0: RIGHT, 1: WRONG})
    with runs.open_run(lab) as run:
        assert run.amend(2, {(1, 0): (1, 0)}).complete
        assert run.ask().number == 3
    found = runs.view(lab)
    assert [t.tolist() for t in found.outcome().audit.steps[1].counts.values()] == [RIGHT.tolist(), [[1, 0], [1, 0]]]
    assert (found.history.senses, found.history.amended) == (8, [2])
    with sqlite3.connect(lab) as connection:  # the log keeps both
        kinds = [kind for (kind,) in connection.execute("SELECT kind FROM log ORDER BY number")]
    connection.close()
    assert kinds == ["asked", "told"] * 3 + ["asked", "amended", "asked"]
    straight = tmp_path / "straight.db"
    with runs.begin(straight, Steady([(2, 2)] * 2, delta=0.1), PARTIES) as run:
        run.tell(1, {0: RIGHT, 1: WRONG})
        run.tell(2, {0: RIGHT, 1: [[1, 0], [1, 0]]})
    assert as_document(runs.read_run(straight)) == as_document(found.outcome())
    told(lab, 3, {0: RIGHT, 1: WRONG})
    assert runs.view(lab).ask().number == 4


def test_part_of_an_open_answer_can_be_amended(lab):
    with runs.open_run(lab) as run:
        run.tell_inputs(1, {(0, 0): (0, 1), (0, 1): (0, 1)})
        assert not run.amend(1, {(0, 0): (1, 0)}).complete
        with pytest.raises(InputError, match="piece 'channel 0, input 0' of request 1 has 1 sense of"):
            run.tell_inputs(1, {(0, 0): (0, 1)})
        assert run.tell_inputs(1, {(1, 0): (0, 1), (1, 1): (1, 0)}).complete
    assert runs.read_run(lab).audit.steps[0].counts[0].tolist() == RIGHT.tolist()


def test_amendment_that_completes_an_answer_moves_the_policy_on(lab):
    with runs.open_run(lab) as run:
        run.tell_inputs(1, {(0, 0): (1, 0), (0, 1): (0, 1), (1, 0): (1, 0)})
        assert run.amend(1, {(1, 0): (0, 1), (1, 1): (1, 0)}).complete
        assert run.ask().number == 2
    assert runs.read_run(lab).audit.steps[0].counts[1].tolist() == WRONG.tolist()


@pytest.mark.parametrize(
    ("number", "rows", "sentence"),
    [
        (2, {(0, 0): (1, 0)}, "nothing was told of request 2, so nothing can be amended; request 2 is open"),
        (9, {(0, 0): (1, 0)}, "nothing was told of request 9"),
        (1, {(0, 0): (2, 0)}, "has 2 senses of input x=0"),
        (1, {(0, 7): (1, 0)}, "it counts input 7 of channel 0"),
        (1, {(0, 0): (1, 0, 0)}, "must have 2 counts"),
    ],
)
def test_amendment_that_does_not_fit_changes_nothing(number, rows, sentence, lab):
    told(lab, 1, {0: RIGHT, 1: WRONG})
    before = len(runs.view(lab).history.requests)
    with runs.open_run(lab) as run, pytest.raises(InputError, match=sentence):
        run.amend(number, rows)
    assert runs.view(lab).history.amended == []
    assert len(runs.view(lab).history.requests) == before


@pytest.mark.parametrize("largest", [1, 3, 7, 1000])
def test_capped_requests_lead_the_policy_to_the_same_record(largest, tmp_path):
    channels, documents = {"cable": bsc(0.02), "radio": bsc(0.3)}, []
    for cap in (None, largest):
        path, sensor = tmp_path / f"{cap}.db", Simulator(channels, rng=4)
        policy = Steady(sensor.alphabets, delta=0.1)
        answers = {}
        with runs.begin(path, policy, largest_request=cap) as run:
            while (request := run.ask()) is not None:
                assert cap is None or request.total <= cap
                for channel, senses in request.senses.items():  # input x always gives output x, but for channel 1
                    answers[channel] = np.diag(senses) if channel == 0 else np.diag(senses)[:, ::-1]
                run.tell(request.number, {channel: answers[channel] for channel in request.senses})
        documents.append(as_document(runs.read_run(path)))
    assert documents[0]["decided"]
    assert documents[1] == documents[0]


def test_limit_counts_the_portions_that_were_told(tmp_path):
    with runs.begin(tmp_path / "a.db", Steady([(2, 2)] * 2, delta=0.1), max_senses=3, largest_request=2) as run:
        assert run.ask().senses == {0: (1, 1)}
        run.tell(1, {0: RIGHT})
        assert run.state == "limited"


@pytest.mark.parametrize("wish", [{"title": "a\nb"}, {"title": "x" * 201}, {"largest_request": 0}, {"note": "\0"}])
def test_wish_that_is_none_is_refused(wish, tmp_path):
    with pytest.raises(InputError, match="must be"), runs.begin(tmp_path / "a.db", Steady([(2, 2)], delta=0.1), **wish):
        pass
    assert not (tmp_path / "a.db").exists()


def test_title_and_note_are_kept(tmp_path):
    with runs.begin(tmp_path / "a.db", Steady([(2, 2)], delta=0.1), title="Attic", note="two\nlines"):
        pass
    found = runs.view(tmp_path / "a.db").settings
    assert (found.title, found.note) == ("Attic", "two\nlines")


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


def test_each_letter_of_an_answer_is_compared_with_few_others():
    """However many there are, up to 65,536: each is looked up, and not searched for."""
    compared, n = 0, 2**10

    class Letter(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    channels = [ChannelLabels("a", ("0",), tuple(map(Letter, range(n))))]
    compared = 0
    sheet = AnswerSheet(Path("a.csv"), 1, [("a", "0", str(y), 1) for y in range(n)])
    assert answered_inputs(sheet, Request(1, {0: (n,)}), channels) == {(0, 0): (1,) * n}
    assert n <= compared < 10 * n
