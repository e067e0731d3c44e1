"""Allocations in a body: of one consumer, of several, and within a reshape."""

from collections.abc import Mapping
from typing import Any

from roost.api.http_error import HttpError
from roost.api.parsing.bodies import to_integer
from roost.api.parsing.uuids import canonical_provider_uuids, canonical_uuid, is_uuid
from roost.api.versions import Version
from roost.model import ConsumerChange, Resources


def parse_consumers(body: Mapping[str, Any], version: Version) -> list[ConsumerChange]:
    """The new allocations of several consumers, by UUID."""
    changes = {}
    for uuid, fields in body.items():
        check_consumer_uuid(uuid)
        change = parse_consumer(fields, uuid, version)
        if change.consumer_uuid in changes:
            raise HttpError(400, f"The consumer {change.consumer_uuid} is given twice")
        changes[change.consumer_uuid] = change
    return list(changes.values())


def check_consumer_uuid(text: str) -> None:
    if not is_uuid(text):
        raise HttpError(400, f"Malformed consumer_uuid: {text} is not a UUID")


def parse_consumer(body: Mapping[str, Any], consumer_uuid: str, version: Version) -> ConsumerChange:
    """The new allocations of one consumer, in the form of the version."""
    generation = body.get("consumer_generation")
    return ConsumerChange(
        consumer_uuid=canonical_uuid(consumer_uuid),
        allocations=_parse_allocations(body["allocations"]),
        project_id=body.get("project_id"),
        user_id=body.get("user_id"),
        consumer_type=body.get("consumer_type"),
        checks_generation=version >= (1, 28),
        expected_generation=None if generation is None else to_integer(generation),
    )


def _parse_allocations(allocations: Any) -> dict[str, Resources]:
    if isinstance(allocations, dict):
        pairs = [(uuid, entry["resources"]) for uuid, entry in allocations.items()]
    else:  # the list of versions before 1.12
        pairs = [(entry["resource_provider"]["uuid"], entry["resources"]) for entry in allocations]
    canonical = canonical_provider_uuids(uuid for uuid, _ in pairs)
    merged: dict[str, dict[str, int]] = {}
    for uuid, resources in pairs:
        # A list may repeat a provider in one spelling; the later amount of a class counts.
        merged.setdefault(canonical[uuid], {}).update(
            {name: to_integer(amount) for name, amount in resources.items()}
        )
    return dict(merged)
