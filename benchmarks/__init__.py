"""Measures roost and the reference side by side: `scripts/benchmark --help`."""

import sys
from pathlib import Path

# The benchmark uses the temporary database servers of the tests.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
