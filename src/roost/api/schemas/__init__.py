"""JSON schemas of bodies and query strings.

Each resource has a module, however small, with the name of its handlers. Refusals quote schemas, so
they are written out as clients of Placement know them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from roost.api.versions import Version

Schema = Mapping[str, Any]


class ExtensionSchema(dict[str, Any]):
    """The schema of a request beyond Placement's API.

    A refusal is one sentence. It does not quote the schema, since no client knows its words.
    """


# The schema of one body or query string in each version. Versions that share a schema share the
# object: its identity tells where one form ends and the next begins.
SchemaByVersion = Callable[[Version], Schema]


def in_all_versions(schema: Schema) -> SchemaByVersion:
    return lambda _: schema


def since_version(schemas: Mapping[tuple[int, int], Schema]) -> SchemaByVersion:
    """Each schema from the version that brought it until the next one."""

    def choose(version: Version) -> Schema:
        return schemas[max(since for since in schemas if since <= version)]

    return choose
