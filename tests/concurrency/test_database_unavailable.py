"""The application's answers while the database cannot be written."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from roost.api.application import create_application
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.store import Store
from tests.support.database_servers import MariaDB, PostgreSQL
from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.synchronised_databases import synchronise


@contextmanager
def service(url: str, **options: int) -> Iterator[tuple[Roost, httpx.Client]]:
    roost = Roost(Store.open(url, **options), Settings(auth_strategy="noauth2"))
    transport = httpx.WSGITransport(app=create_application(roost))
    with httpx.Client(transport=transport, base_url="http://roost", headers=HEADERS) as client:
        yield roost, client
    roost.close()


def create(client: httpx.Client, name: str) -> httpx.Response:
    return client.post("/resource_providers", json={"name": name, "uuid": uid(name)})


def names(client: httpx.Client) -> list[str]:
    listed = client.get("/resource_providers").json()["resource_providers"]
    return sorted(one["name"] for one in listed)


def assert_unavailable(
    response: httpx.Response, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    """The client may retry; the log tells the operator why."""
    assert response.status_code == 503, response.text
    assert response.headers["retry-after"] == "1"
    assert why in caplog.text
    caplog.clear()


def test_no_free_connection_is_unavailable(
    synchronised_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"max_pool_size": 1, "max_overflow": 0, "pool_timeout": 1}
    with service(synchronised_url, **limits) as (roost, client):
        assert create(client, "first").status_code == 200
        with ExitStack() as stack:
            # On a server there is one more, for claims.
            for _ in range(2 if roost.store.writes_at_once else 1):
                stack.enter_context(roost.store.engine.connect())
            answer = create(client, "second")
            assert_unavailable(answer, caplog, "connections to the database are in use")
        assert create(client, "third").status_code == 200
        for _ in range(2):
            assert names(client) == ["first", "third"]
        # One connection for reads is enough, although the feed holds one for its polls.
        assert client.get(f"/allocations/{uid('consumer')}").status_code == 200


def test_a_read_only_database_is_unavailable_for_writes(
    postgresql: PostgreSQL, caplog: pytest.LogCaptureFixture
) -> None:
    """Reads still work, and so do writes as soon as the database accepts them again."""
    url = synchronise(postgresql.create_database())
    database = url.rpartition("/")[2]
    with service(url) as (roost, client):
        assert create(client, "before").status_code == 200
        with postgresql._cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        # Open sessions keep the setting that they began with.
        roost.store.dispose()
        assert_unavailable(create(client, "meanwhile"), caplog, "read-only")
        assert names(client) == ["before"]
        with postgresql._cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
        # The connections to the read-only server were closed, so this write opens a new one.
        assert create(client, "after").status_code == 200
        assert names(client) == ["after", "before"]
    postgresql.drop_database(url)


def test_a_demoted_server_is_unavailable_for_writes(
    mariadb: MariaDB, caplog: pytest.LogCaptureFixture
) -> None:
    """`read_only` takes effect at once, for every user but administrators."""
    url = synchronise(mariadb.create_database())
    database = url.rpartition("/")[2]
    with mariadb._cursor() as cursor:
        cursor.execute("CREATE USER ordinary")
        cursor.execute(f"GRANT ALL ON {database}.* TO ordinary")
    with service(url.replace("root@", "ordinary@")) as (_, client):
        assert create(client, "before").status_code == 200
        old_connections = open_connections(mariadb, database)
        with mariadb._cursor() as cursor:
            cursor.execute("SET GLOBAL read_only = ON")
        try:
            assert_unavailable(create(client, "meanwhile"), caplog, "read-only")
            assert names(client) == ["before"]
        finally:
            with mariadb._cursor() as cursor:
                cursor.execute("SET GLOBAL read_only = OFF")
        # The old connections were closed, since new ones may lead to another server.
        assert not old_connections & open_connections(mariadb, database)
        assert create(client, "after").status_code == 200
        assert names(client) == ["after", "before"]
    with mariadb._cursor() as cursor:
        cursor.execute("DROP USER ordinary")
    mariadb.drop_database(url)


def open_connections(mariadb: MariaDB, database: str) -> set[int]:
    with mariadb._cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", [database])
        return {id for (id,) in cursor.fetchall()}


def test_a_lost_race_that_does_not_end_is_a_conflict(
    synchronised_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every retry loses again: 409, with the code that clients know."""
    with service(synchronised_url) as (roost, client):
        assert create(client, "host").status_code == 200
        path = f"/resource_providers/{uid('host')}/inventories"
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
        assert client.put(path, json=body).status_code == 200
        lose_every_race(roost, monkeypatch)
        answer = client.put(
            f"/allocations/{uid('consumer')}",
            json={
                "allocations": {uid("host"): {"resources": {"VCPU": 1}}},
                "project_id": "p",
                "user_id": "u",
                "consumer_generation": None,
                "consumer_type": "INSTANCE",
            },
        )
        assert answer.status_code == 409, answer.text
        assert answer.json()["errors"][0]["code"] == "placement.concurrent_update"


def lose_every_race(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every COMMIT of this process fail with a deadlock."""
    from oslo_db import exception as driver

    lock = threading.Lock()

    def commit(*_: object) -> None:
        with lock:
            raise driver.DBDeadlock

    monkeypatch.setattr(roost.store._writer, "_commit", commit)
