"""How many examples are generated, and whether they are the same in every run."""

import os

from hypothesis import HealthCheck, settings

_EXAMPLE_COUNT_USUAL = 250
EXAMPLE_COUNT = int(os.environ.get("ROOST_EXAMPLES", _EXAMPLE_COUNT_USUAL))
LONG = EXAMPLE_COUNT > _EXAMPLE_COUNT_USUAL
DETERMINISTIC = os.environ.get("CI") == "true"


def example_settings(share: float) -> settings:
    """Settings for a test that is one of several: it gets this share of all examples."""
    return settings(
        max_examples=max(1, round(EXAMPLE_COUNT * share)),
        deadline=None,  # the machine may be busy, and these tests do not measure time
        derandomize=DETERMINISTIC,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
