"""One answer on every machine: optimised or not, with wide vectors, and on ARM in an emulator, where there is one."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "src/bestchannel/native"
SOURCES = [
    HERE / "other_machine.c",
    *(NATIVE / f"{name}.c" for name in ("capacity", "mathematics", "single")),
]
FLAGS = ["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-I", NATIVE]

ANSWER = "89577d773c703d45"

COMPILER = shutil.which(os.environ.get("CC", "cc"))


def answer(folder, compiler, *flags, emulator=()):
    program = folder / "other_machine"
    subprocess.run([*compiler, *FLAGS, *flags, *SOURCES, "-o", program, "-lm"], check=True, capture_output=True)
    return subprocess.run([*emulator, program], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(COMPILER is None, reason="no compiler on this machine")
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_answers_do_not_depend_on_what_the_compiler_did(level, tmp_path):
    assert answer(tmp_path, [COMPILER], level) == ANSWER


@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="no emulator (Debian: qemu-user)")
@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="no cross-compiler (pip install ziglang)")
def test_answers_on_arm_are_the_same_to_the_bit(tmp_path):
    cross = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static"]
    assert answer(tmp_path, cross, "-O3", emulator=["qemu-aarch64"]) == ANSWER
