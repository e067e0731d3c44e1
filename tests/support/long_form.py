"""Tests that are long by nature have a short form, which takes each path once.

CI runs the short forms. `scripts/test --long` runs the long ones, which look longer at the same.
"""

import os
from typing import TypeVar

VARIABLE = "ROOST_LONG"

Choice = TypeVar("Choice")


def choose(*, short: Choice, long: Choice) -> Choice:
    return long if os.environ.get(VARIABLE) else short
