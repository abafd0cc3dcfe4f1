"""The layers of the design: imports point downwards, and the lower layers touch nothing outside.

The check reads the sources; nothing is imported.
"""

import ast
from pathlib import Path

import pytest

import bestchannel

SOURCE = Path(bestchannel.__file__).parent

LAYERS = [
    {
        "errors",
        "arrays",
        "native",
        "process",
        "display",
        "promises",
        "disk",
        "json_text",
    },
    {"information", "channels", "capacity"},
    {"questions", "counts", "evidence", "intervals"},
    {"record", "policies", "lower_bound"},
    {"sensing", "runs", "study", "paper", "testing", "verification"},
    {"report", "service", "cli"},
]
LAYER = {member: number for number, members in enumerate(LAYERS) for member in members}

ABOVE_ALL = {"__init__", "__main__"}
"""The package's own face may import anything."""

PURE = {member for members in LAYERS[:4] for member in members} | {"verification"}
"""What touches no file, no clock, no network, no terminal and no global randomness: the lower layers, and the check."""

FORBIDDEN = {
    "argparse", "asyncio", "csv", "curses", "datetime", "fastapi", "fileinput", "ftplib", "getpass", "glob", "http",
    "io", "json", "matplotlib", "multiprocessing", "os.path", "pandas", "pathlib", "pickle", "plotly", "polars",
    "pyarrow", "random", "requests", "rich", "secrets", "select", "shelve", "shutil", "signal", "socket", "sqlite3",
    "ssl", "subprocess", "tempfile", "termios", "time", "tomllib", "typer", "urllib", "uvicorn", "webbrowser",
}  # fmt: skip
FILES = {
    "csv", "gzip", "io", "json", "os", "pathlib", "pyarrow", "secrets", "stat", "subprocess", "tempfile", "zipfile", "zlib",
}  # fmt: skip
"""What the rooms of the lower layers that read files may import; a decoder that may crash is a process of its own."""

READERS = {"counts", "disk", "json_text", "native"}

FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint"}
SYS_FORBIDDEN = {"argv", "exit", "stderr", "stdin", "stdout"}
OS_ALLOWED = {"cpu_count", "sched_getaffinity", "process_cpu_count"}
RANDOM_ALLOWED = {"Generator", "SeedSequence", "BitGenerator", "Philox", "default_rng"}
"""Of numpy.random: what makes or names a generator, rather than drawing from the global one."""


def modules(source):
    """Each module's dotted name inside the package, with its syntax tree."""
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        yield ".".join(parts), ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(name, tree, package):
    """The absolute names that a module imports, wherever in it, and how it writes them."""
    here = [package, *name.split(".")][:-1]
    for node in ast.walk(at_run_time(tree)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def at_run_time(tree):
    """The tree without what stands under `if TYPE_CHECKING:`, which only a type checker reads."""

    class Runs(ast.NodeTransformer):
        def visit_If(self, node):
            return ast.Pass() if dotted(node.test) == "TYPE_CHECKING" else node

    return Runs().visit(tree)


def members_imported(name, tree, package):
    """The top-level members of the package that a module imports."""
    for target in imported(name, tree, package):
        first, *rest = target.split(".")
        if first == package:
            yield rest[0] if rest else "__init__"


def faults_of_direction(source, package="bestchannel"):
    """Imports that point upwards, unknown members, and cycles between members of one layer."""
    faults, edges = [], {}
    for name, tree in modules(source):
        member = name.split(".")[0]
        if member in ABOVE_ALL:
            continue
        if member not in LAYER:
            faults.append(f"{member} has no layer")
            continue
        for other in members_imported(name, tree, package):
            if other == member:
                continue
            if other not in LAYER:
                faults.append(f"{name} imports {other}, which has no layer")
            elif LAYER[other] > LAYER[member]:
                faults.append(f"{name} (layer {LAYER[member]}) imports {other} (layer {LAYER[other]})")
            elif LAYER[other] == LAYER[member]:
                edges.setdefault(member, set()).add(other)
    return faults + [f"cycle through {member}" for member in edges if member in reachable(member, edges)]


def reachable(start, edges):
    """What can be reached from the start in one step or more."""
    seen, queue = set(), list(edges.get(start, ()))
    while queue:
        member = queue.pop()
        if member not in seen:
            seen.add(member)
            queue += edges.get(member, ())
    return seen


def dotted(node):
    """`a.b.c` for such an expression, otherwise nothing."""
    if isinstance(node, ast.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr}" if left else ""
    return node.id if isinstance(node, ast.Name) else ""


def random_name(name):
    """The part after numpy.random of a dotted name, or nothing."""
    for prefix in ("np.random.", "numpy.random."):
        if name.startswith(prefix):
            return name.removeprefix(prefix).split(".")[0]
    return ""


def faults_of_purity(source, package="bestchannel"):
    """What modules of the lower layers import or call that reaches outside the process."""
    faults = []
    for name, tree in modules(source):
        member = name.split(".")[0]
        if member not in PURE:
            continue
        reads_files = member in READERS
        for target in imported(name, tree, package):
            if forbidden(target) and not (reads_files and target.split(".")[0] in FILES):
                faults.append(f"{name} imports {target}")
        for node in ast.walk(tree):
            if reads_files and (dotted(node).startswith("os.") or dotted(getattr(node, "func", node)) == "open"):
                continue
            if isinstance(node, ast.Call) and dotted(node.func) in FORBIDDEN_CALLS:
                faults.append(f"{name} calls {dotted(node.func)}")
            if isinstance(node, ast.Attribute):
                whole = dotted(node)
                if whole.startswith("os.") and whole.removeprefix("os.") not in OS_ALLOWED:
                    faults.append(f"{name} uses {whole}")
                if whole.startswith("sys.") and whole.split(".")[1] in SYS_FORBIDDEN:
                    faults.append(f"{name} uses {whole}")
                if random_name(whole) and random_name(whole) not in RANDOM_ALLOWED:
                    faults.append(f"{name} uses {whole}")
    return faults


def forbidden(target):
    parts = target.split(".")
    if parts[0] == "os" and len(parts) == 2:
        return parts[1] not in OS_ALLOWED
    if parts[0] == "sys" and len(parts) == 2:
        return parts[1] in SYS_FORBIDDEN
    if parts[:2] == ["numpy", "random"] and len(parts) == 3:
        return parts[2] not in RANDOM_ALLOWED
    return any(".".join(parts[:length]) in FORBIDDEN for length in range(1, len(parts) + 1))


def test_imports_point_downwards_and_members_of_a_layer_form_no_cycle():
    assert faults_of_direction(SOURCE) == []


def test_the_lower_layers_touch_no_file_clock_network_terminal_or_global_randomness():
    assert faults_of_purity(SOURCE) == []


REPLAYS = "verification.verdict"
"""The module that tells a policy the answers of a record again, and says the verdict; evidence is found without it."""


def members_behind(source, member, package="bestchannel"):
    """The members of the package that the modules of one member import, itself and what replays left out."""
    own = [(name, tree) for name, tree in modules(source) if name.split(".")[0] == member and name != REPLAYS]
    return {other for name, tree in own for other in members_imported(name, tree, package)} - {member}


def test_verification_shares_no_code_with_what_it_verifies():
    assert members_behind(SOURCE, "verification") == {"errors", "questions", "record"}  # the schema, and no arithmetic


def test_only_the_face_of_verification_uses_what_replays():
    users = {name for name, tree in modules(SOURCE) if any(REPLAYS in target for target in imported(name, tree, ""))}
    assert {name for name in users if name.startswith("verification")} == {"verification.__init__"}


def test_the_check_of_independence_sees_an_import(tmp_path):
    text = "def f():\n    from bestchannel.evidence.bets import leader_bets"
    assert members_behind(tree_of(tmp_path, {"verification/x.py": text}), "verification") == {"evidence"}


def test_the_check_sees_the_package():
    assert {"arrays", "capacity.stack", "channels.families", "__init__"} <= {name for name, _ in modules(SOURCE)}
    edges = {name: set(members_imported(name, tree, "bestchannel")) for name, tree in modules(SOURCE)}
    assert {"arrays", "channels", "errors"} <= edges["capacity.solve"]


# The check must catch what it is for.

SOLVE, CHANNEL = "capacity/solve.py", "channels/channel.py"

DIRECTION = {
    "upwards": (
        {SOLVE: "from bestchannel.intervals import estimate"},
        "capacity.solve (layer 1) imports intervals (layer 2)",
    ),
    "upwards inside a function": (
        {"arrays.py": "def f():\n    import bestchannel.cli"},
        "arrays (layer 0) imports cli (layer 5)",
    ),
    "upwards by a relative import": (
        {CHANNEL: "from ..counts import x"},
        "channels.channel (layer 1) imports counts (layer 2)",
    ),
    "upwards from the package's folder": (
        {CHANNEL: "from .. import study"},
        "channels.channel (layer 1) imports study (layer 4)",
    ),
    "the package's face": (
        {"arrays.py": "import bestchannel"},
        "arrays imports __init__, which has no layer",
    ),
    "a name of the package's face": (
        {"arrays.py": "from bestchannel import capacity"},
        "arrays (layer 0) imports capacity (layer 1)",
    ),
    "a cycle": (
        {"information.py": "import bestchannel.channels", CHANNEL: "import bestchannel.information"},
        "cycle through channels",
    ),
    "a longer cycle": (
        {
            "information.py": "import bestchannel.channels",
            CHANNEL: "import bestchannel.capacity",
            SOLVE: "from bestchannel import information",
        },
        "cycle through information",
    ),
    "a member without a layer": ({"utils.py": ""}, "utils has no layer"),
}

PURITY = {
    "pathlib": ("from pathlib import Path", "imports pathlib.Path"),
    "os.path": ("import os.path", "imports os.path"),
    "from os": ("from os import path", "imports os.path"),
    "an os function": ("import os\nos.remove('x')", "uses os.remove"),
    "open": ("open('x')", "calls open"),
    "print": ("print(1)", "calls print"),
    "terminal": ("import sys\nsys.stdout.write('x')", "uses sys.stdout"),
    "imported terminal": ("from sys import stderr", "imports sys.stderr"),
    "clock": ("import time", "imports time"),
    "a clock inside a function": ("def f():\n    from datetime import datetime", "imports datetime.datetime"),
    "database": ("import sqlite3", "imports sqlite3"),
    "network": ("import urllib.request", "imports urllib.request"),
    "plots": ("import matplotlib.pyplot as plt", "imports matplotlib.pyplot"),
    "global randomness": ("import numpy as np\nnp.random.seed(1)", "uses np.random.seed"),
    "global draw": ("import numpy as np\nx = np.random.rand()", "uses np.random.rand"),
    "imported draw": ("from numpy.random import rand", "imports numpy.random.rand"),
    "random": ("import random", "imports random"),
}


def tree_of(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize(("files", "fault"), DIRECTION.values(), ids=DIRECTION.keys())
def test_the_check_catches_an_import_in_the_wrong_direction(tmp_path, files, fault):
    assert fault in faults_of_direction(tree_of(tmp_path, files))


@pytest.mark.parametrize(("text", "fault"), PURITY.values(), ids=PURITY.keys())
@pytest.mark.parametrize("member", ["errors", "capacity/dense", "intervals/paper_bounds", "policies/policy"])
def test_the_check_catches_what_reaches_outside(tmp_path, member, text, fault):
    found = faults_of_purity(tree_of(tmp_path, {f"{member}.py": text}))
    assert f"{member.replace('/', '.')} {fault}" in found


def test_the_check_lets_types_be_named_that_are_not_imported(tmp_path):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pandas import DataFrame\nif True:\n    import polars"
    assert faults_of_purity(tree_of(tmp_path, {SOLVE: text})) == ["capacity.solve imports polars"]


def test_the_check_lets_the_upper_layers_reach_outside(tmp_path):
    files = {f"{member}/x.py": text for member in ("sensing", "cli") for text, _ in PURITY.values()}
    assert faults_of_purity(tree_of(tmp_path, files)) == []


def test_the_check_lets_few_rooms_read_files(tmp_path):
    text = "import os, io, json, time\nfrom pathlib import Path\nos.replace(open('a').name, 'b')"
    found = faults_of_purity(tree_of(tmp_path, {"counts/x.py": text, "intervals/x.py": text}))
    assert [fault for fault in found if fault.startswith("counts")] == ["counts.x imports time"]
    assert len(found) == 7


def test_the_check_allows_what_the_design_allows(tmp_path):
    text = """
import logging, math, os, threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from numpy.random import Generator
from bestchannel.arrays import Floats
from bestchannel.capacity.stack import solve_stack
n = len(os.sched_getaffinity(0)) or os.cpu_count()
def draw(rng: np.random.Generator): return rng.random()
"""
    files = {
        "capacity/x.py": text,
        "__main__.py": "from bestchannel.cli import main",
        "cli/x.py": "import bestchannel.arrays",
    }
    assert faults_of_direction(tree_of(tmp_path, files)) == []
    assert faults_of_purity(tmp_path) == []
