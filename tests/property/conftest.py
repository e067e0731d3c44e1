"""How many examples hypothesis tries, and whether they are the same in every run."""

import os

from hypothesis import HealthCheck, settings

from tests.property.strategies import EXAMPLE_COUNT

COMMON = {
    "max_examples": EXAMPLE_COUNT,
    "deadline": None,  # the machine may be busy, and these tests are not about time
    # A world takes a hundred choices, which is intended.
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("roost", **COMMON)
settings.register_profile("roost-ci", **COMMON, derandomize=True, print_blob=True)
settings.load_profile("roost-ci" if os.environ.get("CI") else "roost")
