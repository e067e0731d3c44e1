"""Nova's drivers edit roost's provider tree, unmodified, through a tracker with a running roost.

The tests in `in_nova` run in processes with the Python of .venv-nova, which `scripts/test` makes.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.suites.project import NOVA_PYTHON, ROOT, Worker
from tests.support.roost_server import RoostServer

PACKAGE = "tests.nova_drivers.in_nova"

# How many tests each class has, so that one whose tests are not found cannot pass.
COUNTS = {
    "scenarios": {"LibvirtScenarios": 10, "VMwareScenarios": 3, "IronicScenarios": 1},
    "own_tests": {"Tree": 16, "Libvirt": 20, "PciInPlacement": 42, "VMware": 1, "Ironic": 8},
    "comparison": {"TestCase": 1},
}
# What nova itself expects to fail: its libvirt driver does not leave out a disk that is shared.
EXPECTED_FAILURES = {"Libvirt.test_update_provider_tree_for_shared_disk_gb_resource"}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """Runs tests in nova's environment, with a service of their own."""
    folder = tmp_path_factory.mktemp("nova")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        settings = {
            "ROOST_AGENT_URL": server.url,
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            # Without eventlet, which would replace what the client of roost uses.
            "OS_NOVA_DISABLE_EVENTLET_PATCHING": "true",
        }
        with Worker(settings, folder / "tests.log", str(NOVA_PYTHON)) as worker:
            yield worker


def test_nova_has_an_environment() -> None:
    assert NOVA_PYTHON.exists(), (
        f"{NOVA_PYTHON} is missing: scripts/test tests/nova_drivers makes it"
    )


@pytest.mark.parametrize("module", COUNTS)
def test_in_nova(worker: Worker, module: str) -> None:
    outcomes = list(worker.run(f"{PACKAGE}.{module}"))
    names = {outcome: ".".join(outcome.test.split(".")[-2:]) for outcome in outcomes}
    wrong = [
        f"{names[found]} {found.outcome}:\n{found.text}"
        for found in outcomes
        if found.outcome != ("xfailed" if names[found] in EXPECTED_FAILURES else "passed")
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    assert Counter(name.partition(".")[0] for name in names.values()) == COUNTS[module]
