"""The requests that mutations start from are valid, and there is one for every route."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from roost.api import openapi
from roost.api.openapi import X_OPENSTACK
from roost.api.parsing.validation import validators_of
from roost.api.routes import ROUTES, Route
from tests.generated.catalogue import VALID, Valid
from tests.generated.subject import Subject, plain_request

DOCUMENT = openapi.document(())


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
    forms = content["schema"].get("anyOf", [content["schema"]])
    version = number(valid.version)
    (form,) = (
        form
        for form in forms
        if number(form[X_OPENSTACK]["min-ver"]) <= version <= number(form[X_OPENSTACK]["max-ver"])
    )
    validators_of(form).exact.validate(valid.body)


@pytest.mark.parametrize("valid", [valid for valid in VALID if valid.query], ids=str)
def test_a_valid_query_is_documented(valid: Valid) -> None:
    known = {
        parameter["name"] + parameter[X_OPENSTACK].get("suffix", "").join(("(", ")?"))
        for parameter in documented(valid)["parameters"]
        if parameter.get("in") == "query"
        and number(parameter[X_OPENSTACK]["min-ver"]) <= number(valid.version)
    }
    for name, _ in valid.query:
        assert any(re.fullmatch(pattern, name) for pattern in known), name


def documented(valid: Valid) -> dict[str, Any]:
    """The operation of the OpenAPI document that describes a request."""
    (route,) = (route for route in ROUTES if valid.is_served_by(route))
    return dict(DOCUMENT["paths"][route.path][route.method.lower()])


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
