"""A compiler for tests that install the package: one that does not optimise takes a twentieth of the time."""

import os
import shutil

QUICK = {"CC": """sh -c 'exec cc "$@" -O0' cc"""} if shutil.which("cc") and "CC" not in os.environ else {}
"""For the environment of an installation; the kernels of all other tests are built as users' are."""
