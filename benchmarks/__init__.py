"""roost and the reference, measured side by side: `scripts/benchmark --help`."""

import sys
from pathlib import Path

# The throw-away database servers are the tests' own.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
