"""The tests of the kernels with a library that looks for faults: `python -m tests.native.sanitized`.

A copy of the package gets a library that is built with AddressSanitizer and UndefinedBehaviorSanitizer, whose run-time
library is loaded before Python. First the tests of `native`, then calls with sizes 0, 1 and more, NaN, infinities and
denormals (`fuzz`). Any finding ends the program with its report.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ["tests/native", "--ignore=tests/native/test_machines.py"]  # which builds programs of its own


def main() -> None:
    compiler = os.environ.get("CC", "cc")
    named = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "kernels.*"))
        library = source / "bestchannel" / "native" / "kernels.so"
        subprocess.run([sys.executable, ROOT / "hatch_build.py", "sanitized", library], check=True)
        environment = os.environ | {
            "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
            "LD_PRELOAD": named.stdout.strip(),
            # Python itself leaves what it allocates at its end, and learns of too much by a null
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for words in (["pytest", "-p", "no:cacheprovider", *TESTS], ["tests.native.fuzz", *sys.argv[1:]]):
            subprocess.run([sys.executable, "-m", *words], check=True, cwd=ROOT, env=environment)


if __name__ == "__main__":
    main()
