"""The scripts of the documentation, which have what only its pages show."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs"))
