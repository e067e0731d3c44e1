"""Runs one dataset on one kind of database: loads it twice, compares the answers, measures both."""

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.client import Request
from benchmarks.comparison import compare
from benchmarks.databases import Database, version
from benchmarks.datasets import WIDE_CLASS, Dataset, add_wide_host, build
from benchmarks.load import Dump, create_schema
from benchmarks.measure import Budget, ShowProgress, measure
from benchmarks.placement_rate import measure_placement_rate
from benchmarks.requests import PLACEMENT_KEY, PLACEMENT_TITLE, cases_for
from benchmarks.results import Comparison, DatasetResult
from benchmarks.services import ReferenceService, RoostService, Service

SERVICES: dict[str, type[Service]] = {"reference": ReferenceService, "roost": RoostService}
# On larger datasets a whole answer of the reference takes too much memory and time.
CHECK_HOSTS_MAX = 2_000
# A search makes the service load everything it needs. Only one host can serve this one, so it is
# cheap.
CHEAP_SEARCH = Request("GET", f"/allocation_candidates?resources={WIDE_CLASS}:1")


def run_dataset(
    name: str,
    database: Database,
    budgets: dict[str, Budget],
    placement_seconds: dict[str, float],
    keys: Sequence[str],
    check: bool,
    show_progress: ShowProgress,
) -> DatasetResult:
    """`budgets` names the services to run. Without `keys` every case is measured."""
    show_progress(f"{name}: generating the dataset")
    dataset = build(name)
    add_wide_host(dataset)
    result = DatasetResult(
        dataset=name,
        database=database.title,
        providers=len(dataset.providers),
        allocations=len(dataset.allocations),
    )
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-benchmark-"))
        dump = Dump(dataset, Path(path))
        services = {}
        for service_name in budgets:
            show_progress(
                f"{name}: loading {len(dataset.allocations):,} allocations for {service_name}"
            )
            url = database.create_database()
            stack.callback(database.drop_database, url)
            create_schema(url)
            dump.load(url)
            result.database_version = version(url)
            show_progress(f"{name}: starting {service_name}")
            services[service_name] = stack.enter_context(SERVICES[service_name](url, Path(path)))
            services[service_name].warm_up(CHEAP_SEARCH)
        if check and "roost" in services:
            result.comparisons = compare_searches(name, services, keys, show_progress)
        # One after the other. Otherwise the services would compete for the processors.
        for service_name, service in services.items():
            measure_service(
                result, dataset, service, database, budgets[service_name], keys, show_progress
            )
            if not keys or PLACEMENT_KEY in keys:
                show_progress(f"{name}, {service_name}: {PLACEMENT_TITLE}")
                # The reference's own performance jobs do the same, so that clients choose the same
                # candidates less often.
                service.randomize = True
                restart(service)
                result.placement_rates[service_name] = measure_placement_rate(
                    service,
                    database.process_id,
                    placement_seconds[service_name],
                )
    return result


def restart(service: Service) -> None:
    service.restart()
    service.warm_up(CHEAP_SEARCH)


def compare_searches(
    name: str, services: dict[str, Service], keys: Sequence[str], show_progress: ShowProgress
) -> list[Comparison]:
    """Compare the answers to every search, before anything is written."""
    found: dict[str, Comparison] = {}
    with contextlib.ExitStack() as stack:
        connections = {
            service_name: stack.enter_context(service.connect())
            for service_name, service in services.items()
        }
        for case in cases_for(name):
            # Cases that differ only in their limit are the same search.
            if case.query in found or case.query is None or (keys and case.key not in keys):
                continue
            show_progress(f"{name}: comparing the answers to: {case.title}")
            found[case.query] = compare(case, connections.get("reference"), connections["roost"])
    return list(found.values())


def measure_service(
    result: DatasetResult,
    dataset: Dataset,
    service: Service,
    database: Database,
    budget: Budget,
    keys: Sequence[str],
    show_progress: ShowProgress,
) -> None:
    timings = result.timings.setdefault(service.name, {})
    for case in cases_for(dataset.name):
        if not keys or case.key in keys:
            show_progress(f"{dataset.name}, {service.name}: {case.title}")
            timings[case.key] = measure(case, dataset, service, database.process_id, budget)
            if timings[case.key].failure:
                # The service may still be working on the request that the client gave up.
                restart(service)
