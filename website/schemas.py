"""JSON schemas as tables, a row for each field."""

from collections.abc import Iterator, Mapping
from typing import Any

from website.markdown import span

Schema = Mapping[str, Any]

# What stands for the names of an object whose names follow a pattern.
_NAMES = {
    "a-zA-Z0-9_-": "{suffix}",
    "0-9a-f": "{uuid}",
    "0-9A-F": "{uuid}",
    "A-Z0-9_": "{NAME}",
}
_DEPTH_MAX = 6


class Resolver:
    """Follows `$ref` inside one OpenAPI document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def resolve(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in value:
            found: Any = self._document
            for key in value["$ref"].removeprefix("#/").split("/"):
                found = found[key]
            value = {**found, **{key: each for key, each in value.items() if key != "$ref"}}
        return value

    def resolve_all(self, value: Any) -> Any:
        """The value without any reference in it."""
        if isinstance(value, Mapping):
            return {key: self.resolve_all(each) for key, each in self.resolve(value).items()}
        return [self.resolve_all(each) for each in value] if isinstance(value, list) else value


def rows(schema: Schema, resolver: Resolver) -> Iterator[list[str]]:
    """Name, type, whether it must be there, and meaning of each field."""
    yield from _rows(schema, resolver, "", 0)


def _rows(schema: Schema, resolver: Resolver, prefix: str, depth: int) -> Iterator[list[str]]:
    schema = resolver.resolve(schema)
    required = set(schema.get("required", ()))
    named = dict(schema.get("properties", {}))
    for pattern, each in schema.get("patternProperties", {}).items():
        named[_placeholder(pattern)] = each
    if isinstance(schema.get("additionalProperties"), Mapping):
        names = resolver.resolve(schema.get("propertyNames", {}))
        named[_placeholder(names.get("pattern", ""))] = schema["additionalProperties"]
    for name, each in named.items():
        kind = resolver.resolve(each)
        path = f"{prefix}{name or '{}'}"
        meaning = str(kind.get("description", ""))
        yield [span(path), kind_of(kind, resolver), "yes" if name in required else "", meaning]
        if depth < _DEPTH_MAX:
            yield from _rows(kind, resolver, f"{path}.", depth + 1)
    if "items" in schema and depth < _DEPTH_MAX:
        yield from _rows(schema["items"], resolver, f"{prefix.removesuffix('.')}[].", depth + 1)


def _placeholder(pattern: str) -> str:
    return next((name for part, name in _NAMES.items() if part in pattern), "{name}")


def kind_of(schema: Schema, resolver: Resolver) -> str:
    """The type of a value in a few words, with its bounds."""
    schema = resolver.resolve(schema)
    if "enum" in schema:
        return "one of " + ", ".join(span(str(each)) for each in schema["enum"])
    if "const" in schema:
        return span(str(schema["const"]))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            kinds = dict.fromkeys(kind_of(each, resolver) for each in schema[word])
            return " or ".join(kinds)
    kinds = schema.get("type", "any")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if "array" in words and "items" in schema:
        words += f" of {kind_of(schema['items'], resolver)}"
    return words + _bounds(schema)


def _bounds(schema: Schema) -> str:
    found = [
        f"{word} {schema[key]:,}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
        )
        if key in schema
    ]
    if "maxLength" in schema:
        found.append(f"up to {schema['maxLength']:,} characters")
    if "format" in schema:
        found.append(schema["format"])
    return f", {', '.join(found)}" if found else ""
