"""GET /summary: what the cloud has in all, by aggregate, and by trait of the root."""

from collections.abc import Iterator, Mapping

import msgspec

from roost.api.http import pieces
from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import pages, query_string
from roost.errors import UnknownResourceClass
from roost.model import GroupSummary, Summary
from roost.operations.usages import read_summary
from roost.service.service import Roost

WORDINGS: ErrorWordings = {
    UnknownResourceClass: (
        "Invalid resource class in resource_class parameter: {error.with_suggestion}"
    )
}

# What `by` can name, in the order in which answers have it.
DIVISIONS = ("aggregates", "traits")


def get(roost: Roost, request: Request) -> Reply:
    parameters = query_string.parse(request.query_string, request.query_schema)
    by = pages.parse_choice(parameters, "by", DIVISIONS)
    classes = query_string.once(parameters, "resource_class")
    if classes is not None:
        query_string.refuse_many("resource_class", [classes])
    with reword_errors(WORDINGS):
        found = read_summary(
            roost, by=by, classes=None if classes is None else frozenset(classes.split(","))
        )
    groups = {name: getattr(found, name) for name in DIVISIONS if name in by}
    if max(map(len, groups.values()), default=0) > pieces.ENTRIES_MAX:
        return Reply(pieces=_pieces(found, groups), shows_state=True)
    return Reply(body={**_whole(found), **groups}, shows_state=True)


def _whole(found: Summary) -> dict[str, object]:
    return {"providers": found.providers, "trees": found.trees, "resources": found.resources}


def _pieces(found: Summary, groups: Mapping[str, Mapping[str, GroupSummary]]) -> Iterator[bytes]:
    # Without the brace at the end.
    yield msgspec.json.encode(_whole(found))[:-1]
    for name, entries in groups.items():
        yield from pieces.encoded_object(f',"{name}":'.encode(), entries, b"")
    yield b"}"
