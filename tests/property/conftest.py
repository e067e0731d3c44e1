"""How many examples hypothesis tries, and whether they are the same ones each time."""

import os

from hypothesis import HealthCheck, settings

from tests.property.strategies import EXAMPLE_COUNT

COMMON = {
    "max_examples": EXAMPLE_COUNT,
    "deadline": None,  # the machine may be busy, and time is not what these tests are about
    # A world takes a hundred choices; that is what it is, not a mistake.
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("roost", **COMMON)
settings.register_profile("roost-ci", **COMMON, derandomize=True, print_blob=True)
settings.load_profile("roost-ci" if os.environ.get("CI") else "roost")
