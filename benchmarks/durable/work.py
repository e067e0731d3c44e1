"""What the clients send: claims of new consumers, as ready bytes."""

import itertools
import random
import uuid
from collections.abc import Iterator, Sequence

from benchmarks.client import Request, encode
from benchmarks.durable.clients import Client
from benchmarks.load import CONSUMER_TYPE

VCPU, MEMORY_MB = 1, 256
RESOURCES = f"VCPU:{VCPU},MEMORY_MB:{MEMORY_MB}"

OWNER = f'"project_id":"project-1","user_id":"user-1","consumer_type":"{CONSUMER_TYPE}"'.encode()
# The consumers of a client have UUIDs of this form: a random beginning, then a number.
_UUID_PREFIX_SIZE = len("00000000-0000-4000-8000-")
_PLACEHOLDER = "00000000-0000-4000-8000-000000000000"


def uuid_prefix() -> bytes:
    return str(uuid.uuid4())[:_UUID_PREFIX_SIZE].encode()


class Claims:
    """PUT /allocations of one new consumer after the other, from these providers at random."""

    def __init__(self, providers: Sequence[str]) -> None:
        self._providers = providers

    def messages(self, number: int, client: Client) -> Iterator[bytes]:
        rng = random.Random(number)
        # Where the number of the consumer goes: the rest of a message does not change.
        ready: dict[str, tuple[bytes, bytes]] = {}
        prefix = uuid_prefix()
        for consumer in itertools.count():
            provider = rng.choice(self._providers)
            if provider not in ready:
                ready[provider] = self._around_uuid(provider)
            begin, end = ready[provider]
            yield b"%b%b%012x%b" % (begin, prefix, consumer, end)

    def _around_uuid(self, provider: str) -> tuple[bytes, bytes]:
        held = b'{"VCPU":%d,"MEMORY_MB":%d}' % (VCPU, MEMORY_MB)
        body = b'{"allocations":{"%b":{"resources":%b}},"consumer_generation":null,%b}' % (
            provider.encode(),
            held,
            OWNER,
        )
        message = encode(Request("PUT", f"/allocations/{_PLACEHOLDER}", body))
        begin, _, end = message.partition(_PLACEHOLDER.encode())
        return begin, end


class Placements:
    """POST /placements of some new consumers, again and again."""

    def __init__(self, consumers: int, order: str | None = None) -> None:
        self._consumers = consumers
        self._order = order

    def messages(self, number: int, client: Client) -> Iterator[bytes]:
        prefix = uuid_prefix()
        for request in itertools.count():
            yield placement(prefix, request * self._consumers, self._consumers, self._order)


def placement(prefix: bytes, first: int, consumers: int, order: str | None = None) -> bytes:
    """A request that places that many consumers, whose UUIDs are numbered from `first`."""
    entry = b'"%b%%012x":{%b}' % (prefix, OWNER)
    entries = b",".join([entry % number for number in range(first, first + consumers)])
    ordered = b'"order":"%b",' % order.encode() if order else b""
    body = b'{"query":"resources=%b",%b"consumers":{%b}}' % (RESOURCES.encode(), ordered, entries)
    return encode(Request("POST", "/placements", body))
