"""Kernels in Python: the digits of compiled ones, for as long as patience lasts, without numba."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from bestchannel import capacity, compiled, kernel_copies, kernel_disk, uncompiled
from bestchannel.compiled import REGISTRY
from bestchannel.evidence import leader_bets, rival_bets
from bestchannel.evidence.rival_bets import LARGEST_INPUT
from bestchannel.lower_bound import alternatives, certificate
from bestchannel.uncompiled import Patience

ENDLESS = 10**9


def nothing_compiled():
    raise AssertionError("Python was to do it")


def in_python(kernels):
    return uncompiled.in_python(kernels.module, Patience(ENDLESS), nothing_compiled)


def same(one, other):
    """Whether two results, or the arrays that two calls have filled, are the same to the bit."""
    return json.dumps(_lists(one)) == json.dumps(_lists(other))


def _lists(value):
    if isinstance(value, tuple | list):
        return [_lists(each) for each in value]
    return np.asarray(value).tolist()


def both(kernels, function, *arguments):
    """What Python and compiled code answer, each with what has become of its arguments."""
    answers = []
    for module in (in_python(kernels), kernels.load()):
        answers.append(called(getattr(module, function), *arguments))
    return answers


def called(function, *arguments):
    """What a function answers, and what has become of its arguments, which are copied for it."""
    own = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    return function(*own), own


def rows(rng, n, m):
    """Rows of any kind: even, uneven, or with letters that hardly occur."""
    return np.maximum(rng.dirichlet(np.full(m, rng.choice([0.1, 1.0, 8.0])), n), 1e-12)


def account(rng, n, m, requests):
    """Bets on the senses of a rival, as the kernels take them, and where to look first."""
    W, Q = rows(rng, n, m), rng.dirichlet(np.ones(m), requests)
    senses, tilts = 10 ** rng.uniform(0, 3, (requests, n)), rng.uniform(0.0, 1.0, (requests, n))
    counts = np.stack(
        [[tilts[0, x] * k for k in rng.multinomial(int(senses[:, x].sum()), W[x] / W[x].sum())] for x in range(n)]
    )
    bets = counts, counts @ np.log(Q[0]), senses, tilts, Q, float(10 ** rng.uniform(0, 3)), 2
    P = rng.dirichlet(np.ones(n))
    return (*bets, P, np.log(W), np.log(P @ W))


SHAPES = [(2, 2), (2, 5), (4, 3), (6, 6)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_python_bounds_what_a_rival_loses_to_the_last_digit(shape, seed):
    given = account(np.random.default_rng(seed), *shape, 1 + 3 * seed)
    for largest in (LARGEST_INPUT, 0.0):
        assert same(*both(rival_bets.bound_kernels, "climbed", *given, largest))
    lost, _ = called(rival_bets.bound_kernels.load().climbed, *given, LARGEST_INPUT)
    for slack in (0.2, -1.0):
        assert same(*both(rival_bets.bound_kernels, "bounded", *given, LARGEST_INPUT, lost + slack, 6))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_python_chooses_bets_to_the_last_digit(shape):
    rng, (n, m) = np.random.default_rng(7), shape
    W, P, senses = rows(rng, n, m), rng.dirichlet(np.ones(n)), 10 ** rng.uniform(1, 3, n)
    weights = np.array([9.0, 1.0, 0.1])
    bet = np.empty(n), np.empty(m)
    for worst in (np.full(n, 1.0 / n), np.empty(0)):
        won = rng.uniform(-2.0, 2.0, 3)
        assert same(
            *both(rival_bets.bet_kernels, "best_bet", W, P, senses, 0.2, weights, won, worst, LARGEST_INPUT, 1.0, *bet)
        )
    assert same(*both(rival_bets.bet_kernels, "bet", W, P, senses, 9.0, 1.0, *bet))
    filled = np.empty((3, n, m)), np.empty(3), np.empty((3, n, m)), np.empty((3, n))
    assert same(*both(leader_bets.kernels, "bets", W, P, senses, weights, 12, *filled))


def lower_bound_in(tree, W_b, W_a):
    """A proof, as `certificate` has it made."""
    w = np.full(len(W_b), 0.5 / len(W_b))
    curve = tree.new_curve(tree.new_side(W_b, w), np.geomspace(1e-4, 10.0, 12))
    tree.fill_curve(curve, W_b.copy(), np.full(len(W_b), 1.0 / len(W_b)), 100, 1e-6)
    boxes, work = tree.new_boxes(8, *W_a.shape), tree.new_workspace(*W_a.shape)
    Q = np.full(W_a.shape[1], 1.0 / W_a.shape[1])
    return tree.certify(tree.new_side(W_a, w), curve, boxes, work, 0.1, Q, 0.02, False), curve[1:], boxes.bound


def test_python_proves_lower_bounds_to_the_last_digit():
    rng = np.random.default_rng(3)
    for n, m in ((2, 2), (3, 3)):
        W_a, W_b = sorted((rng.dirichlet(np.ones(m), n) for _ in range(2)), key=lambda W: capacity(W).lower)
        python, real = (
            lower_bound_in(tree, W_b, W_a) for tree in (in_python(certificate.kernels), certificate.kernels.load())
        )
        assert same(python, real)
        w = np.full(n, 0.5 / n)
        sides = [alternatives.kernels.load().new_side(W, w) for W in (W_b, W_a)]
        P = np.full(n, 1.0 / n)
        assert same(*both(alternatives.kernels, "search_pair", *sides, 0.1, W_b, P, W_a, P, 50, 1e-6))


# Where Python gives up.


@pytest.mark.parametrize("patience", [0, 1, 1000])
def test_call_that_patience_does_not_suffice_for_is_made_by_compiled_code(patience):
    kernels, given = rival_bets.bound_kernels, account(np.random.default_rng(1), 3, 3, 2)
    given = *given, LARGEST_INPUT, 0.0, 4
    impatient = uncompiled.in_python(kernels.module, Patience(patience), kernels.load)
    assert same(called(impatient.bounded, *given), called(kernels.load().bounded, *given))


def test_what_python_refuses_is_answered_by_compiled_code():
    kernels, given = rival_bets.bound_kernels, list(account(np.random.default_rng(1), 2, 2, 1))
    given[9] = np.array([0.0, 1e6])  # exp of it is too large for Python, and infinite for compiled code
    plain = kernel_copies.Copies(lambda _, bound: bound).of(kernels.module)
    with pytest.raises(OverflowError):
        called(plain.climbed, *given, 0.0)
    guarded = uncompiled.in_python(kernels.module, Patience(ENDLESS), kernels.load)
    assert same(called(guarded.climbed, *given, 0.0), called(kernels.load().climbed, *given, 0.0))


def test_kernels_are_loaded_where_all_of_the_work_would_take_more_patience_than_there_is(monkeypatch):
    loaded, patience = [], {"room.much": Patience(10), "room.little": Patience(10)}
    monkeypatch.setattr(compiled, "REGISTRY", {})
    monkeypatch.setattr(compiled, "_patience", patience.get)
    monkeypatch.setattr(compiled, "_loaded", loaded.append)
    for name in patience:
        compiled.Kernels(name, seconds=1, same_in_python=True)
    for _ in range(3):
        next(patience["room.much"].left)
    compiled.load_what_pays("room", 0.5)  # all of it takes 6 of 10
    assert loaded == []
    compiled.load_what_pays("room", 0.2)  # all of it would take 15
    assert loaded == ["room.much"]


def test_kernels_whose_source_is_not_installed_are_compiled(monkeypatch):
    monkeypatch.setattr(compiled, "REGISTRY", {})
    monkeypatch.setattr(compiled, "_loaded", lambda name: f"{name}, compiled")
    assert compiled.Kernels("math", seconds=1, same_in_python=True)() == "math, compiled"  # it is written in C


# Nothing on disk.

SMALL_WORK = """
import sys
import numpy as np
import bestchannel as bc
pair = [[[0.95, 0.05], [0.05, 0.95]], [[0.7, 0.3], [0.3, 0.7]]]
rng = np.random.default_rng(5)
print(repr(bc.estimate({"a": np.array([[950, 50], [40, 960]]), "b": np.array([[800, 200], [250, 750]])})))
named = bc.identify(bc.Simulator(pair, rng=rng), bc.Adaptive([(2, 2)] * 2, delta=0.1))
print(named.best, named.senses, bc.lower_bound(pair, 0.1, rtol=0.3).characteristic_time)
print("numba" in sys.modules)
"""


def answers_with(folder):
    """What small work prints, and whether it took numba, where compiled kernels are kept in this folder."""
    run = subprocess.run(
        [sys.executable, "-c", SMALL_WORK],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stderr == ""
    return run.stdout.rsplit("\n", maxsplit=2)


def test_small_work_compiles_nothing_and_has_the_same_answers(tmp_path):
    for kernels in REGISTRY.values():
        if kernels.same_in_python:
            kernels.load()
    assert answers_with(tmp_path)[1] == "False"
    compiled_answers, with_numba, _ = answers_with("")
    assert with_numba == "True"
    assert answers_with(tmp_path)[0] == compiled_answers


def test_kernels_are_found_on_disk_by_what_they_are_made_of(tmp_path, monkeypatch):
    name, stamp = rival_bets.bound_kernels.module, compiled.stamp(rival_bets.bound_kernels.module)
    folder = tmp_path / "evidence_0123"
    folder.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    index = folder / f"rival_bound_kernels.climbed-1.py{sys.version_info[0]}{sys.version_info[1]}.nbi"
    index.write_bytes(b"of another " + b"0" * 64)
    assert not kernel_disk.kept(name, stamp)
    index.write_bytes(b"of this " + stamp.encode())
    assert kernel_disk.kept(name, stamp)
    assert not kernel_disk.kept("bestchannel.evidence.leader_bet_kernels", stamp)
