"""The pages of the HTTP API: a page for each noun, with requests and answers of a service.

They are made from the OpenAPI document. A test of the document compares its examples with the
answers of a running service.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode

from roost.api import openapi
from roost.api.openapi.examples import Example, of_operation
from roost.api.probes import OPEN_ROUTES
from roost.api.routes import ROUTES
from roost.api.versions import VERSION_MAX, VERSION_MIN
from website.markdown import code, details, json_code, pretty, span, table
from website.schemas import Resolver, kind_of, rows

# What each page is about: its title, and the tags of the OpenAPI document.
_NOUNS = {
    "versions": ("Versions", ("root",)),
    "providers": ("Providers", ("providers",)),
    "inventories": ("Inventories", ("inventories",)),
    "traits": ("Traits", ("traits",)),
    "aggregates": ("Aggregates", ("aggregates",)),
    "resource-classes": ("Resource classes", ("resource_classes",)),
    "candidates": ("Candidates, explanations, capacity", ("candidates", "explain", "capacity")),
    "placements": ("Placements", ("placements",)),
    "allocations": ("Allocations", ("allocations",)),
    "usages": ("Usages and summary", ("usages", "summary")),
    "reshaping": ("Reshapes and holds", ("reshaper", "holds")),
    "events": ("Events", ("events",)),
    "operating": ("Beside the API", ("operating",)),
}
_FOLDER = "reference/routes"
PAGES = (f"{_FOLDER}/index.md", *(f"{_FOLDER}/{name}.md" for name in _NOUNS))

_DEFAULTS = {route.rule.name: route.rule.default for route in ROUTES if route.rule}
_STATUSES_BEFORE = {f"{route.method} {route.path}": route.status_before for route in ROUTES}


class Operation(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    described: Mapping[str, Any]  # in the OpenAPI document

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def anchor(self) -> str:
        words = re.sub(r"[{}.]", "", self.path).replace("/", "-").strip("-")
        return f"{self.method.lower()}-{words}".strip("-")

    @property
    def facts(self) -> Mapping[str, str]:
        """Versions, policy rule and extension; paths beside the API have none of them."""
        found: Mapping[str, str] = self.described.get(openapi.X_OPENSTACK, {})
        return found


def pages() -> Iterator[tuple[str, str]]:
    document = openapi.document(OPEN_ROUTES)
    operations = _operations(document)
    resolver = Resolver(document)
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    yield f"{_FOLDER}/index.md", "\n".join(_overview(operations))
    for name, (title, names) in _NOUNS.items():
        lines = [f"# {title}", "", " ".join(tags[tag] for tag in names), ""]
        for operation in operations[name]:
            lines += _operation(operation, resolver)
        yield f"{_FOLDER}/{name}.md", "\n".join(lines)


def _operations(document: Mapping[str, Any]) -> Mapping[str, list[Operation]]:
    """The operations of each page. A tag that no page has is an error."""
    page_of = {tag: name for name, (_, tags) in _NOUNS.items() for tag in tags}
    found: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            (tag,) = described["tags"]
            found[page_of[tag]].append(Operation(method.upper(), path, described))
    return found


# ---------------------------------------------------------------------------------------------
# The overview


def _overview(operations: Mapping[str, Sequence[Operation]]) -> Iterator[str]:
    yield "# Routes"
    yield ""
    yield "Every route of the API in its newest version. Those with an extension are roost's own:"
    yield "[Beyond the API](../beyond.md) describes them at length. Every running service has the"
    yield "same as an OpenAPI document, `/openapi.json`, and as a page, `/docs`;"
    yield "`/openapi.json?version=1.20` is that of an earlier version."
    yield ""
    for name, (title, _) in _NOUNS.items():
        yield f"## {title}"
        yield ""
        cells = (
            [
                f"[`{each.name}`]({name}.md#{each.anchor})",
                each.facts.get("min-ver", ""),
                each.described["summary"],
                span(each.facts.get("extension", "")),
            ]
            for each in operations[name]
        )
        yield from table(*_without_empty(["route", "since", "summary", "extension"], list(cells)))


def _without_empty(columns: list[str], cells: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """A table without those of its columns that say nothing."""
    kept = [place for place in range(len(columns)) if any(row[place] for row in cells)]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in cells]


# ---------------------------------------------------------------------------------------------
# One operation


def _operation(operation: Operation, resolver: Resolver) -> Iterator[str]:
    described = operation.described
    yield f"## {operation.name} {{#{operation.anchor}}}"
    yield ""
    yield " ".join(filter(None, [described["summary"], described.get("description", "")]))
    yield ""
    yield from table(["", ""], _facts(operation))
    yield from _parameters(operation, resolver)
    yield from _body(described, resolver)
    for example in of_operation(operation.method, operation.path):
        yield from _example(operation, example)
    yield from _answers(described, resolver)


def _facts(operation: Operation) -> Iterator[list[str]]:
    facts = operation.facts
    if facts:
        yield ["Microversions", _versions(operation)]
    if "policy" in facts:
        rule = facts["policy"]
        yield ["Policy", f"[`{rule}`](../policy.md), by default `{_DEFAULTS[rule]}`"]
    else:
        yield ["Policy", "everybody, without a token"]
    if "extension" in facts:
        yield ["Extension", f"`{facts['extension']}`, see [Beyond the API](../beyond.md)"]
    yield ["Answers", ", ".join(map(span, sorted(operation.described["responses"])))]


def _versions(operation: Operation) -> str:
    since, until = operation.facts["min-ver"], operation.facts["max-ver"]
    if (since, until) == (str(VERSION_MIN), str(VERSION_MAX)):
        return "all"
    versions = since if since == until else f"{since} to {until}"
    return f"{versions}; before, {_STATUSES_BEFORE[operation.name]}"


def _parameters(operation: Operation, resolver: Resolver) -> Iterator[str]:
    found = []
    for reference in operation.described.get("parameters", ()):
        parameter = resolver.resolve(reference)
        if parameter["in"] == "header":
            continue
        in_path = parameter["in"] == "path"
        since = parameter.get(openapi.X_OPENSTACK, {}).get("min-ver", "")
        found.append(
            [
                span(parameter["name"]),
                "in the path" if in_path else since,
                kind_of(parameter["schema"], resolver),
                "yes" if parameter.get("required") else "",
                parameter.get("description", ""),
            ]
        )
    columns = ["parameter", "since", "value", "required", "meaning"]
    yield from table(*_without_empty(columns, found))


def _body(described: Mapping[str, Any], resolver: Resolver) -> Iterator[str]:
    if "requestBody" in described:
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        columns = ["field of the body", "value", "required", "meaning"]
        yield from table(*_without_empty(columns, list(rows(schema, resolver))))
        yield from details("JSON schema of the body", json_code(resolver.resolve_all(schema)))


def _answers(described: Mapping[str, Any], resolver: Resolver) -> Iterator[str]:
    for status, response in described["responses"].items():
        content = resolver.resolve(response).get("content", {}).get("application/json", {})
        if status.startswith("2") and "schema" in content:
            columns = ["field of the answer", "value", "always", "meaning"]
            found = list(rows(content["schema"], resolver))
            yield from details(
                f"Fields of the answer {status}", table(*_without_empty(columns, found))
            )


# ---------------------------------------------------------------------------------------------
# Examples


def _example(operation: Operation, example: Example) -> Iterator[str]:
    yield f"**Example.** {example.summary}"
    yield ""
    query = f"?{urlencode(example.query, doseq=True, safe=':,!_')}" if example.query else ""
    lines = [f"{operation.method} {example.target}{query} HTTP/1.1"]
    if operation.facts:
        lines += ["X-Auth-Token: ...", f"OpenStack-API-Version: placement {VERSION_MAX}"]
    yield from _message(lines, example.body)
    status = HTTPStatus(example.status)
    yield from _message([f"HTTP/1.1 {status.value} {status.phrase}"], example.answer)


def _message(lines: list[str], body: Any) -> list[str]:
    if isinstance(body, str):
        lines += ["Content-Type: text/plain", "", body]
    elif body is not None:
        lines += ["Content-Type: application/json", "", pretty(body)]
    return code("\n".join(lines), "http")
