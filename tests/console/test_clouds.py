"""The clouds on which the pages are opened have what the pages are to show."""

from tests.support.console.clouds import HOSTILE_NAMES, LARGE_HOSTS
from tests.support.console.server import ConsoleServer


def providers(server: ConsoleServer) -> list[dict]:
    with server.client() as client:
        return client.get("/resource_providers").raise_for_status().json()["resource_providers"]


def test_the_empty_one_is_empty(empty: ConsoleServer) -> None:
    assert providers(empty) == []


def test_shapes_are_there(shapes: ConsoleServer) -> None:
    names = {one["name"] for one in providers(shapes)}
    assert {"numa-host-0-gpu", "numa-host-3-numa1-pf1", "storage", "deep-7", "empty-host"} <= names


def test_the_demo_is_there(demo: ConsoleServer) -> None:
    assert len(providers(demo)) > 100


def test_hostile_names_are_kept(hostile: ConsoleServer) -> None:
    assert {one["name"] for one in providers(hostile)} >= set(HOSTILE_NAMES)


def test_the_large_one_is_large(large: ConsoleServer) -> None:
    with large.client() as client:
        assert client.get("/summary").raise_for_status().json()["trees"] == LARGE_HOSTS
