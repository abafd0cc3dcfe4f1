"""The service from outside: runs, leases, pieces, downloads, the end and the beginning again."""

import http.client
import json
import signal
import sqlite3
import threading

import pytest

import bestchannel as bc
from bestchannel.policies.transcript import as_document
from bestchannel.questions import question_of
from bestchannel.report.page import page
from bestchannel.report.provenance import origin_of
from bestchannel.runs import open_run, read_run, view
from bestchannel.runs.history import AnswerPiece
from tests.service import instruments
from tests.service.running import TOKEN, running, sensing, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("service"), "--lease", "0.5") as service:
        yield service


def lease(service, run, channels=("cable",), **others):
    status, answer, _ = service.call("POST", "/api/leases", {"sensor": "s", "channels": channels, "run": run, **others})
    assert status == 200, answer
    return answer


def pieces_of(lent, seed=0):
    return [
        {k: part[k] for k in ("channel", "x", "start")}
        | {"counts": instruments.counts_of(seed, lent["request"], part["channel"], part["x"], part["start"], part["count"])}
        for part in lent["parts"]
    ]  # fmt: skip


def offer(service, run, request, pieces):
    status, answer, _ = service.call("POST", f"/api/runs/{run}/pieces", {"request": request, "pieces": pieces})
    return status, [each["outcome"] for each in answer["pieces"]]


def test_several_sensors_decide_a_run_as_if_nobody_had_shared_it(service):
    service.create("shared")
    urls = service.url("shared")
    with (
        sensing(urls, ["cable", "radio"], name="a"),
        sensing(urls, ["radio", "relay"], name="b") as states,
        sensing(urls, ["fibre"], name="c"),
    ):
        wait_until(lambda: states == ["decided"])
    expected = instruments.left_alone(0, instruments.adaptive())
    assert as_document(read_run(service.folder / "runs" / "shared.db")) == as_document(expected)


def test_a_piece_again_is_harmless_before_and_after_its_request_is_answered_and_after_the_end(service):
    service.create("again", max_senses=48)
    first = lease(service, "again", list(instruments.ERRORS))
    pieces = pieces_of(first)
    assert offer(service, "again", 1, pieces[:1]) == (200, ["kept"])
    assert offer(service, "again", 1, pieces) == (200, ["repeated", *["kept"] * (len(pieces) - 1)])
    assert offer(service, "again", 1, pieces) == (200, ["repeated"] * len(pieces))
    wait_until(lambda: service.call("GET", "/api/runs/again")[1]["state"] == "limited")
    assert offer(service, "again", 1, pieces) == (200, ["repeated"] * len(pieces))
    other = {**pieces[0], "counts": {"0": 1, "1": 5}}
    assert other["counts"] != pieces[0]["counts"]
    assert offer(service, "again", 1, [other]) == (409, ["refused"])
    assert offer(service, "again", 9, [other]) == (409, ["refused"])


def test_a_lease_that_is_not_renewed_goes_to_another_sensor(service):
    service.create("expiring")
    first = lease(service, "expiring")
    assert lease(service, "expiring")["parts"] == []
    again = lease(service, "expiring", wait=30)
    assert again["parts"] == first["parts"]
    path = f"/api/runs/expiring/leases/{first['lease']}"
    status, answer, _ = service.call("POST", path)
    assert status == 410
    assert "over" in answer["error"]
    assert service.call("DELETE", path)[0] == 200


def test_a_lease_that_is_renewed_lasts_and_one_given_back_is_free_at_once(service):
    service.create("lasting")
    lent = lease(service, "lasting")
    path = f"/api/runs/lasting/leases/{lent['lease']}"
    for _ in range(10):
        assert service.call("POST", path)[0] == 200
        assert lease(service, "lasting", wait=0.1)["parts"] == []
    assert service.call("DELETE", path)[0] == 200
    assert lease(service, "lasting")["parts"] == lent["parts"]


def test_a_paused_run_lends_nothing_until_it_goes_on(service):
    service.create("paused")
    assert service.call("PATCH", "/api/runs/paused", {"paused": True})[1]["paused"]
    assert lease(service, "paused")["state"] == "paused"
    found = []
    waiting = threading.Thread(target=lambda: found.append(lease(service, "paused", wait=30)))
    waiting.start()
    service.call("PATCH", "/api/runs/paused", {"paused": False})
    waiting.join()
    assert found[0]["parts"]


def test_work_is_not_lent_to_a_sensor_that_has_left_while_it_waited(service):
    service.create("left")
    lent = lease(service, "left")
    leaving = http.client.HTTPConnection("127.0.0.1", service.port)
    wish = {"sensor": "gone", "channels": ["cable"], "run": "left", "wait": 30}
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    leaving.request("POST", "/api/leases", json.dumps(wish), headers)
    wait_until(lambda: len(service.call("GET", "/api/runs/left")[1]["sensors"]) == 2)
    leaving.close()
    wait_until(lambda: service.logged()[-1].get("rule") == "gone")
    service.call("DELETE", f"/api/runs/left/leases/{lent['lease']}")
    first, again = lent["parts"][0], lease(service, "left")["parts"][0]  # a share of it, as there are two sensors
    assert (again["x"], again["start"]) == (first["x"], first["start"])


def test_a_run_is_ended_and_goes_on_with_another_limit(service):
    service.create("ended")
    assert service.call("PATCH", "/api/runs/ended", {"end": True})[1]["state"] == "limited"
    assert lease(service, "ended") == {**lease(service, "ended"), "state": "limited", "parts": []}
    assert service.call("PATCH", "/api/runs/ended", {"max_senses": 10_000})[1]["state"] == "open"
    assert lease(service, "ended")["parts"]


def test_status_says_which_channel_is_nearly_the_best(service):
    service.create("near")
    with sensing(service.url("near"), list(instruments.ERRORS)):
        wait_until(lambda: service.call("GET", "/api/runs/near")[1]["best"] is not None)
    status = service.call("GET", "/api/runs/near")[1]
    assert (status["nearly_best"], status["within_bits"]) == (status["best"], 0.0)


def test_what_is_downloaded_is_the_run_its_result_and_its_report(service, tmp_path):
    service.create("taken")
    with sensing(service.url("taken"), list(instruments.ERRORS)) as states:
        wait_until(lambda: states)
    path = service.folder / "runs" / "taken.db"
    copy = tmp_path / "copy.db"
    copy.write_bytes(service.call("GET", "/api/runs/taken/file")[1])
    copied, kept = (json.loads(json.dumps(as_document(read_run(file)))) for file in (copy, path))
    assert copied == kept == service.call("GET", "/api/runs/taken/result")[1]
    run = view(path)
    assert service.call("GET", "/api/runs/taken/report")[1].decode() == page(run.outcome(), origin=origin_of(run, path))


def test_a_run_that_people_answered_in_part_is_completed_by_sensors(service):
    service.create("mixed")
    service.end(signal.SIGTERM)
    with open_run(service.folder / "runs" / "mixed.db") as run:
        number = run.ask().number
        run.tell_pieces(number, [AnswerPiece("monday", 0, 0, (2, 1))])
    service.start()
    lent = lease(service, "mixed")
    assert [(part["x"], part["start"], part["count"]) for part in lent["parts"]] == [("0", 3, 3), ("1", 0, 6)]


def test_a_damaged_file_is_shown_as_such_and_harms_no_other(service):
    (service.folder / "runs" / "damaged.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with sqlite3.connect(service.folder / "runs" / "foreign.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    runs = {run["run"]: run for run in service.call("GET", "/api/runs")[1]["runs"]}
    for name in ("damaged", "foreign"):
        assert runs[name]["state"] == "failed"
        assert runs[name]["error"]
        assert service.call("GET", f"/api/runs/{name}/report")[0] == 400
        assert service.call("PATCH", f"/api/runs/{name}", {"end": True})[0] == 400


def test_metrics_count_senses_leases_latency_and_errors(service):
    service.create("counted")
    assert offer(service, "counted", 1, pieces_of(lease(service, "counted")))[0] == 200
    text = service.call("GET", "/metrics")[1].decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert int(values["bestchannel_senses_total"]) > 0
    assert int(values["bestchannel_leases_total"]) > 0
    assert (
        int(values['bestchannel_response_seconds_bucket{le="+Inf"}'])
        == int(values["bestchannel_response_seconds_count"])
        > 0
    )
    assert int(values['bestchannel_responses_total{status="200"}']) > 0


def test_the_description_lists_every_endpoint(service):
    described = service.call("GET", "/openapi.json")[1]
    assert described["openapi"].startswith("3.")
    assert {"/api/leases", "/api/runs/{run}/pieces", "/metrics"} <= described["paths"].keys()


def test_sigterm_ends_with_0_though_somebody_watches_and_waits(tmp_path):
    with running(tmp_path) as service:
        service.create("watched")
        lent = lease(service, "watched")
        connection = http.client.HTTPConnection("127.0.0.1", service.port)
        connection.request("GET", "/runs/watched/events", headers={"Authorization": "Bearer 0123456789abcdefghij"})
        assert connection.getresponse().readline() == b"retry: 1000\n"
        assert offer(service, "watched", 1, pieces_of(lent))[0] == 200
        assert service.end() == 0
        assert service.logged()[-1]["event"] == "ended"
        service.start()
        assert service.call("GET", "/api/runs/watched")[1]["answered"] == sum(part["count"] for part in lent["parts"])


def test_the_address_with_the_token_is_printed(service):
    assert service.said == f"{service.address}/?token=0123456789abcdefghij\n"


def test_logs_are_lines_of_json(service):
    assert all({"time", "level", "event"} <= line.keys() for line in service.logged())
    assert json.dumps(service.logged())


QUESTIONS = {
    "above": {"kind": "above", "level": 0.55},
    "top": {"kind": "top", "m": 2},
    "order": {"kind": "order"},
    "within": {"kind": "within", "width": 0.5},
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_run_with_another_question_is_answered_over_http(service, question):
    name = f"asked-{question['kind']}"
    assert service.create(name, question=question, max_senses=1500)["answer"]
    with sensing(service.url(name), list(instruments.ERRORS)) as states:
        wait_until(lambda: states)
    told = service.call("GET", f"/api/runs/{name}")[1]
    result = read_run(service.folder / "runs" / f"{name}.db")
    assert (told["state"], told["answer"]) == (states[0], result.question.answer(result))
    assert result.question == question_of(question)
    assert bc.verify(result).valid


def test_a_question_that_cannot_be_asked_is_refused_in_one_sentence(service):
    for wish in (
        {"question": {"kind": "top", "m": 9}},
        {"question": {"kind": "why"}},
        {"policy": "naive", "epsilon": 0.1, "question": {"kind": "order"}},
    ):
        status, answer, _ = service.call("POST", "/api/runs", {"name": "no", "channels": instruments.CHANNELS, **wish})
        assert status == 400, wish
        assert answer["error"]


def test_the_form_of_the_start_page_has_every_question(service):
    page = service.call("GET", "/")[1].decode()
    for kind in ("best", *QUESTIONS):
        assert f'<option value="{kind}">' in page
