"""The query string of GET /allocation_candidates/explain: that of a search, and a tree."""

from roost.api.schemas import Schema, candidates

QUERY: Schema = {
    **candidates.EXTENDED,
    "properties": {
        **candidates.EXTENDED["properties"],
        "tree": {"type": "string", "format": "uuid"},
    },
}
