"""Roost against the reference: worlds and requests made from seeds.

ROOST_COMPARISON_WORLDS says how many worlds, for a longer run than the default;
ROOST_COMPARISON_FIRST says from which seed, for other worlds than the last time.
"""

import os

import pytest

from tests.comparison.both import Comparison
from tests.comparison.sides import Reference, Roost

FIRST = int(os.environ.get("ROOST_COMPARISON_FIRST", "0"))
WORLDS = int(os.environ.get("ROOST_COMPARISON_WORLDS", "8"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + WORLDS))
def test_world(seed: int, reference: Reference, roost: Roost) -> None:
    report = Comparison(seed, reference, roost).run()
    if report:
        # The requests say it all; a traceback through the comparison adds nothing.
        pytest.fail(report, pytrace=False)
