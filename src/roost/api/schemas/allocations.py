"""Bodies and answers of allocations: of one consumer, of several, in a reshape, and the list."""

from typing import Any

from roost.api.schemas import (
    GENERATION,
    TEXT,
    ExtensionSchema,
    NamedSchema,
    Schema,
    fields,
    list_of,
    map_of,
    since_version,
)
from roost.api.schemas.bounds import (
    CLASSES_MAX,
    CONSUMERS_MAX,
    GROUPS_MAX,
    PROVIDERS_MAX,
    PROVIDERS_PER_CONSUMER_MAX,
)
from roost.api.schemas.inventories import AMOUNTS, CLASS_PATTERN, PUT_ALL
from roost.api.schemas.pages import AFTER, LIMIT, NEXT, TREE

UUID_PATTERN = "^[0-9a-fA-F-]{36}$"

_RESOURCES = NamedSchema(
    "Resources",
    {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {CLASS_PATTERN: {"type": "integer", "minimum": 1}},
        "additionalProperties": False,
        "maxProperties": CLASSES_MAX,
    },
)

IDENTIFIER = {"type": "string", "minLength": 1, "maxLength": 255}

# Before 1.12: a list with one entry for each provider.
_LIST: Schema = {
    "type": "object",
    "properties": {
        "allocations": {
            "type": "array",
            "minItems": 1,
            "maxItems": PROVIDERS_PER_CONSUMER_MAX,
            "items": {
                "type": "object",
                "properties": {
                    "resource_provider": {
                        "type": "object",
                        "properties": {"uuid": {"type": "string", "format": "uuid"}},
                        "additionalProperties": False,
                        "required": ["uuid"],
                    },
                    "resources": _RESOURCES,
                },
                "required": ["resource_provider", "resources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["allocations"],
    "additionalProperties": False,
}

_LIST_WITH_OWNER: Schema = {
    **_LIST,
    "properties": {**_LIST["properties"], "project_id": IDENTIFIER, "user_id": IDENTIFIER},
    "required": ["allocations", "project_id", "user_id"],
}

_BY_PROVIDER = {
    UUID_PATTERN: NamedSchema(
        "AllocationInput",
        {
            "type": "object",
            # GET shows the generation. Clients may send it back; it is ignored.
            "properties": {"generation": {"type": "integer"}, "resources": _RESOURCES},
            "required": ["resources"],
            "additionalProperties": False,
        },
    )
}

_CONSUMER_GENERATION = {"type": ["integer", "null"], "additionalProperties": False}

# Candidates have mappings. Clients may send them back; they are ignored.
_MAPPINGS = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        "[a-zA-Z0-9_-]{1,64}": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "uuid"},
            "maxItems": PROVIDERS_PER_CONSUMER_MAX,
        }
    },
    "maxProperties": GROUPS_MAX,
}

TYPE_PATTERN = "^[A-Z0-9_]+$"
TYPE = {"type": "string", "pattern": TYPE_PATTERN, "minLength": 1, "maxLength": 255}


def _consumer(version: tuple[int, int], *, may_be_empty: bool) -> NamedSchema:
    """The allocations of one consumer, in the form of 1.12 and later."""
    properties: dict[str, Any] = {
        "allocations": {
            "type": "object",
            "minProperties": 0 if may_be_empty else 1,
            "patternProperties": _BY_PROVIDER,
            "additionalProperties": False,
            "maxProperties": PROVIDERS_PER_CONSUMER_MAX,
        },
        "project_id": IDENTIFIER,
        "user_id": IDENTIFIER,
    }
    required = ["allocations", "project_id", "user_id"]
    if version >= (1, 28):
        properties["consumer_generation"] = _CONSUMER_GENERATION
        required.append("consumer_generation")
    if version >= (1, 34):
        properties["mappings"] = _MAPPINGS
    if version >= (1, 38):
        properties["consumer_type"] = TYPE
        required.append("consumer_type")
    return NamedSchema(
        "ConsumerUpdate" if may_be_empty else "ConsumerClaim",
        {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            "required": required,
        },
    )


def _consumers(version: tuple[int, int], *, minimum: int) -> Schema:
    return {
        "type": "object",
        "minProperties": minimum,
        "additionalProperties": False,
        "patternProperties": {UUID_PATTERN: _consumer(version, may_be_empty=True)},
        "maxProperties": CONSUMERS_MAX,
    }


def _reshape(version: tuple[int, int]) -> NamedSchema:
    return NamedSchema(
        "Reshape",
        {
            "type": "object",
            "properties": {
                "inventories": {
                    "type": "object",
                    "patternProperties": {UUID_PATTERN: PUT_ALL},
                    "minProperties": 1,
                    "additionalProperties": False,
                    "maxProperties": PROVIDERS_MAX,
                },
                "allocations": _consumers(version, minimum=0),
            },
            "required": ["inventories", "allocations"],
            "additionalProperties": False,
        },
    )


put = since_version(
    {
        (1, 0): NamedSchema("ConsumerUpdate", _LIST),
        (1, 8): NamedSchema("ConsumerUpdate", _LIST_WITH_OWNER),
        (1, 12): _consumer((1, 12), may_be_empty=False),
        (1, 28): _consumer((1, 28), may_be_empty=True),
        (1, 34): _consumer((1, 34), may_be_empty=True),
        (1, 38): _consumer((1, 38), may_be_empty=True),
    }
)
post = since_version(
    {
        since: NamedSchema("ConsumersUpdate", _consumers(since, minimum=1))
        for since in ((1, 13), (1, 28), (1, 34), (1, 38))
    }
)
reshape = since_version({since: _reshape(since) for since in ((1, 30), (1, 34), (1, 38))})

TYPE_OR_UNKNOWN_PATTERN = "^[A-Z0-9_]+$|^unknown$"

# The query string of the list.
_LIST_QUERY: Schema = {
    "type": "object",
    "properties": {
        # A UUID, or `in:` and several with commas; the parser looks at each.
        "resource_provider": {"type": "string"},
        "tree": TREE,
        "resource_class": {"type": "string", "pattern": CLASS_PATTERN, "maxLength": 255},
        "project_id": IDENTIFIER,
        "user_id": IDENTIFIER,
        "consumer_type": {"type": "string", "pattern": TYPE_OR_UNKNOWN_PATTERN, "maxLength": 255},
        "changed_before": {"type": "string", "minLength": 1, "maxLength": 64},
        "limit": LIMIT,
        "after": AFTER,
    },
    "additionalProperties": False,
}

LIST = ExtensionSchema(_LIST_QUERY)

# ---------------------------------------------------------------------------------------------
# Answers

# Provider -> what the consumer holds of it. Consumers of old databases may hold nothing of a class.
_HELD = NamedSchema(
    "Allocations",
    map_of(fields("Allocation", {"resources": AMOUNTS, "generation": GENERATION})),
)
_TYPE_OR_UNKNOWN = {"type": "string", "pattern": TYPE_OR_UNKNOWN_PATTERN}

# What a consumer shows beside its allocations, by the version that brought it.
_OF_CONSUMER: tuple[tuple[tuple[int, int], str, Schema], ...] = (
    ((1, 12), "project_id", TEXT),
    ((1, 12), "user_id", TEXT),
    ((1, 28), "consumer_generation", GENERATION),
    ((1, 38), "consumer_type", _TYPE_OR_UNKNOWN),
)


def _shown(version: tuple[int, int]) -> NamedSchema:
    """A consumer that holds nothing is not known, so it shows nothing else either."""
    besides = {name: kind for since, name, kind in _OF_CONSUMER if since <= version}
    shown = fields("ConsumerAllocations", {"allocations": _HELD, **besides}, optional=besides)
    if not besides:
        return shown
    holds = {"properties": {"allocations": {"minProperties": 1}}}
    return NamedSchema(shown.name, {**shown, "if": holds, "then": {"required": list(besides)}})


answer = since_version({since: _shown(since) for since in ((1, 0), (1, 12), (1, 28), (1, 38))})

_SHARE = {"resources": AMOUNTS}
of_provider = since_version(
    {
        since: fields(
            "ProviderAllocations",
            {
                "allocations": NamedSchema(
                    "ConsumerShares", map_of(fields("ConsumerShare", share))
                ),
                "resource_provider_generation": GENERATION,
            },
        )
        for since, share in (
            ((1, 0), _SHARE),
            ((1, 28), {**_SHARE, "consumer_generation": GENERATION}),
        )
    }
)

_MOMENT = {"anyOf": [{"type": "string", "format": "date-time", "pattern": "Z$"}, {"type": "null"}]}
_CONSUMER = fields(
    "Consumer",
    {
        "uuid": TEXT,
        "allocations": _HELD,
        **{name: kind for _, name, kind in _OF_CONSUMER},
        "created_at": _MOMENT,
        "updated_at": _MOMENT,
    },
)
CONSUMERS = fields("Consumers", {"consumers": list_of(_CONSUMER), "next": NEXT}, optional=("next",))
