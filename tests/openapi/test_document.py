"""The OpenAPI document is valid, and describes every route, every answer and every field."""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from roost.api import openapi
from roost.api.openapi import schema_words, words
from roost.api.probes import OPEN_ROUTES
from roost.api.routes import ROUTES, Route
from roost.api.versions import VERSION_MAX, VERSIONS, Version

DOCUMENT = openapi.document(OPEN_ROUTES, "/placement")
NEWEST = [route for route in ROUTES if route.until == VERSION_MAX]
OPERATIONS = [
    pytest.param(path, method, operation, id=f"{method.upper()} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
# All others that create something answer without a body.
CREATED_WITH_BODY = ("/resource_providers/{uuid}/inventories", "post", "201")


@functools.cache
def of_version(name: str) -> dict[str, Any]:
    return openapi.document(OPEN_ROUTES, "", Version(*map(int, name.split("."))))


def parameters_of(document: Mapping[str, Any], path: str) -> dict[str, dict[str, Any]]:
    """The parameters of a read, by name."""
    parameters = document["paths"][path]["get"]["parameters"]
    return {each["name"]: each for each in parameters if "name" in each}


def resolve(node: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in node.get("$ref", "").split("/")[1:]:
        node = (DOCUMENT if name == "components" else node)[name]
    return node


def contents(operation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The bodies of an operation: of the request, and of its own answers."""
    for part in (operation.get("requestBody", {}), *operation["responses"].values()):
        yield from part.get("content", {}).values()


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


@pytest.mark.parametrize("route", NEWEST, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_described(route: Route) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    names = {parameter["name"] for parameter in operation["parameters"] if "name" in parameter}
    assert {name.strip("{}") for name in route.path.split("/") if "{" in name} <= names
    assert operation.get("security") == ([] if route.rule is None else None)


def test_nothing_else_is_described() -> None:
    routes = {(route.path, route.method.lower()) for route in NEWEST}
    open_routes = {(route.path, "get") for route in OPEN_ROUTES}
    paths = DOCUMENT["paths"].items()
    assert {(path, method) for path, methods in paths for method in methods} == routes | open_routes


def test_every_body_and_query_is_described() -> None:
    for route in NEWEST:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        assert ("requestBody" in operation) == (route.body is not None)
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


def test_a_body_has_the_form_of_the_version() -> None:
    def fields(version: str) -> set[str]:
        schemas = of_version(version)["components"]["schemas"]
        name = "ConsumerClaim" if version == "1.12" else "ConsumerUpdate"
        return set(schemas[name]["properties"])

    assert fields("1.0") == {"allocations"}
    assert fields("1.12") == {"allocations", "project_id", "user_id"}
    assert fields("1.38") == fields("1.12") | {"consumer_generation", "consumer_type", "mappings"}


def test_an_operation_has_the_form_of_the_version() -> None:
    path = "/resource_classes/{name}"
    assert path not in of_version("1.1")["paths"]
    assert "requestBody" in of_version("1.6")["paths"][path]["put"]
    assert "requestBody" not in of_version("1.7")["paths"][path]["put"]
    # The operation itself is as old as its first form.
    for version in ("1.6", "1.7"):
        versions = of_version(version)["paths"][path]["put"]["x-openstack"]
        assert (versions["min-ver"], versions["max-ver"]) == ("1.2", "1.39")


def test_an_answer_has_the_form_of_the_version() -> None:
    path = "/resource_providers"
    assert "content" not in of_version("1.19")["paths"][path]["post"]["responses"]["201"]
    assert set(of_version("1.20")["paths"][path]["post"]["responses"]) & {"200", "201"} == {"200"}
    codes = [
        "code" in of_version(version)["components"]["schemas"]["Error"]["properties"]
        for version in ("1.22", "1.23")
    ]
    assert codes == [False, True]


def test_every_version_has_a_valid_document() -> None:
    # Each form that anything has ever had is in one of these.
    for version in ("1.0", "1.6", "1.11", "1.18", "1.24", "1.33", "1.38"):
        OpenAPIV31SpecValidator(of_version(version)).validate()
    assert [of_version(version)["info"]["version"] for version in VERSIONS] == list(VERSIONS)


def test_parameters_have_a_minimum_version() -> None:
    parameters = parameters_of(DOCUMENT, "/allocation_candidates")
    assert parameters["limit"]["x-openstack"]["min-ver"] == "1.16"
    assert parameters["groups"]["x-openstack"]["min-ver"] == "1.25"
    # It was required before there were groups without resources.
    assert parameters["resources"]["required"] is False
    assert parameters_of(of_version("1.24"), "/allocation_candidates")["resources"]["required"]


def test_groups_with_a_suffix_are_one_parameter() -> None:
    """Clients send each field of an object as a parameter of its own."""
    groups = parameters_of(DOCUMENT, "/allocation_candidates")["groups"]
    assert (groups["style"], groups["explode"]) == ("form", True)
    pattern = DOCUMENT["components"]["schemas"]["GroupParameters"]["propertyNames"]["pattern"]
    for name in ("resources_GPU", "required1", "member_of-a", "in_tree_X", "can_split_A"):
        assert re.match(pattern, name)
    for name in ("resources", "limit", "group_policy", "resources_" + 64 * "A"):
        assert re.match(pattern, name) is None
    # A suffix was a number at first, and before that there was none.
    pattern = of_version("1.32")["components"]["schemas"]["GroupParameters"]["propertyNames"]
    assert re.match(pattern["pattern"], "resources_GPU") is None
    assert "groups" not in parameters_of(of_version("1.24"), "/allocation_candidates")


def test_what_may_be_repeated_is_a_list() -> None:
    def kind(version: str, name: str) -> str:
        parameters = parameters_of(of_version(version), "/allocation_candidates")
        return str(parameters[name]["schema"]["type"])

    assert kind("1.39", "required") == kind("1.24", "member_of") == "array"
    assert kind("1.38", "required") == kind("1.23", "member_of") == "string"


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_is_explained(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"].endswith((".", "?"))
    assert operation["description"].endswith(".")
    for parameter in operation.get("parameters", ()):
        assert "$ref" in parameter or parameter["description"]
    shown = [*operation.get("parameters", ()), *contents(operation)]
    assert any(each.get("examples") for each in shown)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_answer_has_a_schema(path: str, method: str, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        described = resolve(response)
        assert described["description"]
        assert described["headers"]
        has_body = status not in ("201", "204") or (path, method, status) == CREATED_WITH_BODY
        assert ("content" in described) is has_body
        for content in described.get("content", {}).values():
            assert content["schema"]


def test_every_schema_and_every_field_is_explained() -> None:
    for version in VERSIONS:
        for name, schema in of_version(version)["components"]["schemas"].items():
            assert schema["description"], name
            for field, kind in schema.get("properties", {}).items():
                assert kind["description"], (name, field)


def test_no_word_is_left_over() -> None:
    """What is explained exists, in one of the versions."""
    schemas: dict[str, dict[str, Any]] = {}
    parameters: set[str] = set()
    for version in VERSIONS:
        document = of_version(version)
        for name, schema in document["components"]["schemas"].items():
            schemas.setdefault(name, {}).update(schema.get("properties", {}))
        for path, methods in document["paths"].items():
            for operation in methods.values():
                names = {each.get("name") for each in operation.get("parameters", ())}
                parameters |= {*names, *(f"{path} {name}" for name in names)}
    fields = {field for properties in schemas.values() for field in properties}
    fields |= {f"{name}.{field}" for name, properties in schemas.items() for field in properties}
    assert schema_words.SCHEMAS.keys() == schemas.keys()
    assert schema_words.FIELDS.keys() - fields == set()
    assert words.PARAMETERS.keys() - parameters == set()


def test_every_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    for name in DOCUMENT["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, name


def test_answers_have_no_other_fields() -> None:
    """Only maps have any number of fields, and the document itself, which others describe."""
    open_schemas = {
        name
        for name, schema in DOCUMENT["components"]["schemas"].items()
        if schema.get("properties") and schema.get("additionalProperties") is not False
    }
    assert open_schemas == {"ConsumerTypeUsage", "OpenApiDocument"}


def test_extensions_exist_in_the_newest_version_only() -> None:
    earlier = of_version("1.38")["paths"]
    assert "/placements" not in earlier
    assert "post" not in earlier["/allocation_candidates"]
    assert "include" not in parameters_of(of_version("1.38"), "/resource_providers")


def test_the_document_has_the_url_of_the_api() -> None:
    assert DOCUMENT["servers"] == [{"url": "/placement"}]
    assert openapi.document(())["servers"] == [{"url": "/"}]
