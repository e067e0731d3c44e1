"""A newer release of roost writes change records that this one cannot read.

Its processes and those of this release serve one database, in the middle of an upgrade.
"""

import pytest

from roost.errors import CapacityExceeded, PositionGone
from roost.operations.events import current_position, read_events
from roost.operations.usages import read_usages
from roost.service.service import Roost
from roost.service.watcher import EventFilter
from roost.store import change_record
from roost.store.change_record import FORMAT, ChangeRecord, encode
from tests.concurrency.races import claim, put, used
from tests.support.names import uid


def higher_format(record: ChangeRecord) -> str:
    return encode(record).replace("{", f'{{"format":{FORMAT + 1},', 1)


def other_types(record: ChangeRecord) -> str:
    return '{"usage": {"VCPU": 1}, "generations": "none"}'


@pytest.fixture(params=[higher_format, other_types], ids=lambda encode: encode.__name__)
def newer(
    request: pytest.FixtureRequest, pair: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch
) -> Roost:
    """A service whose records are those of the newer release. It knows them without reading."""
    monkeypatch.setattr(change_record, "encode", request.param)
    return pair[0]


@pytest.fixture
def older(pair: tuple[Roost, Roost]) -> Roost:
    return pair[1]


def usage_known_to(roost: Roost) -> int:
    return int(read_usages(roost, provider_uuid=uid("host")).usages["VCPU"])


def test_the_older_one_sees_every_write(newer: Roost, older: Roost) -> None:
    for number in range(1, 4):
        put(newer, claim(f"consumer{number}", {"host": {"VCPU": 1}}))
        assert usage_known_to(older) == number


def test_nothing_is_given_away_twice(newer: Roost, older: Roost) -> None:
    put(newer, claim("first", {"host": {"VCPU": 3}}))
    with pytest.raises(CapacityExceeded):
        put(older, claim("second", {"host": {"VCPU": 2}}))
    put(newer, claim("third", {"host": {"MEMORY_MB": 60}}))
    put(older, claim("fourth", {"host": {"VCPU": 1, "MEMORY_MB": 40}}))
    assert used(older, "host", "VCPU") == 4
    assert used(older, "host", "MEMORY_MB") == 100


def test_events_that_cannot_be_read_are_gone(newer: Roost, older: Roost) -> None:
    position = current_position(older)
    put(newer, claim("consumer", {"host": {"VCPU": 1}}))
    with pytest.raises(PositionGone):
        read_events(older, position=position, event_filter=EventFilter())
