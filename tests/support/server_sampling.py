"""Which tests CI runs on which server: those that are for both servers run on one of them."""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from tests.support.database_servers import SERVERS


def on_the_other_server(items: Iterable[pytest.Item], fixtures: Sequence[str]) -> list[pytest.Item]:
    """Of each test that runs on both servers, the run on the one that the short form leaves out.

    Which one that is depends on the test's name, so it is the same in every run, and either server
    gets about half of the tests. A test that is for one server alone is never left out. `fixtures`
    have a parameter that names the kind of database.
    """
    found: dict[str, dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        callspec = getattr(item, "callspec", None)
        parameters: dict[str, Any] = callspec.params if callspec else {}
        chosen = [parameters.get(name) for name in fixtures]
        for server in SERVERS:
            if server in chosen:
                found[item.nodeid.replace(server, "server")][server] = item
    return [
        runs[SERVERS[zlib.crc32(name.encode()) % len(SERVERS)]]
        for name, runs in found.items()
        if len(runs) == len(SERVERS)
    ]
