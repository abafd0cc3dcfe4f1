"""The kernels of src/bestchannel/native as one library, built whenever the package is installed or packed.

The compiler is $CC, or what the system has; where it has none, or another platform is named in BESTCHANNEL_TARGET,
it is the one in the package ziglang, which is then a build dependency. As a program it builds the library of the source
tree again; with `sanitized FILE` one that looks for faults (AddressSanitizer and UndefinedBehaviorSanitizer); with
`targets` it prints the platforms that it can build for.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a program, where hatchling is not needed
    BuildHookInterface = object

NATIVE = Path(__file__).parent / "src" / "bestchannel" / "native"

FLAGS = ["-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-Wall", "-Wextra"]
SANITIZED = ["-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
QUIET = ["-Wno-pass-failed"]  # Clang says which loop it did not vectorise
SAME_BITS = ["-fno-trapping-math"]  # nobody reads the exception flags, and selections vectorise without them

WIDER = {
    "_avx2": ["-mavx2"],
    "_avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512cd", "-mprefer-vector-width=512"],
}
"""The flags of the variants that processors of x86-64 may have beside the baseline."""

TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_1_x86_64",
    "aarch64-linux-musl": "musllinux_1_1_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
"""The platforms that wheels are made for: zig's name, and that of the wheel."""


def target() -> str:
    """The platform to build for, by zig's name; empty for this one."""
    named = os.environ.get("BESTCHANNEL_TARGET", "")
    if named and named not in TARGETS:
        raise SystemExit(f"BESTCHANNEL_TARGET must be one of {', '.join(TARGETS)}; it is {named!r}")
    return named


def system_compiler() -> list[str]:
    """$CC, cc, gcc or clang, as words of a command; empty where there is none."""
    named = shlex.split(os.environ.get("CC", ""))
    found = [name for name in ("cc", "gcc", "clang") if shutil.which(name)]
    return named or found[:1]


def compiler() -> list[str]:
    """The command that compiles for the target."""
    if not target() and system_compiler():
        return system_compiler()
    return [sys.executable, "-m", "ziglang", "cc", *(["-target", target()] if target() else [])]


def library_name() -> str:
    """How the library is called on the target."""
    system = target() or sys.platform
    return "kernels.dll" if "win" in system.replace("darwin", "") else (
        "kernels.dylib" if "darwin" in system or "macos" in system else "kernels.so"
    )  # fmt: skip


def stamp() -> str:
    """SHA-256 of the sources."""
    digest = hashlib.sha256()
    for path in sorted([*NATIVE.glob("*.c"), *NATIVE.glob("*.h")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def build(library: Path, more_flags: list[str]) -> None:
    """Compile every file in every variant, and link them to one library.

    It is linked in a folder of its own beside its place and moved there: whoever opens it meanwhile, or builds it too,
    meets a whole one.
    """
    x86 = (target() or platform.machine()).lower().startswith(("x86_64", "amd64"))
    variants = {"_baseline": [], **(WIDER if x86 else {})}
    position = [] if "windows" in target() or sys.platform == "win32" else ["-fPIC"]
    command = [*compiler(), *FLAGS, *position, *more_flags]
    command += QUIET if "ziglang" in command else SAME_BITS
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{library.name}.", dir=library.parent) as folder:
        jobs, objects = [], []
        for source in sorted(NATIVE.glob("*.c")):
            once = source.name == "processor.c"
            for variant, flags in {"": []}.items() if once else variants.items():
                objects.append(os.path.join(folder, f"{source.stem}{variant}.o"))
                named = [f'-DSTAMP="{stamp()}"', *["-DWIDE_VECTORS"][:x86]] if once else [f"-DVARIANT={variant}"]
                jobs.append([*command, *flags, *named, "-c", str(source), "-o", objects[-1]])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(run, jobs))
        built = os.path.join(folder, library_name())
        stripped = [] if more_flags else ["-s"]
        run([*compiler(), *more_flags, "-shared", *stripped, *objects, "-o", built])
        os.replace(built, library)


def run(command: list[str]) -> None:
    """Run a compiler, and say what it said where it fails."""
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"the kernels could not be compiled: {error}") from None


def tag() -> str:
    """The tag of the wheel: every Python 3, no interface of Python, this platform."""
    this = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{TARGETS.get(target(), this)}"


class CustomBuildHook(BuildHookInterface):
    """What hatchling calls."""

    def dependencies(self):
        """What building needs beside hatchling: a compiler, where the system has none for the target."""
        return [] if system_compiler() and not target() else ["ziglang"]

    def initialize(self, version, build_data):
        """Build into the source tree for an editable installation, and beside it for a wheel."""
        if self.target_name != "wheel":
            return
        build_data["pure_python"] = False
        build_data["tag"] = tag()
        library = NATIVE / library_name()
        if version != "editable":
            library = Path(self.directory) / "kernels" / (target() or "here") / library_name()
            build_data["force_include"][str(library)] = f"bestchannel/native/{library_name()}"
        build(library, [])


if __name__ == "__main__":
    if sys.argv[1:] == ["targets"]:
        print(*TARGETS)
    elif sys.argv[1:2] == ["sanitized"]:
        build(Path(sys.argv[2]), SANITIZED)
    else:
        build(NATIVE / library_name(), [])
