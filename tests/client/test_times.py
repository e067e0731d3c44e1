"""The times that a service says, and those that it does not."""

from datetime import UTC, datetime

import httpx
import pytest

from tests.client.conftest import Scripted
from tests.support.names import uid


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"date": "Mon, 02 Mar 2026 03:04:05 GMT"}, datetime(2026, 3, 2, 3, 4, 5, tzinfo=UTC)),
        ({"date": "yesterday"}, None),
        ({}, None),
    ],
)
def test_the_clock_of_the_service(
    scripted: Scripted, headers: dict[str, str], expected: datetime | None
) -> None:
    client, _ = scripted(httpx.Response(200, json={"resource_providers": []}, headers=headers))
    assert client.service_time is None
    client.providers()
    assert client.service_time == expected


def test_a_consumer_of_an_old_placement_has_no_times(scripted: Scripted) -> None:
    found = {"uuid": uid("consumer"), "allocations": {}, "created_at": None, "updated_at": None}
    answer = httpx.Response(200, json={"consumers": [found]})
    client, _ = scripted(answer)
    [consumer] = client.consumers()
    assert consumer.created_at is None
    assert consumer.changed_at is None
