"""The requests that mutations start from are valid, and there is one for every route."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from roost.api.routes import ROUTES, Route
from roost.api.versions import Version
from tests.generated.catalogue import VALID, Valid
from tests.generated.subject import Subject, plain_request
from tests.support.answer_schemas import check_value, document


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_has_a_valid_request(route: Route) -> None:
    assert any(valid.is_served_by(route) for valid in VALID)


@pytest.mark.parametrize("valid", VALID, ids=str)
def test_a_valid_request_succeeds(subject: Subject, valid: Valid) -> None:
    target = f"{valid.path}?{urlencode(valid.query)}" if valid.query else valid.path
    answer = subject.check(plain_request(valid.method, target, valid.body, valid.version))
    if valid.is_answered_404:
        assert answer.status == 404, answer
        return
    assert answer.status < 300, answer
    assert str(answer.status) in documented(valid)["responses"]


@pytest.mark.parametrize("valid", [valid for valid in VALID if valid.body is not None], ids=str)
def test_a_valid_body_is_documented(valid: Valid) -> None:
    (content,) = documented(valid)["requestBody"]["content"].values()
    check_value(version_of(valid), content["schema"], valid.body)


@pytest.mark.parametrize("valid", [valid for valid in VALID if valid.query], ids=str)
def test_a_valid_query_is_documented(valid: Valid) -> None:
    parameters = [each for each in documented(valid)["parameters"] if each.get("in") == "query"]
    plain = {parameter["name"] for parameter in parameters}
    groups = document(version_of(valid))["components"]["schemas"].get("GroupParameters")
    for name, _ in valid.query:
        is_suffixed = groups is not None and re.match(groups["propertyNames"]["pattern"], name)
        assert name in plain or is_suffixed, name


def documented(valid: Valid) -> dict[str, Any]:
    """The operation of the OpenAPI document that describes a request."""
    (route,) = (route for route in ROUTES if valid.is_served_by(route))
    return dict(document(version_of(valid))["paths"][route.path][route.method.lower()])


def version_of(valid: Valid) -> Version:
    return Version(*map(int, valid.version.split(".")))
