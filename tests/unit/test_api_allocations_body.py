"""Parsing the allocations and inventories of a body."""

import pytest

from roost.api.http_error import HttpError
from roost.api.parsing.allocations import parse_consumer, parse_consumers
from roost.api.parsing.inventories import parse_providers
from roost.api.versions import VERSION_MAX, Version

CONSUMER = "cccccccc-0000-4000-8000-000000000000"
A = "aaaaaaaa-0000-4000-8000-000000000000"
B = "bbbbbbbb-0000-4000-8000-000000000000"


def as_list(*entries: tuple[str, dict[str, int]]) -> dict[str, object]:
    return {
        "allocations": [
            {"resource_provider": {"uuid": uuid}, "resources": resources}
            for uuid, resources in entries
        ]
    }


def test_a_list_may_name_a_provider_twice() -> None:
    body = as_list((A, {"VCPU": 1, "DISK_GB": 1}), (B, {"VCPU": 1}), (A, {"VCPU": 2}))
    change = parse_consumer(body, CONSUMER, Version(1, 0), as_stored=str)
    assert change.allocations == {A: {"VCPU": 2, "DISK_GB": 1}, B: {"VCPU": 1}}


# What the store does where the database ignores case.
ignoring_case = str.lower


def test_a_list_with_two_spellings_of_a_provider_is_refused() -> None:
    body = as_list((A, {"VCPU": 1}), (A.upper(), {"VCPU": 2}))
    with pytest.raises(HttpError, match=f"The resource provider {A} is given twice") as caught:
        parse_consumer(body, CONSUMER, Version(1, 0), as_stored=ignoring_case)
    assert caught.value.status == 400


def test_allocations_with_two_spellings_of_a_provider_are_refused() -> None:
    body = {"allocations": {A: {"resources": {"VCPU": 1}}, A.upper(): {"resources": {"VCPU": 2}}}}
    with pytest.raises(HttpError, match=f"The resource provider {A} is given twice"):
        parse_consumer(body, CONSUMER, VERSION_MAX, as_stored=ignoring_case)


def test_inventories_with_two_spellings_of_a_provider_are_refused() -> None:
    fields = {"inventories": {}, "resource_provider_generation": 0}
    with pytest.raises(HttpError, match=f"The resource provider {A} is given twice"):
        parse_providers({A: fields, A.upper(): fields}, as_stored=ignoring_case)


def test_consumers_keep_their_spelling_and_providers_that_of_the_store() -> None:
    body = {"allocations": {A.upper(): {"resources": {"VCPU": 1.0}}}}
    [change] = parse_consumers({CONSUMER.upper(): body}, VERSION_MAX, as_stored=ignoring_case)
    assert (change.consumer_uuid, change.allocations) == (CONSUMER.upper(), {A: {"VCPU": 1}})


def test_two_spellings_of_a_consumer_are_refused() -> None:
    body = {"allocations": {A: {"resources": {"VCPU": 1}}}}
    with pytest.raises(HttpError, match=f"The consumer {CONSUMER} is given twice"):
        parse_consumers({CONSUMER: body, CONSUMER.upper(): body}, VERSION_MAX, as_stored=str)
