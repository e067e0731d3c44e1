"""The functional tests of the clients that operators use, each module against a running roost.

ROOST_SUITE_DATABASES names the databases to run them on, for example "postgresql,mariadb".
"""

import pytest

from tests.suites.project import Outcome, Suite, Worker
from tests.suites.tally import Tally

OSC_PLACEMENT = Suite(
    distribution="osc-placement",
    package="osc_placement.tests.functional",
    counted_version="4.9.1",
    counts={
        "test_aggregate": 20,
        "test_allocation": 26,
        "test_allocation_candidate": 28,
        "test_inventory": 28,
        "test_plugin": 1,
        "test_resource_class": 8,
        "test_resource_provider": 32,
        "test_trait": 13,
        "test_usage": 4,
    },
)
OPENSTACKSDK = Suite(
    distribution="openstacksdk",
    package="openstack.tests.functional.placement.v1",
    counted_version="4.22.0",
    counts={
        "test_allocation": 1,
        "test_allocation_candidate": 1,
        "test_resource_provider": 2,
        "test_resource_provider_allocation": 1,
        "test_resource_provider_inventory": 1,
        "test_resource_provider_trait": 1,
        "test_usage": 1,
    },
)
SUITES = (OSC_PLACEMENT, OPENSTACKSDK)


@pytest.mark.parametrize("suite", SUITES, ids=str)
def test_every_counted_module_is_installed(suite: Suite) -> None:
    assert set(suite.counts) <= set(suite.modules())


@pytest.mark.parametrize("module", OSC_PLACEMENT.modules())
def test_osc_placement(osc_placement: Worker, database: str, module: str, tally: Tally) -> None:
    outcomes = run(osc_placement, OSC_PLACEMENT, module)
    tally.add(OSC_PLACEMENT, database, outcomes)
    check(OSC_PLACEMENT, module, outcomes)


@pytest.mark.parametrize("module", OPENSTACKSDK.modules())
def test_openstacksdk(openstacksdk: Worker, database: str, module: str, tally: Tally) -> None:
    outcomes = run(openstacksdk, OPENSTACKSDK, module)
    tally.add(OPENSTACKSDK, database, outcomes)
    check(OPENSTACKSDK, module, outcomes)


def run(worker: Worker, suite: Suite, module: str) -> list[Outcome]:
    return list(worker.run(f"{suite.package}.{module}"))


def check(suite: Suite, module: str, outcomes: list[Outcome]) -> None:
    """Every test of the module was run, and passed."""
    not_passed = [outcome for outcome in outcomes if outcome.outcome != "passed"]
    if not_passed:
        pytest.fail(
            "\n".join(f"{found.test} {found.outcome}:\n{found.text}" for found in not_passed),
            pytrace=False,
        )
    if suite.version == suite.counted_version:
        assert len(outcomes) == suite.counts[module]
    else:
        # Another version may have more tests, in more modules.
        assert len(outcomes) >= suite.counts.get(module, 1)
