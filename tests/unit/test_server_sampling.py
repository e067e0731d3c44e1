"""What CI leaves out: of each test for both servers one run, and the same one each time."""

from types import SimpleNamespace
from typing import Any

from tests.support.database_servers import DATABASES, SERVERS
from tests.support.server_sampling import on_the_other_server

FIXTURES = ("database_url",)


def item(name: str, **parameters: str) -> Any:
    return SimpleNamespace(
        nodeid=f"{name}[{'-'.join(parameters.values())}]",
        callspec=SimpleNamespace(params=parameters),
    )


def left_out(*items: Any) -> list[str]:
    return [each.callspec.params["database_url"] for each in on_the_other_server(items, FIXTURES)]


def test_each_test_is_left_out_on_one_server() -> None:
    for number in range(20):
        runs = [item(f"test_{number}", database_url=database) for database in DATABASES]
        [server] = left_out(*runs)
        assert server in SERVERS
        assert left_out(*reversed(runs)) == [server]


def test_other_parameters_make_other_tests() -> None:
    runs = [
        item("test", size=size, database_url=database)
        for size in ("small", "large")
        for database in DATABASES
    ]
    assert len(left_out(*runs)) == 2


def test_each_server_gets_about_half() -> None:
    runs = [item(f"test_{n}", database_url=server) for n in range(1000) for server in SERVERS]
    chosen = left_out(*runs)
    assert all(400 < chosen.count(server) < 600 for server in SERVERS)


def test_what_is_for_one_server_is_never_left_out() -> None:
    assert left_out(item("test", database_url="mariadb"), item("test", database_url="sqlite")) == []
    # A parameter of another fixture names no database.
    assert on_the_other_server([item("test", text=server) for server in SERVERS], FIXTURES) == []
    assert on_the_other_server([SimpleNamespace(nodeid="test")], FIXTURES) == []  # type: ignore[list-item]
