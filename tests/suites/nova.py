"""Nova's functional tests of what it does with placement, against a running roost.

Started by scripts/nova-suite, which installs nova into an environment of its own.
"""

import argparse
import contextlib
import queue
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.suites.project import NOVA_PYTHON, ROOT, Outcome, Worker, WorkerEnded
from tests.support.roost_server import RoostServer

LOGS = ROOT / "build" / "nova-suite"

# The modules that speak to placement, with the number of their tests in the version of nova that
# requirements/nova.txt names, so that a module whose tests are not found cannot pass.
QUICK = {"test_report_client": 18}
MODULES = {
    **QUICK,
    "compute.test_resource_tracker": 8,
    "libvirt.test_numa_servers": 56,
    "libvirt.test_pci_in_placement": 36,
    "libvirt.test_pci_sriov_servers": 116,
    "libvirt.test_report_cpu_traits": 10,
    "libvirt.test_reshape": 3,
    "libvirt.test_shared_resource_provider": 3,
    "libvirt.test_vgpu": 18,
    "libvirt.test_vpmem": 3,
    "regressions.test_bug_1679750": 2,
    "test_nova_manage": 86,
    "test_routed_networks": 9,
    "test_servers_provider_tree": 11,
    "test_servers_resource_request": 162,
    "test_unified_limits": 26,
}
PACKAGE = "nova.tests.functional"

# What nova itself skips, or expects to fail, whatever service it is.
_SHARED = f"{PACKAGE}.libvirt.test_shared_resource_provider.SharedStorageProviderUsageTestCase"
_NETWORKS = f"{PACKAGE}.libvirt.test_numa_servers.NUMAServersWithNetworksTest"
NOT_PASSED = {
    f"{_NETWORKS}.test_attach_interface_with_network_affinity_violation": "skipped",
    f"{_SHARED}.test_rebuild_instance_with_image_traits_on_shared_rp": "xfailed",
    f"{_SHARED}.test_rebuild_instance_with_image_traits_on_shared_rp_no_valid_host": "xfailed",
    f"{_SHARED}.test_shared_storage_rp_configuration_with_cn_rp": "xfailed",
}

# The policy defaults of the reference's fixture.
CONFIGURATION = """\
[oslo_policy]
enforce_new_defaults = false
"""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/nova-suite", description=__doc__.split("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="modules, classes or tests, instead of all"
    )
    parser.add_argument("--quick", action="store_true", help="the tests of the report client only")
    parser.add_argument(
        "--processes", type=int, default=2, metavar="N", help="run tests in N processes (2)"
    )
    parser.add_argument(
        "--url",
        help="a roost that is already running, with --auth noauth2 and "
        "[oslo_policy] enforce_new_defaults = false",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="the database of that roost, for SQLAlchemy (sqlite:///..., postgresql+psycopg://..., "
        "mysql+pymysql://...); EVERYTHING IN IT IS DELETED before each test",
    )
    parser.add_argument(
        "--reference",
        action="store_true",
        help="run on the reference, as nova itself does, to compare",
    )
    options = parser.parse_args(arguments)
    if bool(options.url) != bool(options.database):
        parser.error("--url and --database go together")
    if options.url and options.reference:
        parser.error("either --url or --reference")
    if options.url:
        # Tests that share a database would delete each other's data.
        options.processes = 1
    return options


@contextlib.contextmanager
def service(options: argparse.Namespace) -> Iterator[Mapping[str, str]]:
    """The settings that lead the tests of one process to their service."""
    if options.reference:
        yield {}
        return
    if options.url:
        yield {"ROOST_SUITE_URL": options.url, "ROOST_SUITE_DATABASE": options.database}
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config_file = folder / "placement.conf"
        config_file.write_text(CONFIGURATION)
        database_url = f"sqlite:///{folder / 'roost.db'}"
        with RoostServer(database_url, folder, config_file=config_file) as server:
            yield {"ROOST_SUITE_URL": server.url, "ROOST_SUITE_DATABASE": database_url}


def new_worker(settings: Mapping[str, str], name: str) -> Worker:
    return Worker(settings, LOGS / f"{name}.log", str(NOVA_PYTHON))


def list_tests(names: Sequence[str]) -> dict[str, list[str]]:
    """The tests of each of the names."""
    with new_worker({}, "list") as worker:
        return {name: worker.names(name) for name in names}


def miscounted(tests: Mapping[str, list[str]]) -> list[str]:
    """A sentence for each module that does not have the number of tests that was counted."""
    return [
        f"{PACKAGE}.{module} has {len(tests[name])} tests instead of {count}"
        for module, count in MODULES.items()
        if (name := f"{PACKAGE}.{module}") in tests and len(tests[name]) != count
    ]


def unexpected(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each test that was skipped or failed as expected, but not by nova's own choice."""
    return [
        f"{found.outcome}: {found.test}"
        for found in outcomes
        if found.outcome not in ("passed", "failed", NOT_PASSED.get(found.test))
    ]


def parts(tests: Mapping[str, list[str]]) -> Iterator[str]:
    """The classes of the tests; a test that was named is a part by itself."""
    for name, members in tests.items():
        for test in members:
            yield name if test == name else test.rpartition(".")[0]


class Run:
    """Deals the tests, one class at a time, to processes with a service each."""

    def __init__(self, options: argparse.Namespace, tests: Mapping[str, list[str]]) -> None:
        self._options = options
        self._total = sum(map(len, tests.values()))
        self._names: queue.Queue[str] = queue.Queue()
        for name in dict.fromkeys(parts(tests)):
            self._names.put(name)
        self._lock = threading.Lock()
        self.outcomes: list[Outcome] = []

    def run(self) -> list[Outcome]:
        threads = [
            threading.Thread(target=self._work, args=(number,))
            for number in range(self._options.processes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.outcomes

    def _work(self, number: int) -> None:
        with service(self._options) as settings:
            while not self._names.empty():
                with new_worker(settings, f"worker-{number}") as worker:
                    self._run_parts(worker)

    def _run_parts(self, worker: Worker) -> None:
        """Until there are none left, or the process has ended."""
        while True:
            try:
                name = self._names.get_nowait()
            except queue.Empty:
                return
            try:
                for outcome in worker.run(name):
                    self._add(outcome)
            except WorkerEnded as error:
                self._add(Outcome(test=name, outcome="failed", text=str(error), seconds=0))
                return

    def _add(self, outcome: Outcome) -> None:
        with self._lock:
            self.outcomes.append(outcome)
            print(
                f"{len(self.outcomes)}/{self._total} {outcome.outcome} {outcome.seconds:.1f} s "
                f"{outcome.test}",
                flush=True,
            )
            if outcome.outcome == "failed":
                with (LOGS / "failures.txt").open("a") as file:
                    print(outcome.test, outcome.text, sep="\n", file=file)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "failures.txt").write_text("")
    modules = QUICK if options.quick else MODULES
    tests = list_tests(options.names or [f"{PACKAGE}.{module}" for module in modules])
    wrong = miscounted(tests)
    outcomes = Run(options, tests).run()
    run = {outcome.test for outcome in outcomes}
    wrong += [f"not run: {test}" for names in tests.values() for test in names if test not in run]
    if not options.names:
        wrong += unexpected(outcomes)
    counts = Counter(outcome.outcome for outcome in outcomes)
    for outcome in outcomes:
        if outcome.outcome == "failed":
            print(f"failed: {outcome.test}")
    for sentence in wrong:
        print(sentence)
    subject = "the reference" if options.reference else "roost"
    numbers = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    print(f"nova on {subject}: {len(outcomes)} tests, {numbers}")
    return 1 if counts["failed"] or wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
