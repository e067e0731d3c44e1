"""JSON schemas of bodies, query strings and answers.

Each resource has a module, however small, with the name of its handlers. Refusals quote the schemas
of requests, so those are written out as clients of Placement know them. Schemas of answers are for
the OpenAPI document alone: no request is slower for them.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from roost.api.versions import Version

Schema = Mapping[str, Any]


class NamedSchema(dict[str, Any]):
    """A schema that the OpenAPI document has under a name, for which clients have a class."""

    def __init__(self, name: str, schema: Schema) -> None:
        super().__init__(schema)
        self.name = name


class ShownSchema(dict[str, Any]):
    """A schema that the OpenAPI document shows in another form.

    It is for what a query string or a refusal needs, and what would give a generated client a worse
    type.
    """

    def __init__(self, schema: Schema, shown: Schema) -> None:
        super().__init__(schema)
        self.shown = shown


class ExtensionSchema(NamedSchema):
    """The schema of a request beyond Placement's API.

    A refusal is one sentence. It does not quote the schema, since no client knows its words.
    """

    def __init__(self, schema: Schema, name: str = "") -> None:
        super().__init__(name, schema)


# The schema of one body, query string or answer in each version. Versions that share a schema share
# the object: its identity tells where one form ends and the next begins.
SchemaByVersion = Callable[[Version], Schema]


def in_all_versions(schema: Schema) -> SchemaByVersion:
    return lambda _: schema


def since_version(schemas: Mapping[tuple[int, int], Schema]) -> SchemaByVersion:
    """Each schema from the version that brought it until the next one."""

    def choose(version: Version) -> Schema:
        return schemas[max(since for since in schemas if since <= version)]

    return choose


# ---------------------------------------------------------------------------------------------
# What answers are made of

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
# Of a provider, which is stored in this form. Aggregates and consumers may be in another one.
UUID: Schema = {"type": "string", "format": "uuid"}
UUID_OR_NULL: Schema = {"anyOf": [UUID, {"type": "null"}]}
# It grows with every write.
GENERATION: Schema = COUNT


def fields(
    name: str, properties: Mapping[str, Schema], *, optional: Collection[str] = ()
) -> NamedSchema:
    """An object of an answer: it has these fields, and no others."""
    return NamedSchema(
        name,
        {
            "type": "object",
            "properties": dict(properties),
            "required": [field for field in properties if field not in optional],
            "additionalProperties": False,
        },
    )


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def map_of(values: Schema, *, keys: str | None = None) -> Schema:
    """An object with any number of values; `keys` is the pattern of their names."""
    named = {} if keys is None else {"propertyNames": {"pattern": keys}}
    return {"type": "object", "additionalProperties": values, **named}
