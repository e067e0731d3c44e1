"""Roost against the reference: worlds and requests that are generated from seeds.

ROOST_COMPARISON_WORLDS is the number of worlds, for a longer run than the default.
ROOST_COMPARISON_FIRST is the first seed, for other worlds than in the last run.
"""

import os

import pytest

from tests.comparison.comparison import Comparison
from tests.comparison.sides import Reference, Roost
from tests.support.long_form import choose

FIRST = int(os.environ.get("ROOST_COMPARISON_FIRST", "0"))
WORLDS = int(os.environ.get("ROOST_COMPARISON_WORLDS", choose(short="3", long="8")))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + WORLDS))
def test_both_sides_give_the_same_answers(seed: int, reference: Reference, roost: Roost) -> None:
    report = Comparison(seed, reference, roost).run()
    if report:
        # The report names all requests; a traceback through the comparison adds nothing.
        pytest.fail(report, pytrace=False)
