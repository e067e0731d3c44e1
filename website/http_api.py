"""The pages of the HTTP API: a page for each noun, with a real request and answer of each route."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from roost.api.probes import OPEN_ROUTES
from roost.api.routes import ROUTES, Route
from roost.api.versions import VERSION_MAX, VERSION_MIN
from website.examples import Exchange, record
from website.markdown import code, details, json_code, span, table
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
}
_FOLDER = "reference/routes"
PAGES = (f"{_FOLDER}/index.md", *(f"{_FOLDER}/{name}.md" for name in _NOUNS))
# Lists in answers are cut off behind so many items.
_ITEMS_MAX = 4
# Where the OpenAPI document has what OpenAPI does not know: versions and policy rules.
_X = "x-openstack"


class Operation(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    described: Mapping[str, Any]  # the operation of the OpenAPI document
    route: Route  # the newest

    @property
    def anchor(self) -> str:
        words = re.sub(r"[{}]", "", self.path).replace("/", "-").strip("-")
        return f"{self.method.lower()}-{words}".strip("-")


def pages() -> Iterator[tuple[str, str]]:
    document, exchanges = record()
    operations = _operations(document)
    examples = by_route(exchanges)
    resolver = Resolver(document)
    yield f"{_FOLDER}/index.md", "\n".join(_overview(operations))
    for name, (title, _) in _NOUNS.items():
        lines = [f"# {title}", ""]
        for operation in operations[name]:
            found = examples[operation.method, operation.path]
            lines += _operation(operation, found, resolver)
        yield f"{_FOLDER}/{name}.md", "\n".join(lines)


def _operations(document: Mapping[str, Any]) -> Mapping[str, list[Operation]]:
    """The operations of each page. A tag that no page has is an error."""
    page_of = {tag: name for name, (_, tags) in _NOUNS.items() for tag in tags}
    newest = {(route.method, route.path): route for route in ROUTES}
    found: dict[str, list[Operation]] = defaultdict(list)
    for (method, path), route in newest.items():
        described = document["paths"][path][method.lower()]
        page = page_of[described["operationId"].partition(".")[0]]
        found[page].append(Operation(method, path, described, route))
    return found


def by_route(exchanges: Sequence[Exchange]) -> Mapping[tuple[str, str], list[Exchange]]:
    """The exchanges of each method and path."""
    found: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        found[route_of(exchange.method, exchange.target.partition("?")[0])].append(exchange)
    return found


def route_of(method: str, path: str) -> tuple[str, str]:
    """The method and the path of the route that serves a request."""
    for route in ROUTES:
        pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
        if route.method == method and re.fullmatch(pattern, path):
            return route.method, route.path
    raise LookupError(f"{method} {path} has no route")


# ---------------------------------------------------------------------------------------------
# The overview


def _overview(operations: Mapping[str, Sequence[Operation]]) -> Iterator[str]:
    yield "# Routes"
    yield ""
    yield "Every route of the API. Those with an extension are roost's own: [Beyond the"
    yield "API](../beyond.md) describes them at length. The same table is at `/openapi.json` of"
    yield "every running service, as an OpenAPI document."
    yield ""
    for name, (title, _) in _NOUNS.items():
        yield f"## {title}"
        yield ""
        cells = (
            [
                f"[`{each.method} {each.path}`]({name}.md#{each.anchor})",
                each.described[_X]["min-ver"],
                each.route.summary,
                span(each.route.extension.value) if each.route.extension else "",
            ]
            for each in operations[name]
        )
        yield from table(["route", "since", "", "extension"], cells)
    yield "## Beside the API"
    yield ""
    yield "Without a token and a microversion; see [Monitoring](../../operations/monitoring.md)."
    yield ""
    cells = ([span(f"GET {route.path}"), route.summary] for route in OPEN_ROUTES)
    yield from table(["route", ""], cells)


# ---------------------------------------------------------------------------------------------
# One operation


def _operation(
    operation: Operation, found: Sequence[Exchange], resolver: Resolver
) -> Iterator[str]:
    described, route = operation.described, operation.route
    yield f"## {operation.method} {operation.path} {{#{operation.anchor}}}"
    yield ""
    yield " ".join(filter(None, [route.summary, described.get("description", "")]))
    yield ""
    yield from table(["", ""], _facts(operation))
    yield from _parameters(operation, resolver)
    yield from _body(described, resolver)
    for exchange in found:
        yield from ["**Example**", ""]
        yield from _request(exchange)
        yield from _answer(exchange)
    yield from _answer_schema(described, resolver)


def _facts(operation: Operation) -> Iterator[list[str]]:
    described, route = operation.described, operation.route
    versions = _range(described[_X])
    before = "" if versions == "all" else f"; before, {route.status_before}"
    yield ["Microversions", versions + before]
    if route.rule is None:
        yield ["Policy", "everybody, without a token"]
    else:
        yield ["Policy", f"[`{route.rule.name}`](../policy.md), by default `{route.rule.default}`"]
    if route.extension:
        yield ["Extension", f"`{route.extension}`, see [Beyond the API](../beyond.md)"]
    yield ["Answers", ", ".join(map(span, sorted(described["responses"])))]


def _range(versions: Mapping[str, str]) -> str:
    since, until = versions["min-ver"], versions["max-ver"]
    if (since, until) == (str(VERSION_MIN), str(VERSION_MAX)):
        return "all"
    return since if since == until else f"{since} to {until}"


def _parameters(operation: Operation, resolver: Resolver) -> Iterator[str]:
    found = []
    for reference in operation.described["parameters"]:
        parameter = resolver.resolve(reference)
        if parameter["in"] == "header":
            continue
        versions = parameter.get(_X, {})
        found.append(
            [
                span(parameter["name"]),
                "in the path" if parameter["in"] == "path" else versions.get("min-ver", ""),
                kind_of(parameter["schema"], resolver),
                "yes" if parameter.get("required") else "",
                parameter.get("description", ""),
            ]
        )
    columns = ["parameter", "since", "value", "required", "meaning"]
    yield from table(*_without_empty(columns, found))


def _without_empty(columns: list[str], cells: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """A table without those of its columns that say nothing."""
    kept = [place for place in range(len(columns)) if any(row[place] for row in cells)]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in cells]


def _body(described: Mapping[str, Any], resolver: Resolver) -> Iterator[str]:
    if "requestBody" not in described:
        return
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    columns = ["body", "value", "required", "meaning"]
    yield from table(*_without_empty(columns, list(rows(schema, resolver))))
    yield from details("JSON schema of the body", json_code(resolver.resolve_all(schema)))


def _answer_schema(described: Mapping[str, Any], resolver: Resolver) -> Iterator[str]:
    for status, response in described["responses"].items():
        content = resolver.resolve(response).get("content", {}).get("application/json", {})
        if not status.startswith("2") or "schema" not in content:
            continue
        columns = ["answer", "value", "always", "meaning"]
        lines = list(table(*_without_empty(columns, list(rows(content["schema"], resolver)))))
        if lines:
            yield from details(f"Fields of the answer {status}", lines)


# ---------------------------------------------------------------------------------------------
# Examples


def _request(exchange: Exchange) -> list[str]:
    lines = [f"{exchange.method} {exchange.target} HTTP/1.1"]
    lines.append(f"OpenStack-API-Version: placement {VERSION_MAX}")
    if exchange.body is not None:
        lines += ["Content-Type: application/json", "", _pretty(exchange.body)]
    return code("\n".join(lines), "http")


def _answer(exchange: Exchange) -> list[str]:
    lines = [f"HTTP/1.1 {exchange.status} {exchange.reason}"]
    if exchange.answer is not None:
        lines += ["Content-Type: application/json", "", _pretty(_shortened(exchange.answer))]
    return code("\n".join(lines), "http")


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _shortened(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    shown = [_shortened(each) for each in value[:_ITEMS_MAX]]
    more = len(value) - _ITEMS_MAX
    return [*shown, f"... {more} more"] if more > 0 else shown
