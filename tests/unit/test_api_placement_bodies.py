"""Bodies of placements: those that are decoded quickly mean the same as when read with care."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.api.handlers.placements import _key
from roost.api.http_error import HttpError
from roost.api.parsing import placements
from roost.api.schemas.placements import POST
from tests.support.names import uid

OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}


def body_of(count: int, **more: Any) -> dict[str, Any]:
    consumers = {uid(f"c{number}"): OWNER for number in range(count)}
    return {"query": "resources=VCPU:1", "consumers": consumers, **more}


def outcome(body: bytes, *, quickly: bool) -> Any:
    """What a body means, or how it is refused."""
    with pytest.MonkeyPatch.context() as patch:
        if not quickly:
            patch.setattr(placements, "_decode", lambda _: None)
        patch.setattr(placements, "CONSUMERS_FEW", 1)
        try:
            read, consumers = placements.read(body, POST)
        except HttpError as error:
            return error.status, str(error)
    # As a digest, too: it is compared with that of another process.
    return msgspec.to_builtins(read), consumers, _key(read)


def is_read_quickly(body: bytes) -> bool:
    return placements._decode(body) is not None


def test_a_body_with_many_consumers_is_read_quickly() -> None:
    groups = {"groups": {"": {"resources": {"VCPU": 1}}}}
    for more in (
        {},
        {"order": "pack", "spread": "root", "idempotency_key": "k"},
        {"query": groups},
    ):
        body = json.dumps(body_of(100, **more)).encode()
        assert is_read_quickly(body)
        assert outcome(body, quickly=True) == outcome(body, quickly=False)
        read, consumers = placements.read(body, POST)
        assert [each.uuid for each in consumers] == [uid(f"c{number}") for number in range(100)]
        assert read.keys() == json.loads(body).keys()


def test_few_consumers_are_read_like_any_body() -> None:
    assert not is_read_quickly(json.dumps(body_of(3)).encode())


def test_the_most_consumers_are_read_quickly_and_no_more() -> None:
    assert is_read_quickly(json.dumps(body_of(10_000)).encode())
    assert not is_read_quickly(json.dumps(body_of(10_001)).encode())


ENTRY = json.dumps(OWNER)
FIRST, SECOND = (f'"{uid(name)}": ' for name in "ab")
ENDS = ' "query": "resources=VCPU:1"}'


@pytest.mark.parametrize(
    "body",
    [
        # A consumer, a field, a part of the body, and a part of the query are given twice.
        f'{{"consumers": {{{FIRST}{ENTRY}, {FIRST}{ENTRY}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY[:-1]}, "user_id": "v"}}}},{ENDS}',
        f'{{"consumers": {{}}, "consumers": {{{FIRST}{ENTRY}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "query": "resources=VCPU:2",{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "query": {{"limit": 1, "limit": 2}}}}',
        # Names that are spelled with escapes, and texts that look like names.
        f'{{"consumers": {{{FIRST}{ENTRY}, "\\u0061{FIRST[2:]}{ENTRY}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY.replace("INSTANCE", "user_id")}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "idempotency_key": "query",{ENDS}',
        # Two spellings of one consumer.
        f'{{"consumers": {{{FIRST}{ENTRY}, {FIRST.upper()}{ENTRY}}},{ENDS}',
        f'{{"consumers": {{{FIRST.upper()}{ENTRY}, {SECOND}{ENTRY}}},{ENDS}',
        f'{{"consumers": {{"{"-" * 36}": {ENTRY}}},{ENDS}',
        # What is wrong with a consumer, or with anything else.
        f'{{"consumers": {{{FIRST}{ENTRY.replace("INSTANCE", "vm")}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY.replace("INSTANCE", "T" * 256)}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY.replace("INSTANCE", "")}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY[:-1]}, "colour": "red"}}}},{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "colour": "red",{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "spread": "rack",{ENDS}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "query": ""}}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "query": 1e999}}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}, "query": {"[" * 50_000}{"]" * 50_000}}}',
        f'{{"consumers": {{{FIRST}{ENTRY}}}}}',
        f'{{"consumers": {{{FIRST}{ENTRY}}},{ENDS} {{}}',
        f'{{"consumers": {{{FIRST}{ENTRY}}},{ENDS[:-1]}',
        f'{{"consumers": {{{FIRST}{ENTRY.replace("INSTANCE", "Ä")}}},{ENDS}',
        f'{{"consumers": [{ENTRY}],{ENDS}',
        "[]",
    ],
)
def test_an_unusual_body_is_read_or_refused_as_ever(body: str) -> None:
    assert outcome(body.encode(), quickly=True) == outcome(body.encode(), quickly=False)


@given(st.data())
def test_a_damaged_body_is_read_or_refused_as_ever(data: st.DataObject) -> None:
    body = bytearray(json.dumps(body_of(2, order="pack", idempotency_key="k")).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        first = data.draw(st.integers(0, len(body)))
        last = data.draw(st.integers(first, min(len(body), first + 60)))
        other = data.draw(st.integers(0, len(body)))
        # A part is left out, repeated somewhere, or replaced.
        part = data.draw(
            st.sampled_from([b"", b'"', b",", b"}", b"\\u0061", bytes(body[first:last])])
        )
        body[other : other + data.draw(st.integers(0, 3))] = part
    assert outcome(bytes(body), quickly=True) == outcome(bytes(body), quickly=False)
