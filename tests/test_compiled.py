"""The toolchain of the kernels: no stale code, no file or folder that stops it, one truthful announcement."""

import importlib
import json
import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import bestchannel as bc
from bestchannel import compiled
from bestchannel.kernel_cache import KernelCache
from bestchannel.kernel_copies import Copies

SOURCE = Path(bc.__file__).parent

ENTRY = """
from bestchannel.compiled import {how}
from {package}.inner import OFFSET, shifted

@{how}{signature}
def twice(x):
    return 2.0 * shifted(x) + OFFSET
"""

INNER = """
from bestchannel.compiled import {part}

OFFSET = {offset}

@{part}
def shifted(x):
    if x < 0.0:
        raise ValueError("x must be at least 0")
    return x + {shift}
"""


def write_kernels(folder, *, shift=1.0, offset=0.0, how="jit", signature="", part="inlined"):
    """A package of kernels: `entry.twice` contains what `inner` has."""
    package = folder / f"kernels_of_{abs(hash(folder))}"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text(INNER.format(shift=shift, offset=offset, part=part))
    (package / "entry.py").write_text(ENTRY.format(package=package.name, how=how, signature=signature))
    return package


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """`load()` compiles the entry of a package of kernels as a fresh process would."""
    package = write_kernels(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compiled, "_announcement", compiled._Announcement())

    def load():
        for name in [name for name in sys.modules if name.startswith(package.name)]:
            del sys.modules[name]
        return compiled.compiled_copy(f"{package.name}.entry", Copies(compiled._compiled))

    load.package = package
    return load


def hits(module):
    return sum(module.twice.stats.cache_hits.values())


def fresh_process(package, **environment):
    """What a process of its own computes with the package, and what it says."""
    script = f"from bestchannel import compiled; print(compiled._loaded('{package.name}.entry').twice(3.0))"
    path = os.pathsep.join([str(package.parent), str(SOURCE.parent)])
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(run.stdout), run.stderr


# No stale code.


CHANGES = {
    "an inlined function": ({}, {"shift": 5.0}, 16.0),
    "an inner function": ({"part": "inner"}, {"shift": 5.0}, 16.0),
    "a constant": ({"how": "entry", "signature": '("float64(float64)")'}, {"offset": 0.5}, 8.5),
}


@pytest.mark.parametrize(("options", "change", "result"), CHANGES.values(), ids=CHANGES.keys())
def test_kernel_is_compiled_again_when_what_it_takes_from_another_file_has_changed(tmp_path, options, change, result):
    package = write_kernels(tmp_path, **options)
    first, said = fresh_process(package)
    assert first == 8.0
    assert "compiling kernels for this machine, once" in said
    assert fresh_process(package) == (8.0, "")
    write_kernels(tmp_path, **options, **change)
    assert fresh_process(package)[0] == result


def test_stamp_covers_every_module_that_the_kernels_take_something_from():
    behind = compiled.sources("bestchannel.capacity.lanes").keys()
    assert {"bestchannel.arrays", "bestchannel.capacity.logarithm", "bestchannel.compiled"} <= behind


def modules_where(pattern):
    for path in SOURCE.rglob("*.py"):
        if re.search(pattern, path.read_text(), re.MULTILINE):
            yield ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


def test_toolchain_alone_touches_numba():
    assert set(modules_where(r"^\s*(import|from) (numba|llvmlite)")) == {
        "bestchannel.kernel_cache",
        "bestchannel.kernel_linking",
    }


def test_every_kernel_is_registered_or_part_of_one_that_is():
    importlib.import_module("bestchannel.cli")
    behind = {name for module in compiled.REGISTRY for name in compiled.sources(module)}
    decorated = set(modules_where(r"^@(jit|entry|inner|inlined|regrouping)\b"))
    assert "bestchannel.capacity.lanes" in decorated
    assert decorated <= behind
    assert set(compiled.REGISTRY) <= decorated


# Functions that only compiled ones call.


def test_inner_function_becomes_part_of_its_caller_and_has_no_kept_code(kernels):
    write_kernels(kernels.package.parent, part="inner")
    module = kernels()
    assert module.twice(3.0) == 8.0
    inside, caller = (next(iter(f.overloads.values())).library for f in (module.shifted, module.twice))
    name = next(iter(module.shifted.overloads.values())).fndesc.llvm_func_name
    assert inside.get_pointer_to_function(name) == 0
    assert caller.get_pointer_to_function(module.twice.overloads[module.twice.signatures[0]].fndesc.llvm_func_name) != 0


def test_error_of_an_inner_function_reaches_the_caller_also_from_the_cache(kernels):
    write_kernels(kernels.package.parent, part="inner")
    for found in (0, 1):
        module = kernels()
        with pytest.raises(ValueError, match="x must be at least 0"):
            module.twice(-1.0)
        assert hits(module) == found


def kept_code(module):
    """What is kept on disk of a module of compiled kernels, function by function."""
    for function in vars(module).values():
        if hasattr(function, "overloads") and isinstance(function._cache, KernelCache):
            index = function._cache._files._cache_file
            yield from (index._load_data(name)[1] for name in index._load_index().values())


ARRAY_ASSIGNED = b"cannot assign slice of shape"
"""The beginning of the message that numba compiles with every assignment of an array to a slice."""


def test_no_kernel_assigns_an_array_to_a_slice():
    importlib.import_module("bestchannel.cli")
    for kernels in compiled.REGISTRY.values():
        codes = list(kept_code(kernels.load()))
        assert codes
        assert not any(ARRAY_ASSIGNED in code for code in codes), kernels.module


def test_assignment_of_an_array_to_a_slice_would_be_seen(kernels):
    text = "from bestchannel.compiled import jit\n\n@jit\ndef twice(x):\n    x[:] = 2.0 * x\n"
    (kernels.package / "entry.py").write_text(text)
    module = kernels()
    module.twice(np.ones(2))
    assert any(ARRAY_ASSIGNED in code for code in kept_code(module))


# No file or folder that stops it.

DAMAGE = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "garbage": lambda data: b"\x00garbage" * 100,
    "one bit flipped": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    ),
}


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_cache_is_compiled_again_and_mended(kernels, kind, damage):
    module = kernels()
    assert (module.twice(3.0), hits(module)) == (8.0, 0)
    (file,) = Path(module.twice._cache.cache_path).glob(f"entry.twice*.{kind}")
    file.write_bytes(damage(file.read_bytes()))
    module = kernels()
    assert (module.twice(3.0), hits(module)) == (8.0, 0)
    module = kernels()
    assert (module.twice(3.0), hits(module)) == (8.0, 1)


def test_cache_file_that_is_a_folder_is_done_without(kernels):
    module = kernels()
    module.twice(3.0)
    (file,) = Path(module.twice._cache.cache_path).glob("entry.twice*.nbi")
    file.unlink()
    file.mkdir()
    assert kernels().twice(3.0) == 8.0


def test_cache_folder_that_goes_away_is_done_without(kernels, monkeypatch):
    module = kernels()
    monkeypatch.setattr(module.twice._cache._files._impl.locator, "_cache_path", os.devnull + "/nowhere")
    assert module.twice(3.0) == 8.0
    assert kernels().twice(3.0) == 8.0


def test_no_folder_that_can_be_written_means_compiling_at_every_start(tmp_path):
    # a file where a folder must be: nobody can write there, not even root
    package = write_kernels(tmp_path)
    (package / "__pycache__").write_text("")
    nowhere = str(package / "__pycache__" / "here")
    for environment in ({"NUMBA_CACHE_DIR": ""}, {"NUMBA_CACHE_DIR": nowhere}, {"NUMBA_CACHE_DIR": __file__}):
        result, said = fresh_process(package, HOME=nowhere, XDG_CACHE_HOME=nowhere, **environment)
        assert result == 8.0
        assert "at every start, as no folder for them can be written (NUMBA_CACHE_DIR names one)" in said


# Without a compiler.

EVERY_ROOM = """
import json, sys, warnings
warnings.simplefilter("error")
from pathlib import Path
import numpy as np
import bestchannel as bc
from bestchannel.counts import read_counts, text_log
rng = np.random.default_rng(5)
small, large = rng.dirichlet(np.ones(3), size=(4, 2)), rng.dirichlet(np.ones(30), size=40)
hard = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [1.0 - 1e-9, 1e-9]]])
pair = [[[0.95, 0.05], [0.05, 0.95]], [[0.7, 0.3], [0.3, 0.7]]]
named = bc.identify(bc.Simulator(pair, rng=rng), bc.Adaptive([(2, 2)] * 2, delta=0.1))
T = bc.lower_bound(pair, 0.1, rtol=0.3).characteristic_time
text_log.SHORT = 0
counts = read_counts(Path(sys.argv[1]))
print(json.dumps([
    bc.capacities(small).lower.tolist(), bc.capacities(hard, rtol=1e-6).upper.tolist(), bc.capacity(large).lower,
    named.best, named.senses, T.lower, T.upper, counts["a"].counts.tolist(),
]))
"""


def test_python_computes_what_the_compiled_kernels_do(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("channel,x,y\n" + "a,0,0\na,1,1\na,0,1\nb,0,0\nb,1,0\n" * 20)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    both = [
        subprocess.run(
            [sys.executable, "-c", EVERY_ROOM, log],
            env={**environment, "NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True,
        )
        for off in "01"
    ]  # fmt: skip
    compiled_ones, python = (json.loads(run.stdout) for run in both)
    assert both[1].stderr == ""
    for one, other in zip(compiled_ones, python, strict=True):
        # products may be fused with sums in one and not in the other: some units in the last place, magnified by
        # the steps that an interior point takes; brackets are asked for to 1e-9, so that steps are the same
        assert np.asarray(one) == pytest.approx(np.asarray(other), rel=1e-9)


# One truthful announcement.


def test_announcement_is_made_once_and_only_when_something_is_compiled(kernels, caplog):
    with caplog.at_level(logging.WARNING, "bestchannel"):
        module = kernels()
        assert caplog.messages == []
        module.twice(3.0)
        module.twice(3)
        assert len(caplog.messages) == 1
        compiled._announcement.made = False
        module = kernels()
        module.twice(3.0)
        assert hits(module) == 1
        assert len(caplog.messages) == 1


def test_announcement_says_how_long_by_what_is_left_to_load(monkeypatch, caplog):
    parts = {name: compiled.Kernels.__new__(compiled.Kernels) for name in "abc"}
    for seconds, (name, part) in enumerate(parts.items(), start=5):
        object.__setattr__(part, "module", name)
        object.__setattr__(part, "seconds", seconds)
    monkeypatch.setattr(compiled, "REGISTRY", parts)
    monkeypatch.setattr(compiled, "_modules", {"a": None})
    announcement = compiled._Announcement()
    announcement.loading = "b"
    announcement(kept=True)
    assert caplog.messages == ["compiling kernels for this machine, once: 6 to 13 s of processor time"]


def test_threads_that_ask_for_kernels_at_once_get_the_same_ones(kernels):
    name = f"{kernels.package.name}.entry"
    with ThreadPoolExecutor(8) as pool:
        modules = list(pool.map(compiled._loaded, [name] * 8))
    assert all(module is modules[0] for module in modules)
    assert modules[0].twice(3.0) == 8.0
