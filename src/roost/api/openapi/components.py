"""The schemas of a document, each in the form from which generators make a good class."""

from collections.abc import Mapping
from typing import Any

from roost.api.openapi import schema_words
from roost.api.schemas import NamedSchema, Schema, ShownSchema

_REFERENCE = "#/components/schemas/"


class Components:
    """Writes schemas for a document, and collects those that have a name."""

    def __init__(self) -> None:
        self.schemas: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, Schema] = {}

    def show(self, schema: Schema) -> dict[str, Any]:
        """A schema as the document has it: by reference, if it has a name."""
        if isinstance(schema, ShownSchema):
            return self.show(schema.shown)
        if not isinstance(schema, NamedSchema) or not schema.name:
            return self._write(schema, "")
        name = schema.name
        known = self._sources.setdefault(name, schema)
        assert known == schema, f"two schemas have the name {name}"
        if name not in self.schemas:
            # It keeps its place before those that it refers to.
            self.schemas[name] = {}
            self.schemas[name] = {
                "description": schema_words.SCHEMAS[name],
                **self._write(schema, name),
            }
        return {"$ref": _REFERENCE + name}

    def _write(self, schema: Schema, owner: str) -> dict[str, Any]:
        written = dict(schema)
        if written.get("type") == ["string"]:
            written["type"] = "string"
        if "properties" in written:
            written["properties"] = {
                field: self._write_field(kind, owner, field)
                for field, kind in schema["properties"].items()
            }
        if "patternProperties" in written:
            written |= self._write_patterns(written.pop("patternProperties"), written)
        elif isinstance(written.get("additionalProperties"), Mapping):
            written["additionalProperties"] = self.show(schema["additionalProperties"])
        elif written.get("type") != "object":
            # It says nothing about a number.
            written.pop("additionalProperties", None)
        if "items" in written:
            written["items"] = self.show(schema["items"])
        if "anyOf" in written:
            written["anyOf"] = [self.show(each) for each in schema["anyOf"]]
        return written

    def _write_field(self, kind: Schema, owner: str, field: str) -> dict[str, Any]:
        shown = self.show(kind)
        if "description" in shown:
            return shown
        return {**shown, "description": schema_words.field(owner, field)}

    def _write_patterns(self, patterns: Mapping[str, Schema], around: Schema) -> dict[str, Any]:
        """Fields whose names follow a pattern: generators know them as additional ones only."""
        ((pattern, kind),) = patterns.items()
        shown: dict[str, Any] = {"additionalProperties": self.show(kind)}
        if around.get("additionalProperties") is False:
            shown["propertyNames"] = {"pattern": pattern}
        return shown
