"""The paths beside the API, as probes and Prometheus use them."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from roost.store.feed.shared_positions import RELY_SECONDS
from tests.faults.databases import PostgreSQLNode
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer

SECONDS_MAX = 30

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(server: RoostServer) -> Samples:
    text = httpx.get(f"{server.url}/metrics", timeout=SECONDS_MAX).text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


def processes(samples: Samples, name: str) -> set[int]:
    """The processes of which a metric has a sample."""
    return {int(dict(labels)["process"]) for known, labels in samples if known == name}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def answered(server: RoostServer) -> set[int]:
    """The workers that have an index, that is, have answered a request of the API."""
    # Each request has a connection of its own, so that it may reach either worker.
    assert httpx.get(f"{server.url}/traits", headers=HEADERS).status_code == 200
    return processes(scrape(server), "roost_index_providers")


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("two")
    with RoostServer(
        f"sqlite:///{folder / 'roost.db'}",
        folder,
        arguments=["--workers", "2"],
        environment={"TMPDIR": str(folder), "OS_ROOST__SUMMARY_METRICS": "total,aggregates"},
    ) as server:
        wait_until(lambda: len(answered(server)) == 2)
        yield server
    # The files that the workers shared are removed with them.
    assert list(folder.glob("roost-metrics-*")) == []


TRAITS = {"route": "/traits", "method": "GET", "status": "200"}


def test_each_worker_reports_the_metrics_of_both(two_workers: RoostServer) -> None:
    before = value(scrape(two_workers), "roost_http_requests_total", **TRAITS)
    for sent in range(1, 11):
        httpx.get(f"{two_workers.url}/traits", headers=HEADERS)
        samples = scrape(two_workers)
        assert value(samples, "roost_http_requests_total", **TRAITS) == before + sent
        assert value(samples, "roost_index_loads_total", reason="start") == 2
        # The pools of both workers, without that of the parent process.
        assert value(samples, "roost_database_connections_max", pool="write") == 2 * (5 + 50)


def test_each_worker_has_the_summary_of_the_whole_cloud(two_workers: RoostServer) -> None:
    """It is the same in both, and so is not added up."""
    for count in range(1, 11):
        # Either worker may write, and either may be asked.
        body = {"name": f"host{count}"}
        url = f"{two_workers.url}/resource_providers"
        assert httpx.post(url, headers=HEADERS, json=body).is_success
        samples = scrape(two_workers)
        assert value(samples, "roost_summary_providers") == count
        assert value(samples, "roost_summary_trees") == count
        assert value(samples, "roost_summary_series_left_out") == 0


def test_the_counts_of_a_dead_worker_are_kept_and_its_gauges_are_not(
    two_workers: RoostServer,
) -> None:
    before = scrape(two_workers)
    victim, other = sorted(processes(before, "roost_index_providers"))
    os.kill(victim, signal.SIGKILL)

    def gauges_are_removed() -> bool:
        try:
            # The one that replaces it may have gauges already.
            found = processes(scrape(two_workers), "roost_index_providers")
            return other in found and victim not in found
        except httpx.TransportError:
            # The killed worker had this connection.
            return False

    wait_until(gauges_are_removed)
    samples = scrape(two_workers)
    name = "roost_http_requests_total"
    assert value(samples, name, **TRAITS) == value(before, name, **TRAITS)


def test_readiness_follows_the_database(tmp_path: Path) -> None:
    def readiness() -> tuple[int, dict[str, str]]:
        response = httpx.get(f"{server.url}/readyz", timeout=SECONDS_MAX)
        return response.status_code, response.json()["checks"]

    with (
        PostgreSQLNode() as database,
        RoostServer(
            database.create_database(), tmp_path, environment={"OS_ROOST__SUMMARY_METRICS": "total"}
        ) as server,
    ):
        assert ("roost_summary_providers", frozenset()) in scrape(server)
        assert readiness() == (200, {"database": "ok", "writes": "ok", "index": "ok"})
        database.kill()
        status, checks = readiness()
        assert status == 503
        assert checks == {"database": "unavailable", "writes": "not asked", "index": "not asked"}
        assert httpx.get(f"{server.url}/livez").status_code == 200
        # What was read a moment ago may be the answer for a moment more.
        time.sleep(RELY_SECONDS)
        refused = httpx.get(f"{server.url}/resource_providers", headers=HEADERS)
        assert refused.status_code == 503
        # Other metrics are there all the same.
        names = {name for name, _ in scrape(server)}
        assert "roost_build_info" in names
        assert "roost_summary_providers" not in names
        database.start_again()
        wait_until(lambda: readiness()[0] == 200)
        assert httpx.get(f"{server.url}/resource_providers", headers=HEADERS).is_success
        samples = scrape(server)
        assert ("roost_summary_providers", frozenset()) in samples
        labels = {"route": "/readyz", "method": "GET", "status": "503"}
        assert value(samples, "roost_http_requests_total", **labels) >= 1


def test_json_logs_have_the_request_ids(tmp_path: Path) -> None:
    with RoostServer(
        f"sqlite:///{tmp_path / 'roost.db'}",
        tmp_path,
        environment={"OS_DEFAULT__USE_JSON": "true", "OS_DEFAULT__LOG_FILE": str(tmp_path / "log")},
    ) as server:
        given = "req-33333333-3333-3333-3333-333333333333"
        response = httpx.get(
            f"{server.url}/traits", headers={**HEADERS, "x-openstack-request-id": given}
        )
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (line,) = (line for line in lines if "/traits" in line["message"])
    assert line["request_id"] == response.headers["x-openstack-request-id"]
    assert line["global_request_id"] == given
