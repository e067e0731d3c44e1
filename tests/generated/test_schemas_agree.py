"""The fast validator of a body and the exact one accept the same bodies."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.api.http_error import HttpError
from roost.api.parsing import bodies
from roost.api.parsing.validation import validators_of
from roost.api.schemas import (
    Schema,
    aggregates,
    allocations,
    inventories,
    providers,
    resource_classes,
    traits,
)
from roost.api.versions import VERSION_MAX, Version
from tests.generated.changes import changed, changed_value, places
from tests.generated.odd_json import write

UUID = "11111111-1111-4111-8111-111111111111"
OTHER = UUID.replace("1", "2")
INVENTORY = {"total": 8, "reserved": 1, "min_unit": 1, "allocation_ratio": 1.5}
CONSUMER = {
    "allocations": {OTHER: {"resources": {"VCPU": 1, "CUSTOM_A": 2}, "generation": 3}},
    "mappings": {"_A": [OTHER], "": [UUID]},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": None,
    "consumer_type": "INSTANCE",
}
LIST = [{"resource_provider": {"uuid": OTHER}, "resources": {"VCPU": 1}}]
INVENTORIES = {"resource_provider_generation": 1, "inventories": {"VCPU": INVENTORY}}

BODIES: list[tuple[Schema, Any]] = [
    (allocations.put(VERSION_MAX), CONSUMER),
    (allocations.put(Version(1, 8)), {"allocations": LIST, "project_id": "p", "user_id": "u"}),
    (allocations.post(VERSION_MAX), {UUID: CONSUMER}),
    (
        allocations.reshape(VERSION_MAX),
        {"inventories": {UUID: INVENTORIES}, "allocations": {OTHER: CONSUMER}},
    ),
    (inventories.PUT_ALL, INVENTORIES),
    (inventories.PUT_ONE, {**INVENTORY, "resource_provider_generation": 1}),
    (aggregates.put(VERSION_MAX), {"aggregates": [UUID, OTHER], "resource_provider_generation": 1}),
    (aggregates.put(Version(1, 1)), [UUID, OTHER]),
    (
        traits.PUT_OF_PROVIDER,
        {"traits": ["CUSTOM_A", "HW_CPU_X86_AVX"], "resource_provider_generation": 1},
    ),
    (providers.create(VERSION_MAX), {"name": "a", "uuid": UUID, "parent_provider_uuid": OTHER}),
    (resource_classes.BODY, {"name": "CUSTOM_A"}),
]


def is_accepted(schema: Schema, body: Any) -> tuple[bool, bool]:
    checks = validators_of(schema)
    return checks.fast.is_valid(body), checks.exact.is_valid(body)


@pytest.mark.parametrize(("schema", "body"), BODIES)
def test_both_validators_accept_a_valid_body(schema: Schema, body: Any) -> None:
    assert is_accepted(schema, json.loads(json.dumps(body))) == (True, True)


@pytest.mark.parametrize(("schema", "body"), BODIES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_both_validators_agree_on_a_changed_body(
    schema: Schema, body: Any, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(body)))
        body = changed(body, place, lambda value: data.draw(changed_value(value)))
    try:
        read = bodies.decode(write(body).encode())
    except HttpError:
        return
    quick, exact = is_accepted(schema, read)
    # The two differ on floats too large for an integer; roost then asks the exact one alone.
    assert quick == exact or any(is_huge(number) for number in numbers(read))


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict | list):
        members = value.values() if isinstance(value, dict) else value
        return [number for member in members for number in numbers(member)]
    return [value] if isinstance(value, float) else []


def is_huge(number: float) -> bool:
    return abs(number) >= 2**63
