"""Runs that answer themselves: the same verdict, bit for bit, however often they were cut off."""

from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from bestchannel import BestChanID, InputError, NaiveChanSel, Observation, Recording, Simulator, identify, runs
from bestchannel.channels import bsc
from bestchannel.cli import app
from bestchannel.policies import Policy
from bestchannel.policies.transcript import as_document
from bestchannel.runs import store
from bestchannel.runs.history import History
from tests.runs.steady import Steady

CHANNELS = {"poor": bsc(0.3), "good": bsc(0.02), "fair": bsc(0.1)}


class CutError(Exception):
    """What ends a process in these tests."""


def simulator(seed=5):
    return Simulator(CHANNELS, rng=seed)


def steady(sensor):
    return Steady(sensor.alphabets, delta=0.1)


def cut_after(n, sensor):
    """The sensor, which dies at request n + 1, after it has drawn."""

    def dying(request):
        counts = sensor(request)
        if request.number > n:
            raise CutError
        return counts

    for name in ("parties", "rng", "left"):
        if hasattr(sensor, name):
            setattr(dying, name, getattr(sensor, name))
    return dying


def cut_off(path, n, sensor=None, source=None):
    sensor = sensor or simulator()
    with pytest.raises(CutError):
        runs.identify_durably(
            cut_after(n, sensor), steady(sensor), path, source=source or runs.Simulation(CHANNELS, 5).record(path)
        )


def document(result):
    return as_document(result)


@pytest.fixture
def whole():
    sensor = simulator()
    return document(identify(sensor, steady(sensor)))


@pytest.mark.parametrize("cuts", [[0], [1], [7], [3, 4, 4, 20], [39]])
def test_run_that_was_cut_off_ends_like_one_that_was_not(cuts, tmp_path, whole):
    path = tmp_path / "run.db"
    for n in cuts:
        cut_off(path, n)
        assert len(runs.read_run(path).audit.steps) == n
    assert document(runs.resume(path)) == whole
    assert document(runs.read_run(path)) == whole
    assert document(runs.resume(path)) == whole


@pytest.mark.parametrize(
    "policy",
    [lambda a: BestChanID(a, delta=0.1, subroutine="median"), lambda a: NaiveChanSel(a, delta=0.1, epsilon=0.1)],
)
def test_stored_policy_is_the_policy_that_began(policy, tmp_path):
    sensor = simulator()
    durable = runs.identify_durably(sensor, policy(sensor.alphabets), tmp_path / "run.db")
    again = simulator()
    assert document(runs.read_run(tmp_path / "run.db")) == document(durable)
    assert document(durable) == document(identify(again, policy(again.alphabets)))


@pytest.mark.parametrize("generator", [np.random.MT19937, np.random.SFC64, np.random.Philox, np.random.PCG64DXSM])
def test_state_of_every_random_generator_is_restored(generator, tmp_path):
    def sensor():
        return simulator(np.random.Generator(generator(3)))

    first = sensor()
    expected = document(identify(first, steady(first)))
    cut_off(tmp_path / "run.db", 6, sensor(), {"kind": "sensor"})
    again = sensor()
    assert document(runs.identify_durably(again, steady(again), tmp_path / "run.db")) == expected


def trials(n=60, seed=1):
    rng = np.random.default_rng(seed)
    x = np.tile([0, 1], n)
    return {name: np.stack([x, (x ^ (rng.random(2 * n) < W.W[0, 1]))], axis=1) for name, W in CHANNELS.items()}


def recording(seed=1):
    return Recording(trials(seed=seed), alphabets=[(2, 2)] * 3)


def test_recording_goes_on_after_the_trials_that_it_gave(tmp_path):
    expected = identify(recording(), steady(simulator()))
    cut_off(tmp_path / "run.db", 9, recording(), {"kind": "sensor"})
    result = runs.identify_durably(recording(), steady(simulator()), tmp_path / "run.db")
    assert document(result) == document(expected)


def test_recording_that_answers_otherwise_is_refused(tmp_path):
    cut_off(tmp_path / "run.db", 9, recording(), {"kind": "sensor"})
    with pytest.raises(InputError, match="as it did; it answers otherwise"):
        runs.identify_durably(recording(seed=2), steady(simulator()), tmp_path / "run.db")


def test_guarantee_is_conditional_where_the_outputs_are_only_those_recorded(tmp_path):
    result = runs.identify_durably(Recording(trials()), steady(simulator()), tmp_path / "run.db")
    assert (
        result.guarantee == runs.read_run(tmp_path / "run.db").guarantee == "none, conditional on the observed alphabet"
    )


def test_limit_is_kept_and_can_be_raised(tmp_path, whole):
    path, sensor = tmp_path / "run.db", simulator()
    source = runs.Simulation(CHANNELS, 5).record(path)
    limited = runs.identify_durably(sensor, steady(sensor), path, source=source, max_senses=100)
    assert (limited.decided, limited.senses) == (False, 96)
    assert runs.resume(path).senses == 96
    assert runs.view(path).state == runs.LIMITED
    with pytest.raises(InputError, match="max_senses must be a whole number >= 96, what the run has spent; it is 95"):
        runs.resume(path, max_senses=95)
    assert runs.resume(path, max_senses=150).senses == 150
    assert document(runs.resume(path, max_senses=10**6)) == whole


def test_answer_that_is_none_is_refused_before_it_is_written(tmp_path):
    def broken(request):
        return {channel: [[1, 1], [0, 1]] for channel in request.senses}

    with pytest.raises(InputError, match="must add up to 1 sense of input x=0"):
        runs.identify_durably(broken, Steady([(2, 2)] * 2, delta=0.1), tmp_path / "run.db")
    assert runs.read_run(tmp_path / "run.db").senses == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"delta": 0.2}, "begun with delta 0.1, and now it is 0.2"),
        ({"policy": BestChanID}, 'begun with policy "tests.runs.steady:Steady", and now it is "best-chan-id"'),
        ({"channels": CHANNELS | {"more": bsc(0.4)}}, "begun with channels"),
        ({"channels": CHANNELS | {"poor": bsc(0.31)}}, "begun with rows"),
        ({"seed": 6}, "begun with seed 5, and now it is 6"),
    ],
)
def test_run_of_another_question_is_refused(change, sentence, tmp_path):
    path = tmp_path / "run.db"
    cut_off(path, 3)
    given = {"delta": 0.1, "policy": Steady, "channels": CHANNELS, "seed": 5} | change
    source = runs.Simulation(given["channels"], given["seed"])
    policy = given["policy"](source.sensor().alphabets, delta=given["delta"])
    with pytest.raises(InputError, match=sentence):
        runs.identify_durably(source.sensor(), policy, path, source=source.record(path))
    assert runs.read_run(path).senses == 18


def test_policy_that_asks_something_else_now_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.db"
    cut_off(path, 3)

    def script(self):
        yield {channel: (5,) * n_inputs for channel, (n_inputs, _) in enumerate(self.alphabets)}
        return None

    monkeypatch.setattr(Steady, "_script", script)
    for go_on in (runs.resume, runs.read_run):
        with pytest.raises(InputError, match="disagree about request 1: the run was begun with another version"):
            go_on(path)


def test_replay_of_any_prefix_of_the_log_reaches_the_same_request(tmp_path):
    path, sensor = tmp_path / "run.db", simulator()
    runs.identify_durably(sensor, BestChanID(sensor.alphabets, delta=0.1, subroutine="median"), path)
    history = store.read(path)
    live = history.settings.new_policy()
    for number, answer in history.answers.items():
        prefix = store.read(path)
        prefix.answers = dict(list(history.answers.items())[: number - 1])
        assert prefix.replay().ask() == live.ask() == history.requests[number]
        live.tell(Observation(number, answer.counts))
    assert live.ask() is None


@pytest.fixture
def counted(monkeypatch):
    """How often entries were read, and answers were told to a policy, by the name of the method."""
    found = Counter()

    def counting(name, method):
        def call(self, *arguments):
            found[name] += 1
            return method(self, *arguments)

        return call

    monkeypatch.setattr(History, "add", counting("add", History.add))
    monkeypatch.setattr(Policy, "tell", counting("tell", Policy.tell))
    return found


@pytest.mark.parametrize("by_command", [False, True])
def test_resume_reads_checks_and_replays_the_log_once(by_command, tmp_path, counted):
    path = tmp_path / "run.db"
    cut_off(path, 30)
    counted.clear()
    if by_command:
        assert CliRunner().invoke(app, ["run", "resume", str(path)]).exit_code == 0
    else:
        runs.resume(path)
    # 30 requests with their answers are read, and 10 of each are new; an entry that is written is added as one that is read
    assert counted == {"add": 2 * 30 + 2 * 10, "tell": 30 + 10}


def test_progress_of_a_resumed_run_begins_where_the_log_ends(tmp_path):
    cut_off(tmp_path / "run.db", 30)
    statuses = []
    runs.resume(tmp_path / "run.db", progress=statuses.append)
    assert [status.requests for status in statuses] == list(range(31, 41))


def test_policy_of_the_program_itself_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Steady, "__module__", "__main__")
    with pytest.raises(InputError, match="a policy that other programs can import; put __main__:Steady into a module"):
        runs.identify_durably(simulator(), steady(simulator()), tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_policy_that_was_told_something_is_refused(tmp_path):
    sensor, policy = simulator(), steady(simulator())
    identify(sensor, policy, max_senses=30)
    with pytest.raises(InputError, match="requires a policy that was told nothing yet; this one has 5 answers"):
        runs.identify_durably(sensor, policy, tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize(
    "records",
    [
        [("asked", 3, [])],
        [("told", 2, {"counts": [], "state": None})],
        [("asked", 2, []), ("asked", 2, [])],
        [("asked", 2, []), ("told", 1, {"counts": [], "state": None})],
        [("guess", 2, [])],
    ],
)
def test_entry_that_does_not_follow_is_never_written(records, tmp_path):
    path = tmp_path / "run.db"
    cut_off(path, 1)
    with store.opened(path) as run, pytest.raises(ValueError, match=r"does not follow upon \d asked and 1 told"):
        run.append(*records)
    assert store.read(path).length == 2
