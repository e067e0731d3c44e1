"""roost under uwsgi with several processes and threads, as `deploy/uwsgi.ini` runs it."""

import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest
import sqlalchemy as sa

from tests.deployment.uwsgi_server import PREFIX, UwsgiServer
from tests.support.claimers import HEADERS, Claimers, add_hosts, check_tables
from tests.support.database_servers import PostgreSQL
from tests.support.long_form import choose
from tests.support.roost_server import command

CLIENTS = 6
WRITES = choose(short=60, long=150)
STOP_SECONDS_MAX = 45


@pytest.fixture(scope="module")
def synced_database(postgresql: PostgreSQL) -> Iterator[Callable[[], str]]:
    """A function that creates a database and its tables with `roost db sync`."""
    urls = []

    def make() -> str:
        urls.append(postgresql.create_database())
        subprocess.run(command("db", "sync", "--database", urls[-1]), check=True)
        return urls[-1]

    yield make
    for url in urls:
        postgresql.drop_database(url)


def writer_count(database_url: str) -> int:
    """How many processes have written."""
    engine = sa.create_engine(database_url)
    with engine.connect() as connection:
        count = connection.scalar(sa.text("SELECT count(*) FROM roost_writers"))
    engine.dispose()
    return count or 0


@pytest.mark.parametrize(
    "lazy", [False, pytest.param(True, marks=pytest.mark.long)], ids=["forked", "lazy-apps"]
)
def test_clients_do_not_notice_a_reload(
    synced_database: Callable[[], str], tmp_path: Path, lazy: bool
) -> None:
    url = synced_database()
    with UwsgiServer(url, tmp_path, lazy=lazy) as server:
        add_hosts(server.url)
        with Claimers(server.url, CLIENTS) as clients:
            clients.work(WRITES)
            before = workers(server)
            server.reload()
            clients.work(WRITES)
            assert workers(server).isdisjoint(before)
    assert clients.problems == []
    assert clients.unanswered == 0
    check_tables(url, clients.claims)
    # Processes from before and after the reload, or one process would have done all the work.
    assert writer_count(url) > 2


def test_a_stop_under_load_loses_no_acknowledged_write(
    synced_database: Callable[[], str], tmp_path: Path
) -> None:
    url = synced_database()
    with UwsgiServer(url, tmp_path) as server:
        add_hosts(server.url)
        with Claimers(server.url, CLIENTS) as clients:
            clients.work(WRITES)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(STOP_SECONDS_MAX) == 0
    assert clients.problems == []
    check_tables(url, clients.claims)


def test_a_stop_waits_for_the_request_in_flight(
    synced_database: Callable[[], str], tmp_path: Path
) -> None:
    body = b'{"name": "slow"}'
    head = (
        "POST /resource_providers HTTP/1.1\r\n"
        "host: localhost\r\n"
        "x-auth-token: admin\r\n"
        "openstack-api-version: placement 1.39\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        "\r\n"
    ).encode()
    with UwsgiServer(synced_database(), tmp_path) as server:
        address = ("127.0.0.1", server.port)
        with closing(socket.create_connection(address, STOP_SECONDS_MAX)) as connection:
            connection.sendall(head + body[:5])
            # The answer to a later request shows that the server has accepted the first one.
            httpx.get(server.url, timeout=30)
            server.process.send_signal(signal.SIGTERM)
            wait_until_printed(server, "graceful shutdown triggered")
            connection.sendall(body[5:])
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert server.process.wait(STOP_SECONDS_MAX) == 0


def wait_until_printed(server: UwsgiServer, text: str) -> None:
    for _ in range(STOP_SECONDS_MAX * 10):
        if text in server.output:
            return
        time.sleep(0.1)
    raise AssertionError(server.output)


def workers(server: UwsgiServer) -> set[int]:
    return {process.pid for process in psutil.Process(server.process.pid).children()}


class TestPrefix:
    @pytest.fixture(scope="class")
    @classmethod
    def server(
        cls, synced_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[UwsgiServer]:
        folder = tmp_path_factory.mktemp("prefix")
        (folder / "placement.conf").write_text("[roost]\nsummary_metrics = total\n")
        with UwsgiServer(synced_database(), folder, prefix=PREFIX) as server:
            yield server

    @pytest.fixture
    def http(self, server: UwsgiServer) -> Iterator[httpx.Client]:
        with httpx.Client(base_url=server.url, headers=HEADERS, timeout=30) as client:
            yield client

    def test_location_and_links_have_the_prefix(
        self, server: UwsgiServer, http: httpx.Client
    ) -> None:
        created = http.post("/resource_providers", json={"name": "host"})
        path = f"/resource_providers/{created.json()['uuid']}"
        assert created.headers["location"] == server.url + path
        links = {link["rel"]: link["href"] for link in created.json()["links"]}
        assert links["self"] == PREFIX + path
        assert links["inventories"] == f"{PREFIX}{path}/inventories"
        assert http.get(created.headers["location"]).json()["name"] == "host"
        classes = http.get("/resource_classes").json()["resource_classes"]
        assert f"{PREFIX}/resource_classes/VCPU" in [row["links"][0]["href"] for row in classes]

    def test_the_endpoint_answers_with_and_without_a_slash(self, server: UwsgiServer) -> None:
        for url in (server.url, f"{server.url}/"):
            assert httpx.get(url, timeout=30).json()["versions"][0]["id"] == "v1.0"

    def test_every_process_has_the_summary_of_the_whole_cloud(
        self, server: UwsgiServer, http: httpx.Client
    ) -> None:
        assert http.post("/resource_providers", json={"name": "counted"}).is_success
        count = len(http.get("/resource_providers").json()["resource_providers"])
        for _ in range(6):
            # Each request has a connection of its own, so that any process may answer.
            text = httpx.get(f"{server.url}/metrics", timeout=30).text
            assert f"\nroost_summary_providers {count}.0\n" in text

    def test_a_list_is_sent_in_pieces(self, http: httpx.Client) -> None:
        answer = http.get("/resource_providers?include=inventories,usages,traits,aggregates")
        assert answer.status_code == 200
        assert answer.json()["resource_providers"][0]["traits"] == []

    def test_a_search_may_name_many_aggregates(self, http: httpx.Client) -> None:
        aggregates = ",".join(str(uuid.uuid4()) for _ in range(800))
        query = f"resources=VCPU:1&member_of=in:{aggregates}"
        answer = http.get(f"/allocation_candidates?{query}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["allocation_requests"] == []

    def test_a_large_body_that_is_refused_is_answered(self, server: UwsgiServer) -> None:
        body = b" " * 2_000_000
        answer = httpx.post(f"{server.url}/resource_providers", content=body, timeout=30)
        assert answer.status_code == 401, answer.text
