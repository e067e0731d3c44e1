"""Sends the requests of examples.http to a running service, and keeps the answers."""

import functools
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from roost.api.versions import VERSION_MAX
from tests.support.names import uid
from tests.support.roost_server import RoostServer

FILE = Path(__file__).with_name("examples.http")
HEADERS = {
    "x-auth-token": "admin",
    # A reshape needs the role of a service.
    "x-roles": "admin,service",
    "openstack-api-version": f"placement {VERSION_MAX}",
}
_SETUP = "setup "
# What differs from run to run, and what is shown in its place.
_RANDOM = {"id": uid("hold"), "position": "kZLPABx5vA5Mb0wG"}


class Exchange(NamedTuple):
    """A request, and the answer of the service."""

    method: str
    target: str
    body: Any  # None: no body
    status: int
    reason: str
    answer: Any  # None: no body


class Recording(NamedTuple):
    """What a service answered that was started for it, and is stopped again."""

    openapi: Mapping[str, Any]  # its description of itself
    exchanges: Sequence[Exchange]  # those that are shown


@functools.cache
def record() -> Recording:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with (
            RoostServer(f"sqlite:///{path / 'roost.db'}", path) as server,
            httpx.Client(base_url=server.url, headers=HEADERS, timeout=30) as client,
        ):
            document = client.get("/openapi.json").raise_for_status().json()
            return Recording(document, tuple(_exchange(client, FILE.read_text())))


def _exchange(client: httpx.Client, text: str) -> Iterator[Exchange]:
    seen: dict[str, str] = {}
    for request in _requests(text):
        line, _, content = request.partition("\n")
        method, target = line.removeprefix(_SETUP).split()
        body = json.loads(content) if content.strip() else None
        response = client.request(method, _filled(target, seen), json=body)
        if response.is_error:
            raise ValueError(f"{FILE.name}: {line}: {response.status_code} {response.text}")
        answer = response.json() if response.content else None
        if isinstance(answer, dict):
            seen |= {key: answer[key] for key in _RANDOM if key in answer}
            answer = {key: _RANDOM.get(key, value) for key, value in answer.items()}
        if not line.startswith(_SETUP):
            shown = _filled(target, _RANDOM)
            yield Exchange(
                method, shown, body, response.status_code, response.reason_phrase, answer
            )


def shown_requests() -> Iterator[tuple[str, str]]:
    """Method and path of each request that is shown, without sending it."""
    for request in _requests(FILE.read_text()):
        if not request.startswith(_SETUP):
            method, target = request.partition("\n")[0].split()
            yield method, target.partition("?")[0]


def _requests(text: str) -> list[str]:
    """The requests of the file, with UUIDs for names. Empty lines are between them."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    named = re.sub(r"\{([a-z][\w-]*)\}", lambda match: uid(match[1]), "\n".join(lines))
    return [block.strip() for block in re.split(r"\n\s*\n", named) if block.strip()]


def _filled(target: str, values: Mapping[str, str]) -> str:
    return re.sub(r"<(\w+)>", lambda match: values[match[1]], target)
