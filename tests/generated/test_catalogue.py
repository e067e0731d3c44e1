"""The requests that others are made from are good, and there is one for every route."""

from urllib.parse import urlencode

import pytest

from generated.catalogue import VALID, Valid
from generated.subject import Subject, plain_request
from roost.api.routes import ROUTES, Route


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_has_a_valid_request(route: Route) -> None:
    assert any(valid.is_served_by(route) for valid in VALID)


@pytest.mark.parametrize("valid", VALID, ids=str)
def test_a_valid_request_succeeds(subject: Subject, valid: Valid) -> None:
    target = f"{valid.path}?{urlencode(valid.query)}" if valid.query else valid.path
    answer = subject.check(plain_request(valid.method, target, valid.body, valid.version))
    assert answer.status < 300, answer
