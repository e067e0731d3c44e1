"""What lists share: pages, and the tree that a list is about."""

from roost.api.schemas import Schema, ShownSchema

LIMIT_PATTERN = "^[1-9][0-9]*$"
# As in /allocation_candidates, where clients know it so.
LIMIT: Schema = ShownSchema(
    {
        "type": ["integer", "string"],
        "pattern": LIMIT_PATTERN,
        "minimum": 1,
        "minLength": 1,
    },
    {"type": "integer", "minimum": 1},
)

# The `next` of an answer, which is not long.
AFTER: Schema = {"type": "string", "minLength": 1, "maxLength": 1024}
NEXT: Schema = AFTER

# The UUID of any provider of a tree, in any spelling.
TREE: Schema = {"type": "string", "format": "uuid"}
