"""Compares answers of a service with what the OpenAPI document of their version says.

Tests that send many requests hand every answer to `check`, or give an httpx client `HOOKS`.
"""

import functools
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx
import jsonschema_rs

from roost.api import openapi
from roost.api.http.messages import EVENTS, JSON
from roost.api.probes import OPEN_ROUTES
from roost.api.versions import VERSION_MAX, Version

VERSION_HEADER = "openstack-api-version"
REQUEST_ID_HEADER = "x-openstack-request-id"
# Present if and only if the document says so.
TOLD_HEADERS = ("location", "last-modified", "cache-control", "retry-after")
# Those of a stream are others.
STATE_HEADERS = ("last-modified", "cache-control")
# Pages for browsers are no part of the document.
PAGES = re.compile(r"/(console|docs)(/|\Z)")

# How often each operation was answered with each status, and compared.
compared: Counter[tuple[str, str, str]] = Counter()


class WrongAnswer(AssertionError):
    """An answer is not as the document says."""


class Answer(NamedTuple):
    """One answer, and the request that it is for."""

    method: str
    path: str  # without the query string, below the root of the API, not quoted
    status: int
    headers: Mapping[str, str]  # names in lower case
    content: bytes


def check(answer: Answer) -> None:
    """Raise `WrongAnswer` unless the document of its version describes the answer."""
    if REQUEST_ID_HEADER not in answer.headers:
        # The HTTP server refused what is not HTTP.
        return
    if answer.method == "OPTIONS" and answer.status == 200:
        # The middleware for CORS answered.
        return
    if PAGES.match(answer.path):
        return
    version = _version(answer)
    place, responses = _responses(version, answer)
    found = responses.get(str(answer.status)) or responses.get(f"{answer.status // 100}XX")
    if found is None:
        raise WrongAnswer(f"{_told(answer)}: this status is not described")
    response = _resolve(version, found)
    _check_headers(version, answer, response)
    _check_content(version, answer, response)
    compared[(answer.method, place, str(answer.status))] += 1


def check_response(response: httpx.Response) -> None:
    """The same, as a hook of httpx."""
    response.read()
    request = response.request
    headers = {name.lower(): value for name, value in response.headers.items()}
    check(Answer(request.method, request.url.path, response.status_code, headers, response.content))


HOOKS: dict[str, Any] = {"response": [check_response]}


# ---------------------------------------------------------------------------------------------
# The document


@functools.cache
def document(version: Version) -> dict[str, Any]:
    return openapi.document(OPEN_ROUTES, "", version)


def _version(answer: Answer) -> Version:
    """Of the answer; a refusal before the version is known is as in the newest."""
    _, _, name = answer.headers.get(VERSION_HEADER, "").partition(" ")
    return Version(*map(int, name.split("."))) if name else VERSION_MAX


def _responses(version: Version, answer: Answer) -> tuple[str, Mapping[str, Any]]:
    """The path of the operation in the document, and its answers."""
    paths = document(version)["paths"]
    # A path without parameters comes first: /allocation_candidates/explain.
    for path in sorted(paths, key=lambda path: path.count("{")):
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))
        operation = paths[path].get(answer.method.lower())
        if operation is not None and re.fullmatch(pattern, answer.path.rstrip("/") or "/"):
            return path, operation["responses"]
    # No such path, or no such method in this version.
    references = {"401": "unauthorized", "4XX": "refused", "503": "unavailable"}
    return "", {
        status: {"$ref": f"#/components/responses/{name}"} for status, name in references.items()
    }


def _resolve(version: Version, node: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        found: Any = document(version)
        for name in node["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        node = found
    return node


@functools.cache
def validator(version: Version, reference: str) -> jsonschema_rs.Draft202012Validator:
    schema = {"$ref": reference, "components": document(version)["components"]}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)


def check_value(version: Version, schema: Mapping[str, Any], value: Any) -> None:
    """Raise `ValueError` unless a value matches a schema of the document."""
    if schema.keys() == {"$ref"}:
        validator(version, schema["$ref"]).validate(value)
    else:
        whole = {**schema, "components": document(version)["components"]}
        jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(value)


# ---------------------------------------------------------------------------------------------
# Parts of an answer


def _check_content(version: Version, answer: Answer, response: Mapping[str, Any]) -> None:
    content = response.get("content")
    if content is None or answer.method == "HEAD":
        if answer.content:
            raise WrongAnswer(f"{_told(answer)}: there should be no body")
        return
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    if media_type not in content:
        raise WrongAnswer(f"{_told(answer)}: {media_type!r} is not described")
    if media_type != JSON:
        answer.content.decode()
        return
    try:
        check_value(version, content[JSON]["schema"], json.loads(answer.content))
    except ValueError as error:
        raise WrongAnswer(f"{_told(answer)}: {error}") from None


def _check_headers(version: Version, answer: Answer, response: Mapping[str, Any]) -> None:
    is_stream = answer.headers.get("content-type", "").startswith(EVENTS)
    headers = response["headers"]
    for name in TOLD_HEADERS:
        if name in answer.headers and name not in headers:
            raise WrongAnswer(f"{_told(answer)}: the header {name} is not described")
    for name, reference in headers.items():
        if is_stream and name in STATE_HEADERS:
            continue
        if name not in answer.headers:
            raise WrongAnswer(f"{_told(answer)}: the header {name} is missing")
        schema = _resolve(version, reference)["schema"]
        text = answer.headers[name]
        value = int(text) if schema["type"] == "integer" else text
        try:
            jsonschema_rs.Draft202012Validator(schema).validate(value)
        except ValueError as error:
            raise WrongAnswer(f"{_told(answer)}: the header {name}: {error}") from None


def _told(answer: Answer) -> str:
    version = answer.headers.get(VERSION_HEADER, "no version")
    return f"{answer.method} {answer.path} ({version}) was answered with {answer.status}"
