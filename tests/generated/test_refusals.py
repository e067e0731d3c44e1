"""Explicit examples of refused requests, on every kind of database."""

import json

import pytest

from tests.generated.refusal import Refusal
from tests.generated.refused_allocation_list import REFUSED_ALLOCATION_LIST
from tests.generated.refused_bodies import REFUSED_BODIES
from tests.generated.refused_events import REFUSED_EVENTS
from tests.generated.refused_extensions import REFUSED_EXTENSIONS
from tests.generated.refused_holds import REFUSED_HOLDS
from tests.generated.refused_lists import REFUSED_LISTS
from tests.generated.refused_placements import REFUSED_PLACEMENTS
from tests.generated.refused_queries import REFUSED_QUERIES
from tests.generated.subject import TOKEN, Subject, plain_request
from tests.generated.wire import RawRequest


@pytest.mark.parametrize(
    "refusal",
    [
        *REFUSED_BODIES,
        *REFUSED_QUERIES,
        *REFUSED_EXTENSIONS,
        *REFUSED_PLACEMENTS,
        *REFUSED_HOLDS,
        *REFUSED_EVENTS,
        *REFUSED_ALLOCATION_LIST,
        *REFUSED_LISTS,
    ],
    ids=str,
)
def test_a_refusal_says_what_is_wrong(every_subject: Subject, refusal: Refusal) -> None:
    answer = every_subject.check(refusal.request)
    assert answer.status == refusal.status, answer
    (error,) = json.loads(answer.body)["errors"]
    for words in refusal.words:
        assert words in error["detail"]


@pytest.mark.parametrize("amount", [2**31, 2**63 - 1])
def test_a_request_for_more_than_any_provider_has_is_valid(
    every_subject: Subject, amount: int
) -> None:
    answer = every_subject.check(
        plain_request("GET", f"/allocation_candidates?resources=VCPU:{amount}")
    )
    assert answer.status == 200
    assert json.loads(answer.body)["allocation_requests"] == []


@pytest.mark.parametrize("length", [b"nope", b"-1", b"1.5", b"9" * 40])
def test_a_malformed_content_length_is_refused(on_sqlite: Subject, length: bytes) -> None:
    """The HTTP server refuses these before roost sees them, which is as good."""
    headers = (TOKEN, (b"content-type", b"application/json"), (b"content-length", length))
    assert on_sqlite.send(RawRequest(b"POST", b"/resource_providers", headers)).status == 400
