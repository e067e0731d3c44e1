"""What /allocation_candidates/explain is asked: what a search is asked, and a tree."""

from roost.api.schemas import Schema, candidates

_TREE = {"type": "string", "format": "uuid"}

QUERY: Schema = {
    **candidates.EXTENDED,
    "properties": {
        **candidates.EXTENDED["properties"],
        "tree": _TREE,
    },
}

POST: Schema = {
    **candidates.POST,
    "properties": {**candidates.POST["properties"], "tree": _TREE},
}
