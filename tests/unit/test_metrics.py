"""What is counted, and under which labels."""

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from roost import assembly
from roost.errors import ProviderNotFound, Unavailable
from roost.observe import exposition, metrics, metrics_files
from roost.operations.optimistic import write
from roost.operations.providers import create_provider
from roost.service.search_time import SearchTime
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.connection.driver_errors import LostRace
from roost.store.migrations import migrate
from roost.store.schema import roost_changes, roost_writers
from roost.store.store import Store
from tests.support.headers import HEADERS
from tests.support.names import uid

SETTINGS = Settings(auth_strategy="noauth2")


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('metrics') / 'roost.db'}"


@pytest.fixture(scope="module")
def client(database_url: str) -> Iterator[httpx.Client]:
    application = assembly.build_application(
        settings=SETTINGS, database_url=database_url, sync=True
    )
    with httpx.Client(
        transport=httpx.WSGITransport(app=application),
        base_url="http://cloud.example",
        headers=HEADERS,
    ) as client:
        client.get("/")
        yield client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(f"sqlite:///{tmp_path / 'roost.db'}")
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    yield store
    store.dispose()


def value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


@contextmanager
def grows(name: str, by: float = 1, **labels: str) -> Iterator[None]:
    before = value(name, **labels)
    yield
    assert value(name, **labels) - before == by


# ---------------------------------------------------------------------------------------------
# Requests


def request_labels(route: str, method: str, status: int) -> dict[str, str]:
    return {"route": route, "method": method, "status": str(status)}


def test_requests_are_counted_by_route(client: httpx.Client) -> None:
    route = "/resource_providers/{uuid}"
    with grows("roost_http_requests_total", by=2, **request_labels(route, "GET", 404)):
        for _ in range(2):
            client.get(f"/resource_providers/{uuid.uuid4()}")
    with grows("roost_http_request_seconds_count", route=route, method="GET"):
        client.get(f"/resource_providers/{uuid.uuid4()}")


def test_unknown_paths_and_methods_are_counted_as_other(client: httpx.Client) -> None:
    with grows("roost_http_requests_total", by=2, **request_labels("other", "GET", 404)):
        client.get("/nowhere")
        client.get("/resource_providers/a/b/c")
    with grows("roost_http_requests_total", **request_labels("other", "other", 400)):
        client.request("BREW", "/resource_providers")
    # Refused before the path is routed.
    with grows("roost_http_requests_total", **request_labels("other", "GET", 406)):
        client.get("/traits", headers={"openstack-api-version": "placement 7.7"})


def test_series_do_not_grow_with_what_clients_send(client: httpx.Client) -> None:
    def send(number: int) -> None:
        for method in ("GET", "DELETE", f"BREW{number}"):
            client.request(method, f"/odd{number}")
            client.request(method, f"/traits/CUSTOM_{number}?x{number}=1")

    send(0)
    before = len(exposition.scrape().splitlines())
    for number in range(1, 20):
        send(number)
    assert len(exposition.scrape().splitlines()) == before


def test_a_process_that_starts_does_not_fail_a_scrape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(metrics_files.FOLDER_VARIABLE, str(tmp_path))
    path = tmp_path / f"counter_{os.getpid()}.db"
    path.touch()
    # As prometheus_client does right after it has created the file.
    filling = threading.Timer(0.1, os.truncate, [path, 1 << 20])
    filling.start()
    assert b"roost_build_info" in exposition.scrape()
    filling.join()


def test_conflicts_are_counted_by_their_kind(client: httpx.Client) -> None:
    client.post("/resource_providers", json={"name": "taken"})
    # With and without a message that the handler rewords.
    with grows("roost_conflicts_total", reason="ProviderExists"):
        assert client.post("/resource_providers", json={"name": "taken"}).status_code == 409
    client.put("/resource_classes/CUSTOM_TAKEN")
    with grows("roost_conflicts_total", reason="ResourceClassExists"):
        taken = client.post("/resource_classes", json={"name": "CUSTOM_TAKEN"})
        assert taken.status_code == 409


STAGES = ("catch_up", "search", "render")


def test_a_search_that_runs_out_of_time_is_counted_once() -> None:
    search_time = SearchTime(0)
    with grows("roost_searches_out_of_time_total"):
        assert not search_time.may_go_on()
        assert not search_time.may_go_on()
    with grows("roost_searches_out_of_time_total", by=0):
        assert SearchTime(60).may_go_on()


def test_searches_are_measured(client: httpx.Client) -> None:
    created = client.post("/resource_providers", json={"name": "searched"}).json()
    client.put(
        f"/resource_providers/{created['uuid']}/inventories",
        json={"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 2}}},
    )
    stages = {stage: value("roost_search_seconds_total", stage=stage) for stage in STAGES}
    with (
        grows("roost_search_candidates_count", by=2),
        grows("roost_search_candidates_sum", by=1),
    ):
        client.get("/allocation_candidates?resources=VGPU:1")
        client.get("/allocation_candidates?resources=VGPU:3")
    for stage, before in stages.items():
        assert value("roost_search_seconds_total", stage=stage) > before


# ---------------------------------------------------------------------------------------------
# Transactions and connections


def test_retries_after_a_lost_race_are_counted(store: Store) -> None:
    to_raise = [LostRace("lost")]

    def unit(_: object) -> None:
        if to_raise:
            raise to_raise.pop()

    with grows("roost_transaction_retries_total", reason="race"):
        store.run(unit)


@pytest.mark.parametrize("error", [LostRace("stale"), ProviderNotFound("refused by the index")])
def test_retries_after_a_stale_index_are_counted(store: Store, error: Exception) -> None:
    roost = Roost(store, Settings())
    create_provider(roost, uuid=uid("stale"), name="stale", parent_uuid=None)
    to_raise = [error]

    def unit(_tx: object, _state: object) -> None:
        if to_raise:
            raise to_raise.pop()

    roost.catch_up()
    with grows("roost_transaction_retries_total", reason="proposal"):
        write(roost, unit, providers={uid("stale"): None})


def test_connections_in_use_are_counted(store: Store) -> None:
    before = value("roost_database_connections_used", pool="write")
    with store.write():
        assert value("roost_database_connections_used", pool="write") == before + 1
    assert value("roost_database_connections_used", pool="write") == before
    assert value("roost_database_connections_max", pool="write") == 5 + 50


def test_broken_connections_are_not_in_use(store: Store) -> None:
    before = value("roost_database_connections_used", pool="read")

    def fail(_: object) -> None:
        raise RuntimeError("in a snapshot")

    with pytest.raises(RuntimeError):
        store._database.read_snapshot(fail)
    assert value("roost_database_connections_used", pool="read") == before


def test_timeouts_for_a_connection_are_counted(tmp_path: Path) -> None:
    store = Store.open(
        f"sqlite:///{tmp_path / 'roost.db'}", max_pool_size=1, max_overflow=0, pool_timeout=0
    )
    with (
        store.engine.connect(),
        grows("roost_database_connection_timeouts_total"),
        pytest.raises(Unavailable, match="in use"),
    ):
        store.run(lambda _: None)
    store.dispose()


# ---------------------------------------------------------------------------------------------
# The index


def test_the_index_reports_its_size_and_its_progress(store: Store) -> None:
    roost = Roost(store, SETTINGS)
    url = store.engine.url.render_as_string()
    other = Roost(Store.open(url), SETTINGS)
    with grows("roost_index_loads_total", reason="start"), grows("roost_index_load_seconds_count"):
        roost.catch_up()
    process = {"process": str(os.getpid())}
    assert value("roost_index_providers", **process) == 0
    for name in ("one", "two"):
        create_provider(other, uuid=str(uuid.uuid4()), name=name, parent_uuid=None)
    before = value("roost_index_caught_up_timestamp_seconds", **process)
    with (
        grows("roost_index_records_total", by=2),
        grows("roost_index_loads_total", 0, reason="anew"),
    ):
        roost.catch_up()
    assert value("roost_index_providers", **process) == 2
    assert value("roost_index_rows", **process) == 2
    assert value("roost_index_caught_up_timestamp_seconds", **process) > before
    with store.engine.begin() as connection:
        connection.execute(sa.delete(roost_changes))
        connection.execute(sa.delete(roost_writers))
    with grows("roost_index_loads_total", reason="anew"):
        roost.catch_up()
    other.close()


# ---------------------------------------------------------------------------------------------
# Several processes


def test_several_workers_get_a_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(metrics_files.FOLDER_VARIABLE, "unset below, and restored after the test")
    monkeypatch.delenv(metrics_files.FOLDER_VARIABLE)
    with metrics_files.shared_folder(workers=1):
        assert metrics_files.FOLDER_VARIABLE not in os.environ
    with metrics_files.shared_folder(workers=2):
        folder = Path(os.environ[metrics_files.FOLDER_VARIABLE])
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_a_configured_folder_is_kept_and_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "named"
    monkeypatch.setenv(metrics_files.FOLDER_VARIABLE, str(folder))
    with metrics_files.shared_folder(workers=2):
        assert os.environ[metrics_files.FOLDER_VARIABLE] == str(folder)
    # No process has the first id; this process has the second.
    dead, living = folder / f"counter_{2**30}.db", folder / f"counter_{os.getpid()}.db"
    for path in (dead, living):
        path.touch()
    with metrics_files.shared_folder(workers=1):
        assert list(folder.iterdir()) == [living]
