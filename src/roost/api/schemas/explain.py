"""Query string, body and answer of /allocation_candidates/explain."""

from roost.api.schemas import (
    BOOLEAN,
    COUNT,
    INTEGER,
    TEXT,
    UUID,
    ExtensionSchema,
    NamedSchema,
    Schema,
    candidates,
    fields,
    list_of,
)
from roost.api.schemas.pages import TREE
from roost.reasons import RuleKind, Verdict

# A search, and the tree that the explanation is about.
QUERY = ExtensionSchema(
    {
        **candidates.EXTENDED,
        "properties": {**candidates.EXTENDED["properties"], "tree": TREE},
    }
)
POST = ExtensionSchema(
    {**candidates.POST, "properties": {**candidates.POST["properties"], "tree": TREE}},
    "ExplainRequest",
)


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


# Fields that do not apply to the kind of a rule are left out.
_RULE = fields(
    "Rule",
    {
        "kind": NamedSchema("RuleKind", {"type": "string", "enum": list(RuleKind)}),
        "group": TEXT,
        "names": list_of(TEXT),
        "outside": list_of(TEXT),
        "amount": INTEGER,
        "can_split": {"type": "boolean", "const": True},
    },
    optional=("group", "outside", "amount", "can_split"),
)
_LEFT = fields("StageCount", {"in": COUNT, "out": COUNT})
_STAGE = fields("Stage", {"rule": _RULE, "text": TEXT, "trees": _LEFT, "providers": _LEFT})

_AMOUNTS = fields(
    "MissedInventory",
    {
        "asked": INTEGER,
        "free": COUNT,
        "used": COUNT,
        # A ratio may be negative.
        **dict.fromkeys(("capacity", "min_unit", "max_unit", "step_size"), INTEGER),
    },
)
_PROVIDER = fields(
    "ProviderReason",
    {
        "uuid": UUID,
        "name": TEXT,
        "broken": list_of(TEXT),
        "text": TEXT,
        "inventory": _AMOUNTS,
        "gives": COUNT,
    },
    optional=("inventory", "gives"),
)
_TREE = fields(
    "TreeReason",
    {
        "uuid": UUID,
        "name": TEXT,
        "stage": {"type": ["integer", "null"], "minimum": 0},
        "rule": _or_null(_RULE),
        "reason": {"type": ["string", "null"]},
        "text": TEXT,
        "providers": list_of(_PROVIDER),
        "providers_more": COUNT,
    },
)
_RELAXATION = fields(
    "Relaxation",
    {"rule": _RULE, "amount": {"type": ["integer", "null"]}, "text": TEXT},
)
EXPLANATION = fields(
    "Explanation",
    {
        "verdict": NamedSchema("Verdict", {"type": "string", "enum": list(Verdict)}),
        "summary": TEXT,
        "trees": COUNT,
        "providers": COUNT,
        "stages": list_of(_STAGE),
        "tree": _or_null(_TREE),
        "nearest": list_of(_TREE),
        "relaxations": list_of(_RELAXATION),
        "complete": BOOLEAN,
    },
)
