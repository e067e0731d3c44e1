"""GET /allocation_candidates, and POST for what does not fit a URL."""

from typing import Any

import msgspec

from roost.api.http.error_response import HttpError
from roost.api.http.error_table import QUERY_BAD_VALUE
from roost.api.http.error_wording import Wordings, worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies, query_string
from roost.api.parsing.candidates_body import parameters_of
from roost.api.parsing.pages import next_page, with_order
from roost.api.parsing.query_extensions import (
    has_alternatives,
    is_extended,
    parse_isolated,
    parse_subtrees,
    with_splits,
)
from roost.api.parsing.request_groups import parse_groups
from roost.api.schemas import candidates as schema
from roost.api.versions import Version
from roost.errors import UnknownResourceClass
from roost.model import Candidate, ProviderSummary
from roost.operations.candidates import WrittenCandidates, find_candidates
from roost.query import CandidateQuery, TraitRule
from roost.service.service import Roost

WORDINGS: Wordings = {
    UnknownResourceClass: "Invalid resource class in resources parameter: {error}"
}


def get(roost: Roost, request: Request) -> Reply:
    return _answer(roost, parse(request.query_string, request.version), request.version)


def post(roost: Roost, request: Request) -> Reply:
    parameters = parameters_of(bodies.read(request.body, schema.POST))
    query = parse_parameters(parameters, request.version, extended=True)
    return _answer(roost, query, request.version)


def _answer(roost: Roost, query: CandidateQuery, version: Version) -> Reply:
    layout = JsonLayout(query, version)
    with worded(WORDINGS):
        found = find_candidates(roost, query=query, layout=layout)
    return Reply(
        body=render(found, None if found.next is None else next_page(query, found.next)),
        shows_state=True,
    )


def parse(text: str, version: Version) -> CandidateQuery:
    parameters = query_string.split(text)
    return parse_parameters(parameters, version, extended=is_extended(parameters, version))


def parse_parameters(
    parameters: query_string.Parameters, version: Version, *, extended: bool
) -> CandidateQuery:
    # Without extensions the words of a refusal are those that they have always been.
    query_string.check(parameters, schema.EXTENDED if extended else schema.query(version))
    root_traits = _parse_root_traits(parameters, version, extended=extended)
    groups = with_splits(parameters, parse_groups(parameters, version))
    subtrees = parse_subtrees(parameters.get("same_subtree", ()), groups, extended=extended)
    policies = parameters.get("group_policy")
    if policies is None and not extended and sum(group.suffix != "" for group in groups) > 1:
        raise HttpError(
            400,
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.',
        )
    limits = parameters.get("limit")
    query = CandidateQuery(
        groups=groups,
        # Repeated, the first of these two counts.
        isolate=policies is not None and policies[0] == "isolate",
        limit=None if limits is None else _parse_limit(limits[0]),
        same_subtree=subtrees.same,
        elsewhere=subtrees.elsewhere,
        isolated=parse_isolated(parameters, groups),
        root_traits=root_traits,
        root_aggregates=query_string.parse_aggregates(
            parameters.get("root_member_of", ()), version, parameter="root_member_of"
        ),
        nested_aware=version >= (1, 29),
        distinguish_groups=version >= (1, 34),
    )
    return with_order(parameters, query)


def _parse_limit(digits: str) -> int | None:
    # More than can be counted is no limit, and Python refuses to convert very many digits.
    return None if len(digits) > 18 else int(digits)


def _parse_root_traits(
    parameters: query_string.Parameters, version: Version, *, extended: bool
) -> TraitRule:
    values = parameters.get("root_required", ())
    if extended and has_alternatives(values):
        traits = query_string.parse_traits(values, version)
    else:
        query_string.once(parameters, "root_required")
        traits = query_string.parse_traits(values, version, may_repeat=False)
    conflicts = query_string.conflicting_traits(traits)
    if conflicts:
        raise HttpError(
            400,
            "Conflicting required and forbidden traits found in root_required: "
            + ", ".join(conflicts),
            QUERY_BAD_VALUE,
        )
    return traits


def render(found: WrittenCandidates, after: str | None = None) -> bytes:
    # Joined once: an answer can have many megabytes.
    pieces = [b'{"allocation_requests": [', ", ".join(found.candidates).encode()]
    separator = b'], "provider_summaries": {'
    for summaries in found.summaries:
        pieces += (separator, summaries)
        separator = b", "
    if not found.summaries:
        pieces.append(separator)
    pieces.append(b"}}" if after is None else b'}, "next": "' + after.encode() + b'"}')
    return b"".join(pieces)


class JsonLayout:
    """Candidates and summaries as JSON, as a version shows them."""

    def __init__(self, query: CandidateQuery, version: Version) -> None:
        self._version = version
        # Before 1.27 a summary shows the classes that were asked for, and no others.
        self._asked = frozenset(name for group in query.groups for name in group.resources)
        self.key = f"JSON {version}" if version >= (1, 27) else None

    def candidate(self, candidate: Candidate) -> str:
        if self._version < (1, 12):
            request: dict[str, Any] = {
                "allocations": [
                    {"resource_provider": {"uuid": uuid}, "resources": resources}
                    for uuid, resources in candidate.allocations.items()
                ]
            }
        else:
            request = {
                "allocations": {
                    uuid: {"resources": resources}
                    for uuid, resources in candidate.allocations.items()
                }
            }
        if self._version >= (1, 34):
            request["mappings"] = candidate.mappings
        return msgspec.json.encode(request).decode()

    def summary(self, summary: ProviderSummary) -> bytes:
        shown: dict[str, Any] = {
            "resources": {
                name: {"capacity": capacity, "used": used}
                for name, (capacity, used) in summary.resources.items()
                if self._version >= (1, 27) or name in self._asked
            }
        }
        if self._version >= (1, 17):
            shown["traits"] = summary.traits
        if self._version >= (1, 29):
            shown["parent_provider_uuid"] = summary.parent_uuid
            shown["root_provider_uuid"] = summary.root_uuid
        return msgspec.json.encode(summary.uuid) + b": " + msgspec.json.encode(shown)
