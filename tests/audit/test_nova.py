"""Which consumers nova knows, read over HTTP with tokens of Keystone."""

from collections.abc import Iterator
from typing import Any

import pytest
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from roost.audit import nova
from roost.audit.known import Known
from roost.progress import SILENT
from tests.audit.nova_stand_in import Nova
from tests.keystone.stand_in import PASSWORD, Keystone, token
from tests.support.names import uid


@pytest.fixture
def stand_in() -> Iterator[Nova]:
    with Nova(page=3, token="admin") as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def keystone() -> Iterator[Keystone]:
    tokens = {"admin": token("admin", project="admin", roles=("admin",))}
    with Keystone(tokens, passwords={"admin": PASSWORD}) as keystone:
        yield keystone


@pytest.fixture
def reader(stand_in: Nova, keystone: Keystone) -> nova.Nova:
    keystone.services["compute"] = stand_in.url
    plugin = v3.Password(
        auth_url=f"{keystone.url}/v3",
        username="admin",
        password=PASSWORD,
        project_name="admin",
        user_domain_id="default",
        project_domain_id="default",
    )
    return nova.Nova(Session(auth=plugin), interface="public")


def uids(*names: str) -> frozenset[str]:
    return frozenset(map(uid, names))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 7])
def test_all_pages_are_read(stand_in: Nova, reader: nova.Nova, count: int) -> None:
    names = [f"server{number}" for number in range(count)]
    for name in names:
        stand_in.add(uid(name))
    assert reader.known(SILENT) == Known(servers=uids(*names))


def test_servers_without_a_host_need_not_hold_anything(stand_in: Nova, reader: nova.Nova) -> None:
    stand_in.add(uid("active"))
    stand_in.add(uid("shelved"), host=None, status="SHELVED_OFFLOADED")
    stand_in.add(uid("failed"), host=None, status="ERROR")
    stand_in.add(uid("building"), host="compute1", status="BUILD")
    known = reader.known(SILENT)
    assert known.servers == uids("active")
    assert known.others == uids("shelved", "failed", "building")


def test_servers_that_can_be_restored_are_known(stand_in: Nova, reader: nova.Nova) -> None:
    stand_in.add(uid("active"))
    for number in range(4):
        stand_in.add_soft_deleted(uid(f"deleted{number}"))
    assert reader.known(SILENT).others == uids(*(f"deleted{number}" for number in range(4)))


def test_migrations_are_known_until_they_end(stand_in: Nova, reader: nova.Nova) -> None:
    """A resize that waits for confirmation holds its old host under the migration's UUID."""
    going = ("queued", "preparing", "running", "post-migrating", "migrating", "finished")
    ended = ("confirmed", "reverted", "error", "failed", "completed", "cancelled", "done")
    for status in (*going, *ended):
        stand_in.add_migration(uid(status), status)
    assert reader.known(SILENT).others == uids(*going)


def test_a_cell_that_does_not_answer_stops_the_audit(stand_in: Nova, reader: nova.Nova) -> None:
    """Its servers are missing from every page but the first, where that has room for them."""
    for number in range(7):
        stand_in.add(uid(f"server{number}"))
    stand_in.lost = [uid("lost")]
    with pytest.raises(nova.NovaError, match="a cell of nova does not answer"):
        reader.known(SILENT)


def test_a_cell_that_fails_meanwhile_stops_the_audit(stand_in: Nova, reader: nova.Nova) -> None:
    class Failing(Nova):
        def answer(self, path: str, *arguments: Any) -> tuple[int, dict[str, Any]]:
            answer = super().answer(path, *arguments)
            if path == "/os-migrations":
                self.lost = [uid("lost")]
            return answer

    stand_in.add(uid("server"))
    stand_in.__class__ = Failing
    with pytest.raises(nova.NovaError, match="does not answer"):
        reader.known(SILENT)


def test_who_may_not_see_all_servers_is_refused(stand_in: Nova, reader: nova.Nova) -> None:
    stand_in.is_project_only = True
    with pytest.raises(nova.NovaError, match=r"nova: GET /servers/detail: .*HTTP 403"):
        reader.known(SILENT)


def test_nova_is_asked_again_for_each_consumer(stand_in: Nova, reader: nova.Nova) -> None:
    stand_in.add(uid("built"))
    stand_in.add_soft_deleted(uid("deleted"))
    stand_in.add_migration(uid("migration"), "finished")
    stand_in.add_migration(uid("ended"), "done")
    stand_in.lost = [uid("lost")]
    names = ("built", "deleted", "migration", "ended", "lost", "gone")
    found = reader.unknown([uid(name) for name in names], SILENT)
    assert set(found) == uids("ended", "gone")


def test_a_server_is_on_a_host_or_not(stand_in: Nova, reader: nova.Nova) -> None:
    stand_in.add(uid("active"))
    stand_in.add(uid("shelved"), host=None, status="SHELVED_OFFLOADED")
    asked = [uid(name) for name in ("gone", "active", "shelved")]
    assert list(reader.holding(asked, SILENT)) == [uid("active")]
