"""Allocations in a body: of one consumer, of several, and within a reshape."""

from collections.abc import Iterable, Mapping
from typing import Any

from roost.api.http_error import HttpError
from roost.api.parsing.bodies import to_integer
from roost.api.parsing.uuids import AsStored, provider_uuids
from roost.api.versions import Version
from roost.model import ConsumerChange, Resources
from roost.quoting import quote
from roost.uuids import canonical_uuid, is_uuid


def parse_consumers(
    body: Mapping[str, Any], version: Version, *, as_stored: AsStored
) -> list[ConsumerChange]:
    """The new allocations of several consumers, by UUID.

    A new consumer is stored under its key as the client spelled it, and is shown so to clients.
    """
    refuse_twice(body)
    return [
        parse_consumer(fields, uuid, version, as_stored=as_stored) for uuid, fields in body.items()
    ]


def refuse_twice(keys: Iterable[str]) -> None:
    """Refuse two spellings of one consumer, which would become two consumers."""
    seen = set()
    for uuid in map(canonical_uuid, keys):
        if uuid in seen:
            raise HttpError(400, f"The consumer {uuid} is given twice")
        seen.add(uuid)


def check_consumer_uuid(text: str) -> None:
    if not is_uuid(text):
        raise HttpError(400, f"Malformed consumer_uuid: {quote(text)} is not a UUID")


def parse_consumer(
    body: Mapping[str, Any],
    consumer_uuid: str,
    version: Version,
    *,
    sent_as: str = "",
    as_stored: AsStored,
) -> ConsumerChange:
    """The new allocations of one consumer, in the form of the version."""
    generation = body.get("consumer_generation")
    return ConsumerChange(
        consumer_uuid=consumer_uuid,
        sent_as=sent_as,
        allocations=_parse_allocations(body["allocations"], as_stored),
        project_id=body.get("project_id"),
        user_id=body.get("user_id"),
        consumer_type=body.get("consumer_type"),
        checks_generation=version >= (1, 28),
        expected_generation=None if generation is None else to_integer(generation),
    )


def _parse_allocations(allocations: Any, as_stored: AsStored) -> dict[str, Resources]:
    if isinstance(allocations, dict):
        pairs = [(uuid, entry["resources"]) for uuid, entry in allocations.items()]
    else:  # the list of versions before 1.12
        pairs = [(entry["resource_provider"]["uuid"], entry["resources"]) for entry in allocations]
    stored = provider_uuids((uuid for uuid, _ in pairs), as_stored)
    merged: dict[str, dict[str, int]] = {}
    for uuid, resources in pairs:
        # A list may repeat a provider in one spelling; the later amount of a class counts.
        merged.setdefault(stored[uuid], {}).update(
            {name: to_integer(amount) for name, amount in resources.items()}
        )
    return dict(merged)
