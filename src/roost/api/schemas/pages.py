"""What the query strings of lists share: pages, and the tree that a list is about."""

from roost.api.schemas import Schema

LIMIT_PATTERN = "^[1-9][0-9]*$"
# As in /allocation_candidates, where clients know it so.
LIMIT: Schema = {
    "type": ["integer", "string"],
    "pattern": LIMIT_PATTERN,
    "minimum": 1,
    "minLength": 1,
}

# The `next` of an answer, which is not long.
AFTER: Schema = {"type": "string", "minLength": 1, "maxLength": 1024}

# The UUID of any provider of a tree, in any spelling.
TREE: Schema = {"type": "string", "format": "uuid"}
