"""The folder of the runs while it is served: files that vanish, change places, or are no runs at all."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec import convert

from bestchannel.errors import InputError
from bestchannel.runs import begin, read_run, store
from bestchannel.service import run_folder
from bestchannel.service.messages import Change, ChannelAlphabets, NewRun
from bestchannel.service.run_folder import RunFolder
from tests.runs.steady import RIGHT, WRONG, Steady
from tests.service.instruments import CHANNELS, ERRORS
from tests.service.running import running, wait_until
from tests.service.test_service import lease, offer, pieces_of


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    runs = folder / "runs"
    (runs / "drawer.db").mkdir(parents=True)
    (runs / "dangling.db").symlink_to(runs / "nowhere")
    with running(folder, "--lease", "0.5") as service:
        service.create("beside")
        yield service


def listed(service):
    return {run["run"]: run for run in service.call("GET", "/api/runs")[1]["runs"]}


def remove(service, name):
    for path in (service.folder / "runs").glob(f"{name}.db*"):
        path.unlink()


def test_folders_and_links_to_nothing_are_no_runs(service):
    assert "beside" in listed(service)
    assert not {"drawer", "dangling"} & listed(service).keys()
    for name in ("drawer", "dangling"):
        assert service.call("GET", f"/api/runs/{name}")[0] == 404


def test_nothing_is_acknowledged_for_a_run_whose_file_was_deleted(service):
    service.create("deleted")
    first, *others = pieces_of(lease(service, "deleted", list(ERRORS)))
    assert offer(service, "deleted", 1, [first]) == (200, ["kept"])
    remove(service, "deleted")
    status, answer, _ = service.call("POST", "/api/runs/deleted/pieces", {"request": 1, "pieces": others})
    assert status in (404, 503), answer
    wait_until(lambda: service.call("GET", "/api/runs/deleted")[0] == 404)
    assert service.call("GET", "/")[0] == 200
    assert "deleted" not in listed(service)


def test_whoever_watches_a_run_that_is_deleted_is_told(service):
    service.create("watched")
    command = [sys.executable, "-m", "bestchannel", "watch", service.url("watched")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr.readline() == "watched: open, 0 senses\n"
        remove(service, "watched")
        assert watching.wait() == 1
        assert "there is no run 'watched'" in watching.stderr.read()


def test_a_name_is_free_again_once_its_file_was_deleted_and_is_not_paused(service):
    service.create("again")
    service.call("PATCH", "/api/runs/again", {"paused": True})
    lease(service, "again")
    remove(service, "again")
    wait_until(lambda: service.call("GET", "/api/runs/again")[0] == 404)
    service.create("again")
    assert not service.call("GET", "/api/runs/again")[1]["paused"]
    assert lease(service, "again")["parts"]


def test_a_file_that_takes_the_place_of_a_run_is_served_and_neither_gets_pieces_of_the_other(service):
    service.create("place")
    service.create("other", channels={name: CHANNELS[name] for name in ("cable", "radio")})
    copy = service.folder / "copy.db"
    copy.write_bytes(service.call("GET", "/api/runs/other/file")[1])
    pieces = pieces_of(lease(service, "place", list(ERRORS)))
    shutil.move(copy, service.folder / "runs" / "place.db")
    service.call("POST", "/api/runs/place/pieces", {"request": 1, "pieces": pieces})
    wait_until(lambda: service.call("GET", "/api/runs/place")[1]["channels"] == ["cable", "radio"])
    assert service.call("GET", "/api/runs/place")[1]["answered"] == 0
    assert read_run(service.folder / "runs" / "place.db").senses == 0


def test_nothing_is_acknowledged_into_a_file_that_was_copied_over_a_run_and_that_file_stays_as_it_is(service):
    service.create("covered")
    service.create("source", channels={name: CHANNELS[name] for name in ("cable", "radio")})
    copy = service.call("GET", "/api/runs/source/file")[1]
    first, *others = pieces_of(lease(service, "covered", list(ERRORS)))
    assert offer(service, "covered", 1, [first]) == (200, ["kept"])
    path = service.folder / "runs" / "covered.db"
    with path.open("r+b") as file:  # as cp does
        file.truncate(0)
        file.write(copy)
    status, answer, _ = service.call("POST", "/api/runs/covered/pieces", {"request": 1, "pieces": others})
    assert status in (400, 404, 503), answer
    wait_until(lambda: service.call("GET", "/api/runs/covered")[1]["channels"] == ["cable", "radio"])
    assert service.call("GET", "/api/runs/covered")[1]["answered"] == 0
    assert offer(service, "covered", 1, pieces_of(lease(service, "covered"))) == (200, ["kept"] * 2)
    assert [line["run"] for line in service.logged() if line["event"] == "run replaced"][-1] == "covered"


def test_leases_run_out_elsewhere_though_a_run_has_vanished_at_its_end(service):
    service.create("vanishing", max_senses=48)
    assert offer(service, "vanishing", 1, pieces_of(lease(service, "vanishing", list(ERRORS))))[0] == 200
    remove(service, "vanishing")  # before the service has looked for runs that have ended
    first = lease(service, "beside")
    assert lease(service, "beside", wait=30)["parts"] == first["parts"]


def test_two_names_of_one_file_are_written_to_by_one_of_them(service):
    service.create("original")
    (service.folder / "runs" / "twin.db").symlink_to(service.folder / "runs" / "original.db")
    assert listed(service)["twin"]["state"] == "failed"
    assert listed(service)["twin"]["error"].startswith("twin.db: another process writes")
    assert lease(service, "original")["parts"]


def test_a_file_that_is_no_run_is_not_downloaded_but_refused_in_a_sentence(service):
    (service.folder / "runs" / "secret.db").write_text("root:x:0:0:root:/root:/bin/bash\n" * 200)
    for what in ("file", "result", "report"):
        status, answer, _ = service.call("GET", f"/api/runs/secret/{what}")
        assert status == 400
        assert "root" not in answer["error"].partition(": ")[2]
    assert not [line for line in service.logged() if line["event"] == "fault"]


def test_a_name_that_ends_its_line_is_refused_and_makes_no_file(service):
    for name in ("lined\n", "lined\r\n"):
        assert service.call("POST", "/api/runs", {"name": name, "channels": CHANNELS})[0] == 400
    assert not list((service.folder / "runs").glob("lined*"))


@pytest.mark.parametrize("content", ["{", "[1]", '"beside"', "\xff"])
def test_a_list_of_paused_runs_that_is_damaged_is_refused_in_a_sentence(tmp_path, content):
    (tmp_path / ".paused.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=r"paused\.json: the file must hold the names of the paused runs"):
        RunFolder(tmp_path, lease_s=1.0, changed=lambda: None)


def test_a_run_that_could_not_be_noted_as_paused_is_not(tmp_path, monkeypatch):
    def full(path, data):
        raise InputError("no space left")

    folder = RunFolder(tmp_path, lease_s=1.0, changed=lambda: None)
    (tmp_path / "lab.db").touch()
    monkeypatch.setattr(run_folder, "write_bytes", full)
    with pytest.raises(InputError, match="no space"):
        folder.alter("lab", Change(paused=True))
    assert not folder.paused


def test_whoever_asks_for_a_run_while_it_is_closed_waits_and_does_not_open_it_again(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path, lease_s=1.0, changed=lambda: None)
    folder.create(new_run())
    hosted, stopping, go_on = folder.hosted["lab"], threading.Event(), threading.Event()
    hosted.do(lambda run: run.limit(0)).result()
    stop, opened = hosted.stop, []
    monkeypatch.setattr(hosted, "stop", lambda: (stopping.set(), go_on.wait(), stop()))
    monkeypatch.setattr(RunFolder, "_host", lambda self, name: opened.append(name))
    with ThreadPoolExecutor(2) as others:
        closing = others.submit(folder.close_ended)
        stopping.wait()
        assert "lab" not in folder.hosted
        asking = others.submit(folder.host_or_read, "lab")
        go_on.set()
        closing.result()
        assert asking.result()[1].state == "limited"
    assert not opened


def new_run(**others):
    return NewRun(name="lab", channels=convert(CHANNELS, dict[str, ChannelAlphabets]), **others)


def test_a_run_that_could_not_be_begun_leaves_its_name_free(tmp_path, monkeypatch):
    def full(*arguments):
        raise sqlite3.OperationalError("database or disk is full")

    folder = RunFolder(tmp_path, lease_s=1.0, changed=lambda: None)
    with monkeypatch.context() as patch:
        patch.setattr(store.RUN.__class__, "create", full)
        with pytest.raises(InputError):
            folder.create(new_run())
    folder.create(new_run())
    assert folder.host_or_read("lab")[1].state == "open"
    with pytest.raises(InputError, match="there is a run 'lab' already"):
        folder.create(new_run())
    folder.close()


def test_a_change_that_is_refused_changes_nothing(tmp_path):
    folder = RunFolder(tmp_path, lease_s=1.0, changed=lambda: None)
    folder.create(new_run())
    folder.hosted["lab"].do(lambda run: setattr(run.history, "senses", 7)).result()
    with pytest.raises(InputError, match="must be a whole number"):
        folder.alter("lab", Change(paused=True, max_senses=3))
    assert not folder.paused
    folder.close()


def test_a_policy_that_cannot_go_on_is_shown_as_failed_and_harms_no_other_run(tmp_path, monkeypatch):
    def broken(self):
        yield {0: (1, 1), 1: (1, 1)}
        raise ZeroDivisionError("in the policy")

    with begin(tmp_path / "lab.db", Steady([(2, 2)] * 2, delta=0.1)) as run:
        run.tell(1, {0: RIGHT, 1: WRONG})
    monkeypatch.setattr(Steady, "_script", broken)
    labels, status = RunFolder(tmp_path, lease_s=1.0, changed=lambda: None).host_or_read("lab")
    assert (labels, status.state, status.error) == (None, "failed", "in the policy")
