"""The thread that writes a run: offers share a transaction, and none is left without an answer."""

import threading
import time

import pytest

from bestchannel.runs import NotWrittenError, begin, store
from bestchannel.runs.history import AnswerPiece
from bestchannel.service.hosted_run import HostedRun
from bestchannel.service.ledger import identifier
from tests.runs.steady import Steady
from tests.service.instruments import PARTIES
from tests.service.wide import Wide


@pytest.fixture
def hosted(tmp_path):
    path = tmp_path / "run.db"
    with begin(path, Wide([party.alphabet for party in PARTIES], delta=0.1), PARTIES):
        pass
    hosted = HostedRun("run", path, lambda: None, lease_s=30.0)
    hosted.start().result()
    yield hosted
    hosted.stop()


def placed(start, *counts):
    return AnswerPiece(identifier(0, 0, start), 0, 0, counts)


def entries(path):
    return store.read(path).length


def test_offers_that_wait_together_share_an_entry_of_the_log(hosted):
    before = entries(hosted.path)
    hold = hosted.do(lambda run: [hosted.offer(1, [placed(10 * i, 3, 7)]) for i in range(100)])
    outcomes = [each.outcome for offer in hold.result() for each in offer.result()]
    assert outcomes == ["kept"] * 100
    assert entries(hosted.path) == before + 1


def test_the_same_piece_twice_in_one_batch_counts_once(hosted):
    hold = hosted.do(
        lambda run: [
            hosted.offer(1, [placed(0, 3, 7)]),
            hosted.offer(1, [placed(0, 3, 7)]),
            hosted.offer(1, [placed(5, 9, 0)]),
        ]
    )
    assert [offer.result()[0].outcome for offer in hold.result()] == ["kept", "repeated", "refused"]
    assert store.read(hosted.path).partial_answer(1).pieces.keys() == {"0.0@0"}


def test_clients_that_leave_while_they_wait_do_not_end_the_run(hosted):
    left = hosted.do(lambda run: [hosted.offer(1, [placed(0, 3, 7)]).cancel(), hosted.do(lambda run: None).cancel()])
    assert left.result() == [True, True]
    assert hosted.offer(1, [placed(0, 3, 7)]).result()[0].outcome == "kept"
    assert hosted.status.state == "open"


def test_offer_that_was_left_is_not_kept_at_the_end(hosted):
    before = entries(hosted.path)
    assert hosted.do(lambda run: hosted.offer(1, [placed(0, 3, 7)]).cancel()).result()
    hosted.stop()
    assert entries(hosted.path) == before


def test_what_is_offered_after_the_end_is_turned_away(hosted):
    hosted.stop()
    with pytest.raises(NotWrittenError, match="try again"):
        hosted.offer(1, [placed(0, 1, 0)]).result()
    with pytest.raises(NotWrittenError, match="try again"):
        hosted.do(lambda run: None).result()


def test_what_is_offered_while_the_end_waits_is_turned_away_or_kept_by_the_thread_itself(hosted):
    reached, go_on = threading.Event(), threading.Event()
    hosted.do(lambda run: (reached.set(), go_on.wait()))
    reached.wait()
    before = hosted.offer(1, [placed(0, 3, 7)])
    ending = threading.Thread(target=hosted.stop)
    ending.start()
    while not hosted._thread._shutdown:
        time.sleep(0.001)
    late = hosted.offer(1, [placed(10, 3, 7)])
    go_on.set()
    ending.join()
    assert before.result()[0].outcome == "kept"
    with pytest.raises(NotWrittenError, match="try again"):
        late.result()


def test_a_full_disk_refuses_an_offer_and_the_same_offer_is_kept_later(hosted, monkeypatch):
    def full(self, *records):
        raise NotWrittenError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "append", full)
        with pytest.raises(NotWrittenError, match="no space"):
            hosted.offer(1, [placed(0, 3, 7)]).result()
    assert hosted.offer(1, [placed(0, 3, 7)]).result()[0].outcome == "kept"


def test_a_disk_that_is_full_when_the_next_request_is_written_down_harms_nothing(tmp_path, monkeypatch):
    append, path = store.Store.append, tmp_path / "run.db"
    answer = [AnswerPiece(identifier(c, x, 0), c, x, (1, 0)) for c in range(2) for x in range(2)]

    def full(self, *records):
        if records[0][0] == "asked":
            raise NotWrittenError("no space left")
        append(self, *records)

    with begin(path, Steady([(2, 2)] * 2, delta=0.1)):
        pass
    hosted = HostedRun("run", path, lambda: None, lease_s=30.0)
    hosted.start().result()
    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "append", full)
        for request in (1, 2):
            with pytest.raises(NotWrittenError, match="no space"):
                hosted.offer(request, answer).result()
    assert (hosted.status.state, hosted.status.request) == ("open", 2)
    outcomes = [{outcome.outcome for outcome in hosted.offer(request, answer).result()} for request in (1, 2)]
    assert outcomes == [{"repeated"}, {"kept"}]
    hosted.stop()
    assert list(store.read(path).answers) == [1, 2]


def test_a_policy_that_fails_ends_the_run_with_its_reason_and_answers_everybody(hosted, monkeypatch):
    def broken(self, *arguments):
        raise ZeroDivisionError("in the policy")

    monkeypatch.setattr("bestchannel.runs.LaboratoryRun.tell_pieces", broken)
    with pytest.raises(ZeroDivisionError):
        hosted.offer(1, [placed(0, 3, 7)]).result()
    with pytest.raises(NotWrittenError, match="the run failed"):
        hosted.offer(1, [placed(0, 3, 7)]).result()
    assert (hosted.status.state, hosted.status.error) == ("failed", "in the policy")
    assert hosted.ledger.lend(("token", "s"), {0}, 10, 0.0) is None


def test_everybody_who_waits_is_answered_when_the_policy_fails(hosted, monkeypatch):
    def broken(self, *arguments):
        raise ZeroDivisionError("in the policy")

    monkeypatch.setattr("bestchannel.runs.LaboratoryRun.tell_pieces", broken)
    hold = hosted.do(lambda run: (hosted.offer(1, [placed(0, 3, 7)]), hosted.do(lambda run: run.state)))
    offered, asked = hold.result()
    with pytest.raises(ZeroDivisionError):
        offered.result(timeout=10)
    with pytest.raises(NotWrittenError, match="the run failed"):
        asked.result(timeout=10)


def test_the_status_knows_a_change_by_the_time_that_it_is_answered(hosted, monkeypatch):
    publish = HostedRun._publish

    def slow(self, *arguments, **options):
        time.sleep(0.2)
        publish(self, *arguments, **options)

    monkeypatch.setattr(HostedRun, "_publish", slow)
    hosted.do(lambda run: run.limit(7)).result()
    assert hosted.status.max_senses == 7
