"""Requests that are almost valid."""

import pytest
from hypothesis import given

from roost.api.routes import ROUTES, Route
from tests.generated.catalogue import VALID
from tests.generated.examples import example_settings
from tests.generated.mutations import mutated
from tests.generated.subject import Subject
from tests.generated.wire import RawRequest

CANDIDATES = [valid for valid in VALID if valid.path == "/allocation_candidates"]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_almost_valid_requests(subject: Subject, route: Route) -> None:
    valid = [each for each in VALID if each.is_served_by(route)]

    @example_settings(share=1 / 20)
    @given(mutated(valid))
    def check(request: RawRequest) -> None:
        subject.check(request)

    check()


@example_settings(share=1)
@given(request=mutated(CANDIDATES))
def test_almost_valid_queries_for_candidates(subject: Subject, request: RawRequest) -> None:
    subject.check(request)
