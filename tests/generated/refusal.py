"""A refused request: with which status, and with which words in the detail."""

import dataclasses
from typing import Any

from tests.generated.odd_json import write
from tests.generated.small_world import CN2, CONSUMER_NEW, GENERATIONS, SPARE, consumer_body
from tests.generated.subject import ROLES, TOKEN, VERSION_NEWEST, version_header
from tests.generated.wire import RawRequest

JSON = b"application/json"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A request, the status of its answer, and words that the answer must contain."""

    title: str
    request: RawRequest
    status: int
    words: tuple[str, ...]  # all of them must be in the detail

    def __str__(self) -> str:
        return self.title


def refusal(
    title: str,
    line: str,
    *words: str,
    status: int = 400,
    body: Any = None,  # bytes are sent as they are, anything else as JSON
    content_type: bytes | None = JSON,
    version: str = VERSION_NEWEST,
) -> Refusal:
    """A refusal of "METHOD /target"."""
    method, _, target = line.partition(" ")
    headers = [TOKEN, ROLES, version_header(version)]
    if body is not None and content_type is not None:
        headers.append((b"content-type", content_type))
    if body is not None and not isinstance(body, bytes):
        body = write(body).encode()
    request = RawRequest(method.encode(), target.encode(), tuple(headers), body)
    return Refusal(title, request, status, words)


def provider(title: str, body: Any, *words: str, **options: Any) -> Refusal:
    """A request for a provider that cannot be created."""
    return refusal(f"provider: {title}", "POST /resource_providers", *words, body=body, **options)


def inventory(title: str, fields: str, *words: str, **options: Any) -> Refusal:
    """A request for an inventory of VCPU that is not allowed; its fields are given as JSON."""
    head = f'{{"resource_provider_generation": {GENERATIONS[SPARE]}, "inventories": '
    return refusal(
        f"inventory: {title}",
        f"PUT /resource_providers/{SPARE}/inventories",
        *words,
        body=f"{head}{fields}}}".encode(),
        **options,
    )


def vcpu(title: str, field: str, value: str, *words: str) -> Refusal:
    """A request for an inventory with one wrong field."""
    total = "" if field == "total" else '"total": 8, '
    return inventory(title, f'{{"VCPU": {{{total}"{field}": {value}}}}}', field, "VCPU", *words)


def claim(title: str, resources: str, *words: str, **options: Any) -> Refusal:
    """A claim that is not allowed; its resources are given as JSON."""
    body = write(consumer_body(CONSUMER_NEW, allocations={CN2: {"resources": "HERE"}}))
    return refusal(
        f"claim: {title}",
        f"PUT /allocations/{CONSUMER_NEW}",
        *words,
        body=body.replace('"HERE"', resources).encode(),
        **options,
    )


def consumer(title: str, *words: str, **changes: Any) -> Refusal:
    """A claim with one wrong field of the consumer."""
    return refusal(
        f"consumer: {title}",
        f"PUT /allocations/{CONSUMER_NEW}",
        *words,
        body=consumer_body(CONSUMER_NEW, **changes),
    )


def candidates(title: str, query: str, *words: str, **options: Any) -> Refusal:
    """A query for candidates that is not allowed."""
    return refusal(f"candidates: {title}", f"GET /allocation_candidates?{query}", *words, **options)
