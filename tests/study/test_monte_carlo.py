"""Runs that can be repeated alone, anywhere, by any number of processes, in any number of sittings."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bestchannel import Adaptive, BestChannelError, InputError, Simulator, capacity, identify, mutual_information
from bestchannel.lower_bound.bound import lower_bound
from bestchannel.study import pools, runner
from bestchannel.study.journal import opened
from bestchannel.study.monte_carlo import SENSING, Piece, Study, best_is_out, values_of
from bestchannel.study.pools import WorkerLostError
from bestchannel.study.runner import conduct, find_times, pieces
from bestchannel.study.spec import FAMILIES, parse_spec
from bestchannel.study.statistics import as_csv, run_rows, summaries

CONTENT = {
    "name": "small",
    "seed": 5,
    "runs": 12,
    "deltas": [0.1, 0.01],
    "policies": [{"policy": "adaptive"}, {"policy": "naive", "epsilon": 0.2}],
    "instances": [
        {"family": "random-binary", "k": 4, "gap": 0.2, "sets": 3},
        {"family": "useless-rivals", "gap": 0.2, "runs": 7},
    ],
}


def study_of(tmp_path, **changes):
    return Study.of(parse_spec(CONTENT | changes, folder=tmp_path))


def table(study, path, **options):
    """The table of a study carried through into a fresh or continued journal."""
    with opened(path, study.spec) as journal:
        conduct(study, journal, **options)
        return as_csv(run_rows(study, journal))


@pytest.fixture
def study(tmp_path):
    return study_of(tmp_path)


def test_table_is_the_same_for_one_and_for_three_workers(study, tmp_path):
    tables = {table(study, tmp_path / f"{workers}.db", workers=workers) for workers in (1, 3)}
    assert len(tables) == 1
    assert len(tables.pop().splitlines()) == 1 + study.total == 1 + 2 * 2 * (12 + 7)


@pytest.mark.parametrize("workers", [0, -1, 1.5])
def test_workers_that_are_none_are_refused(study, tmp_path, workers):
    with pytest.raises(InputError, match="workers must be a whole number >= 1"):
        table(study, tmp_path / "j.db", workers=workers)


@pytest.mark.parametrize(
    ("question", "limit"),
    [({"kind": "above", "level": 0.4}, 300), ({"kind": "top", "m": 2}, 300), ({"kind": "order"}, None)],
)
def test_other_questions_are_judged_by_themselves_and_set_beside_their_own_time(question, limit, tmp_path):
    more = {} if limit is None else {"max_senses": limit}
    policies, instances = CONTENT["policies"][:1], [CONTENT["instances"][0] | {"lower_bound": 0.05}]
    asked = study_of(tmp_path, question=question, deltas=[0.1], policies=policies, instances=instances, **more)
    with opened(tmp_path / "journal.db", asked.spec) as journal:
        find_times(asked, journal)
        conduct(asked, journal, workers=1)
        rows, (summary,) = run_rows(asked, journal), summaries(asked, journal)
        times = journal.times()
    exact = lower_bound(asked.instances[0][1].channels, 0.1, question=question).characteristic_time
    assert exact.lower / 1.05 <= times[0, 1][0] <= exact.upper
    for number, row in enumerate(rows):
        policy, result = asked.identification(0, number)
        right = policy.question.is_right(result, asked.instance(0, number).capacities, 1e-10)
        assert (row["decided"], row["correct"], row["best"]) == (result.decided, right, None)
        assert row["best_out"] == (result.findings.says_something and not right)
    assert summary.undecided == sum(not row["decided"] for row in rows)
    assert (summary.ratio is None) == (summary.undecided > 0)


def test_table_has_every_run_once_in_the_order_of_conditions_and_runs(study, tmp_path):
    with opened(tmp_path / "journal.db", study.spec) as journal:
        conduct(study, journal, workers=1)
        rows = run_rows(study, journal)
    expected = [
        (instance, policy, delta, run)
        for instance, runs in (("random-binary", 12), ("useless-rivals", 7))
        for policy in ("adaptive", "naive")
        for delta in (0.1, 0.01)
        for run in range(runs)
    ]
    assert [(row["instance"], row["policy"], row["delta"], row["run"]) for row in rows] == expected


def test_run_can_be_repeated_alone_from_its_child_seed(study):
    stored = study.run(1, 5)  # adaptive on the random channels at δ = 0.01
    instance = study.instances[0][5 % 3]
    child = np.random.SeedSequence(5, spawn_key=(SENSING, 0, 5))
    sensor = Simulator(instance.channels, rng=np.random.default_rng(child))
    found = identify(sensor, Adaptive(instance.alphabets, delta=0.01))
    assert (stored.best, stored.senses, stored.rounds) == (found.best, found.senses, found.rounds)


def test_policies_and_deltas_meet_the_same_channels_and_runs_different_luck(study):
    assert study.instance(0, 4) is study.instance(1, 4) is study.instance(3, 4)
    assert len({study.run(0, number).senses for number in (0, 3, 6, 9)}) > 1  # all of set 0


def test_more_runs_begin_with_the_same_runs(study, tmp_path):
    longer = study_of(tmp_path, runs=20)
    assert [without_time(longer.run(0, i)) for i in range(12)] == [without_time(study.run(0, i)) for i in range(12)]


def without_time(run):
    return replace(run, seconds=0.0)


def test_interrupted_study_continues_to_the_same_table(study, tmp_path, monkeypatch):
    whole = table(study, tmp_path / "whole.db", workers=1)
    monkeypatch.setattr(runner, "PIECE_RUNS", 2)
    sittings, done = 0, 0
    while done < study.total:
        sittings += 1
        with opened(tmp_path / "pieces.db", study.spec) as journal:
            stop = interrupt_after(len(journal.runs()) + 20)
            try:
                conduct(study, journal, workers=1, progress=stop)
            except KeyboardInterrupt:
                assert len(journal.runs()) >= stop.seen
            done = len(journal.runs())
    assert sittings > 1
    assert table(study, tmp_path / "pieces.db", workers=1) == whole


def interrupt_after(number):
    """A progress callback during which the user presses Ctrl-C."""

    def progress(done, total):
        progress.seen = done
        if number <= done < total and not progress.pressed:
            progress.pressed = True
            raise KeyboardInterrupt

    progress.pressed = False
    return progress


def test_interrupted_pool_stores_what_it_had_begun(study, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PIECE_RUNS", 2)
    with opened(tmp_path / "journal.db", study.spec) as journal:
        stop = interrupt_after(1)
        with pytest.raises(KeyboardInterrupt):
            conduct(study, journal, workers=2, progress=stop)
        stored = len(journal.runs())
    # the first piece, and at least one of those that were waiting or under way
    assert 2 < stored < study.total


def test_piece_ends_after_its_time_and_the_rest_follows(study, tmp_path, monkeypatch):
    monkeypatch.setattr("bestchannel.study.monte_carlo.PIECE_SECONDS", -1.0)
    assert [run.number for run in study.runs(Piece(0, 3, 6))] == [3]
    with opened(tmp_path / "journal.db", study.spec) as journal:
        conduct(study, journal, workers=1)
        assert len(journal.runs()) == study.total


def test_only_missing_runs_are_made(study, tmp_path):
    with opened(tmp_path / "journal.db", study.spec) as journal:
        journal.add([study.run(0, number) for number in (0, 1, 4)])
        found = list(pieces(study, journal))
    assert found[:3] == [Piece(0, 2, 4), Piece(0, 5, 12), Piece(1, 0, 12)]


@pytest.mark.parametrize("free", [1, 2, 3, 4, 7, 12, 100])
def test_fewer_pieces_than_free_processes_are_cut_into_enough(free):
    missing = [Piece(0, 2, 14), Piece(1, 0, 12)]
    shared = runner._shared(runner.deque(missing), free)
    assert [(piece.condition, n) for piece in shared for n in range(piece.first, piece.last)] == [
        (piece.condition, n) for piece in missing for n in range(piece.first, piece.last)
    ]
    assert len(shared) >= min(free, 24)


@pytest.mark.parametrize("condition", [0, 3])
def test_journal_of_other_software_is_refused_whichever_condition_it_shows_in(study, tmp_path, condition):
    with opened(tmp_path / "journal.db", study.spec) as journal:
        journal.add([study.run(1, 0)])
        run = study.run(condition, 2)
        journal.add([replace(run, senses=run.senses + 1)])
        with pytest.raises(InputError, match=f"took {run.senses + 1} senses when it was stored and takes {run.senses}"):
            conduct(study, journal, workers=1)


def test_lost_worker_is_one_sentence_and_what_was_stored_stays(study, tmp_path, monkeypatch):
    class Breaking:
        def __init__(self, *_args, **_options): ...
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

        def submit(self, *_):
            raise pools.BrokenProcessPool

    monkeypatch.setattr(pools, "ProcessPoolExecutor", Breaking)
    with opened(tmp_path / "journal.db", study.spec) as journal:
        journal.add([study.run(0, 0)])
        with pytest.raises(WorkerLostError, match="the same command continues") as caught:
            conduct(study, journal, workers=2)
        assert isinstance(caught.value, BestChannelError)
        assert len(journal.runs()) == 1


def test_progress_counts_from_what_is_stored_to_the_total(study, tmp_path):
    with opened(tmp_path / "journal.db", study.spec) as journal:
        journal.add([study.run(0, number) for number in range(5)])
        seen = []
        conduct(study, journal, workers=1, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (5, study.total)
    assert seen[-1] == (study.total, study.total)
    assert seen == sorted(seen)


def test_answer_within_epsilon_is_correct(tmp_path):
    content = {
        "policies": [{"policy": "adaptive", "epsilon": 0.05}],
        "instances": [{"family": "near-tie", "gap": 0.01}],
        "deltas": [0.3],
    }
    study = study_of(tmp_path, **content)
    runs = [study.run(0, number) for number in range(12)]
    assert {run.best for run in runs} == {0, 1}
    assert all(run.correct for run in runs)


class Named(SimpleNamespace):
    """An outcome, made up."""

    senses, rounds = 10, 1


@pytest.mark.parametrize(("best", "correct"), [(None, False), (0, False), (1, False), (2, True)])
def test_only_a_best_channel_that_was_named_is_correct(tmp_path, monkeypatch, best, correct):
    study = study_of(tmp_path, instances=[{"family": "near-tie", "gap": 1e-5, "k": 3}])
    outcome = Named(best=best, decided=best is not None)
    monkeypatch.setattr("bestchannel.study.monte_carlo.identify", lambda *_, **__: outcome)
    assert study.run(0, 0).correct is correct


def standing(*, leader, candidates, epsilon=0.0, recommendation=None):
    """A policy for three channels, where it stands made up."""
    policy = Adaptive([(2, 2)] * 3, delta=0.1, epsilon=epsilon)
    policy.leader, policy.candidates, policy.recommendation = leader, candidates, recommendation
    return policy


BEST_OUT = {
    "all are left": (standing(leader=0, candidates=(0, 1, 2)), False),
    "a rival is out": (standing(leader=2, candidates=(1, 2)), False),
    "the best is out, undecided": (standing(leader=0, candidates=(0, 1)), True),
    "another is named": (standing(leader=0, candidates=(0, 1, 2), recommendation=0), True),
    "the best is named": (standing(leader=2, candidates=(2,), recommendation=2), False),
    "out for one that is near enough": (standing(leader=0, candidates=(0,), epsilon=0.2), False),
    "out for one that is not": (standing(leader=0, candidates=(0,), epsilon=0.05), True),
    "nobody leads": (standing(leader=None, candidates=(0,), epsilon=0.05), False),
}


@pytest.mark.parametrize(("policy", "out"), BEST_OUT.values(), ids=BEST_OUT.keys())
def test_best_channel_is_out_if_it_is_no_candidate_whoever_leads_and_with_epsilon_for_a_worse_leader(policy, out):
    instance = FAMILIES["near-tie"](None, k=3, gap=0.1)
    assert best_is_out(instance, policy) is out


def test_of_equally_good_channels_the_last_is_the_one_that_must_not_be_out():
    instance = FAMILIES["tie"](np.random.default_rng(1), k=3)
    assert best_is_out(instance, standing(leader=0, candidates=(0, 1)))
    assert not best_is_out(instance, standing(leader=2, candidates=(2,)))


def test_source_is_sensed_by_the_policies_that_it_names(tmp_path):
    policies = [{"policy": "adaptive", "name": name} for name in ("one", "two")]
    first, second = CONTENT["instances"]
    study = study_of(tmp_path, policies=policies, instances=[first, second | {"policies": ["two"]}], deltas=[0.1, 0.2])
    made = [(each.source.family, each.policy.name, each.delta) for each in study.conditions]
    assert made == [
        *(("random-binary", name, delta) for name in ("one", "two") for delta in (0.1, 0.2)),
        *(("useless-rivals", "two", delta) for delta in (0.1, 0.2)),
    ]
    assert [each.source_number for each in study.conditions] == [0, 0, 0, 0, 1, 1]


def test_answers_at_a_fixed_input_are_judged_at_that_input(tmp_path):
    # the first has the larger capacity, the second errs on the input that is seldom sent
    P, rows = [0.2, 0.8], {"Z": [[1.0, 0.0], [0.5, 0.5]], "mirrored": [[0.49, 0.51], [0.0, 1.0]]}
    assert capacity(rows["Z"]).lower > capacity(rows["mirrored"]).upper
    assert mutual_information(P, rows["Z"]) < mutual_information(P, rows["mirrored"])
    (tmp_path / "pair.json").write_text(json.dumps({"channels": rows}))
    fixed = {"policy": "adaptive", "input_distribution": P}
    study = study_of(tmp_path, policies=[fixed], instances=[{"channels": "pair.json"}], max_senses=10**6)
    instance, policy = study.instances[0][0], study.conditions[0].policy.make([(2, 2)] * 2, 0.1)
    values = values_of(instance, policy)
    assert values[1] - values[0] > 0.01
    assert study.run(0, 0).best == 1
    assert study.run(0, 0).correct


def test_sets_of_a_source_differ_and_depend_on_the_seed_alone(tmp_path):
    first, again, other = (study_of(tmp_path, seed=seed).instances[0] for seed in (5, 5, 6))
    assert [i.channels for i in first] == [i.channels for i in again]
    assert first[0].channels != first[1].channels
    assert first[0].channels != other[0].channels


def test_gap_that_a_family_cannot_have_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"family near-tie of 'near-tie' cannot have a gap of 0\.9 bits"):
        study_of(tmp_path, instances=[{"family": "near-tie", "capacity": 0.5, "gap": 0.9}])


def test_interrupted_study_has_runs_of_every_condition(study, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PIECE_RUNS", 2)

    def stop(done, total):
        if done >= 2 * len(study.conditions):
            raise KeyboardInterrupt

    with opened(tmp_path / "interrupted.db", study.spec) as journal:
        with pytest.raises(KeyboardInterrupt):
            conduct(study, journal, workers=1, progress=stop)
        assert {run.condition for run in journal.runs()} == set(range(len(study.conditions)))


def test_one_source_alone_may_be_compared_with_the_lower_bound(tmp_path):
    first, second = CONTENT["instances"]
    study = study_of(tmp_path, instances=[first, second | {"lower_bound": 0.05}])
    with opened(tmp_path / "second.db", study.spec) as journal:
        find_times(study, journal)
        assert journal.times().keys() == {(1, 0)}


def test_characteristic_times_are_found_once_and_only_where_they_are_asked_for(tmp_path, monkeypatch):
    asked, silent = study_of(tmp_path, lower_bound=0.05), study_of(tmp_path)
    with opened(tmp_path / "silent.db", silent.spec) as journal:
        find_times(silent, journal)
        assert journal.times() == {}
    with opened(tmp_path / "asked.db", asked.spec) as journal:
        seen = []
        find_times(asked, journal, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
        stored = journal.times()
        assert stored.keys() == {(0, 0), (0, 1), (0, 2), (1, 0)}
        lower, upper = stored[0, 1]
        bound = lower_bound(asked.instances[0][1].channels, 0.01).characteristic_time
        assert lower <= bound.upper
        assert bound.lower <= upper
        monkeypatch.setattr(runner, "lower_bound", None)  # would fail if it were called again
        find_times(asked, journal)
