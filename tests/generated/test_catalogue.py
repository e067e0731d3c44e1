"""The requests that others are made from are good, and there is one for every route."""

import re
from urllib.parse import urlencode

import pytest

from generated.catalogue import VALID, Valid
from generated.subject import Subject, plain_request
from roost.api.routes import ROUTES, Route


def serves(route: Route, valid: Valid) -> bool:
    version = tuple(map(int, valid.version.split(".")))
    pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
    return (
        route.method == valid.method
        and route.since <= version <= route.until
        and re.fullmatch(pattern, valid.path) is not None
    )


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_has_a_valid_request(route: Route) -> None:
    assert any(serves(route, valid) for valid in VALID)


@pytest.mark.parametrize("valid", VALID, ids=str)
def test_a_valid_request_succeeds(subject: Subject, valid: Valid) -> None:
    target = f"{valid.path}?{urlencode(valid.query)}" if valid.query else valid.path
    answer = subject.check(plain_request(valid.method, target, valid.body, valid.version))
    assert answer.status < 300, answer
