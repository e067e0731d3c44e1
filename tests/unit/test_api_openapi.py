"""The OpenAPI document is valid, and describes every route."""

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from roost.api import openapi
from roost.api.probes import OPEN_ROUTES
from roost.api.routes import ROUTES, Route

DOCUMENT = openapi.document(OPEN_ROUTES, "/placement")


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_described(route: Route) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    names = {parameter["name"] for parameter in operation["parameters"] if "name" in parameter}
    assert {name.strip("{}") for name in route.path.split("/") if "{" in name} <= names
    assert operation.get("security") == ([] if route.rule is None else None)


def test_nothing_else_is_described() -> None:
    routes = {(route.path, route.method.lower()) for route in ROUTES}
    open_routes = {(route.path, "get") for route in OPEN_ROUTES}
    paths = DOCUMENT["paths"].items()
    assert {(path, method) for path, methods in paths for method in methods} == routes | open_routes


def test_every_body_and_query_is_described() -> None:
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        if route.body is not None:
            assert operation["requestBody"]["content"]
        parameters = [each for each in operation["parameters"] if each.get("in") == "query"]
        assert bool(parameters) == (route.query is not None)


def test_only_names_are_put_without_a_body() -> None:
    without_body = [
        route for route in ROUTES if route.method in ("POST", "PUT") and route.body is None
    ]
    assert [(route.path, route.since) for route in without_body] == [
        ("/resource_classes/{name}", (1, 7)),
        ("/traits/{name}", (1, 6)),
    ]


def test_extensions_are_marked() -> None:
    marked = {
        path: operation["x-openstack"]["extension"]
        for path, methods in DOCUMENT["paths"].items()
        for operation in methods.values()
        if "extension" in operation.get("x-openstack", {})
    }
    assert marked == {
        "/allocation_candidates": "post_candidates",
        "/allocation_candidates/explain": "explain",
        "/capacity": "capacity",
        "/placements": "placements",
        "/events": "events",
        "/allocations": "list_allocations",
        "/summary": "summary",
        "/holds": "holds",
        "/holds/{hold_id}": "holds",
    }


def test_the_schemas_of_a_body_cover_consecutive_versions() -> None:
    content = DOCUMENT["paths"]["/allocations/{consumer_uuid}"]["put"]["requestBody"]["content"]
    forms = content["application/json"]["schema"]["anyOf"]
    assert [tuple(form["x-openstack"].values()) for form in forms] == [
        ("1.38", "1.39"),
        ("1.34", "1.37"),
        ("1.28", "1.33"),
        ("1.12", "1.27"),
        ("1.8", "1.11"),
        ("1.0", "1.7"),
    ]


def test_a_body_that_later_versions_do_not_send_is_optional() -> None:
    body = DOCUMENT["paths"]["/resource_classes/{name}"]["put"]["requestBody"]
    assert body["required"] is False
    form = body["content"]["application/json"]["schema"]
    assert form["x-openstack"] == {"min-ver": "1.2", "max-ver": "1.6"}


def test_parameters_have_a_minimum_version() -> None:
    parameters = {
        parameter["name"]: parameter
        for parameter in DOCUMENT["paths"]["/allocation_candidates"]["get"]["parameters"]
        if "name" in parameter
    }
    assert parameters["limit"]["x-openstack"]["min-ver"] == "1.16"
    assert parameters["resources"]["x-openstack"]["suffix"] == "[a-zA-Z0-9_-]{1,64}"
    # It was required before there were groups without resources.
    assert parameters["resources"]["required"] is False


def test_the_document_has_the_url_of_the_api() -> None:
    assert DOCUMENT["servers"] == [{"url": "/placement"}]
    assert openapi.document(())["servers"] == [{"url": "/"}]
