"""Requests that are almost right."""

import pytest
from hypothesis import given

from generated.catalogue import VALID
from generated.examples import example_settings
from generated.mutations import mutated
from generated.subject import Subject
from generated.wire import RawRequest
from roost.api.routes import ROUTES, Route

CANDIDATES = [valid for valid in VALID if valid.path == "/allocation_candidates"]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_almost_right_requests(subject: Subject, route: Route) -> None:
    valid = [each for each in VALID if each.is_served_by(route)]

    @example_settings(share=1 / 20)
    @given(mutated(valid))
    def check(request: RawRequest) -> None:
        subject.check(request)

    check()


@example_settings(share=1)
@given(request=mutated(CANDIDATES))
def test_almost_right_queries_for_candidates(subject: Subject, request: RawRequest) -> None:
    subject.check(request)
