"""A request for allocation candidates: from a query string or a body to a `CandidateQuery`.

The body of POST /allocation_candidates has the names of the query string, so it is turned into
parameters first, and both are parsed in one way.
"""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace as evolve

from roost.api.http.error_wording import ErrorWordings
from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing import query_string, tokens
from roost.api.parsing.bodies import to_integer
from roost.api.parsing.pages import parse_limit
from roost.api.parsing.query_extensions import (
    has_alternatives,
    parse_isolated,
    parse_subtrees,
    with_splits,
)
from roost.api.parsing.query_string import Parameters, once
from roost.api.parsing.request_groups import parse_groups
from roost.api.schemas import candidates as schema
from roost.api.versions import Version
from roost.errors import UnknownResourceClass, UnknownTrait
from roost.query import CandidateQuery, Order, OrderBy, TraitRule
from roost.quoting import quote_names

# For every operation that is given such a query.
WORDINGS: ErrorWordings = {
    UnknownResourceClass: "Invalid resource class in resources parameter: {error}"
}
# The same if the request uses an extension.
EXTENSION_WORDINGS: ErrorWordings = {
    UnknownResourceClass: "Invalid resource class in resources parameter: {error.with_suggestion}",
    UnknownTrait: "{error.with_suggestion}",
}

# The largest seed of an order that a client may name. One that the server draws has fewer bits.
SEED_MAX = 2**63 - 1
_SEED_BITS = 32

_GROUP_FIELDS = ("required", "member_of", "in_tree", "in_subtree", "can_split")


def parse_parameters(parameters: Parameters, version: Version, *, extended: bool) -> CandidateQuery:
    """The query that parameters describe; `extended` if the request uses an extension."""
    # A query without extensions is refused in the words that clients of Placement know.
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
        # If `group_policy` or `limit` is repeated, the first one counts.
        isolate=policies is not None and policies[0] == "isolate",
        limit=None if limits is None else parse_limit(limits[0]),
        same_subtree=subtrees.same,
        elsewhere=subtrees.elsewhere,
        isolated=parse_isolated(parameters, groups),
        root_traits=root_traits,
        root_aggregates=query_string.parse_aggregates(
            parameters.get("root_member_of", ()), version, parameter="root_member_of"
        ),
        nested_aware=version >= (1, 29),
    )
    return _with_order(parameters, query)


def _parse_root_traits(parameters: Parameters, version: Version, *, extended: bool) -> TraitRule:
    values = parameters.get("root_required", ())
    query_string.refuse_many("root_required", values)
    if extended and has_alternatives(values):
        traits = query_string.parse_traits(values, version)
    else:
        once(parameters, "root_required")
        traits = query_string.parse_traits(values, version, may_repeat=False)
    conflicts = frozenset[str]().union(*query_string.conflicting_traits(traits))
    if conflicts:
        raise _bad_value(
            "Conflicting required and forbidden traits found in root_required: "
            + quote_names(sorted(conflicts))
        )
    return traits


def _with_order(parameters: Parameters, query: CandidateQuery) -> CandidateQuery:
    """The query with `order` and `after`, where they are given."""
    text, token = once(parameters, "order"), once(parameters, "after")
    if text is None:
        if token is not None:
            raise _bad_value(
                "'after' goes on with an ordered answer: repeat the 'order' of the request."
            )
        return query
    name, _, seed = text.partition(":")
    by = OrderBy(name)
    if seed and int(seed) > SEED_MAX:
        raise _bad_value(f"The seed in 'order' is larger than {SEED_MAX}. Got: {text}")
    if token is None:
        drawn = secrets.randbits(_SEED_BITS) if by is OrderBy.RANDOM and not seed else 0
        return evolve(query, order=Order(by=by, seed=int(seed) if seed else drawn))
    seed_before, cursor = tokens.decode_cursor(token, query, by)
    if seed and int(seed) != seed_before:
        raise tokens.cursor_of_another_request()
    return evolve(query, order=Order(by=by, seed=seed_before), after=cursor)


def _bad_value(message: str) -> HttpError:
    return HttpError(400, message, ErrorCode.QUERY_BAD_VALUE)


# ---------------------------------------------------------------------------------------------
# Bodies


def parameters_of(body: Mapping[str, Any]) -> Parameters:
    """The body, valid by its schema, as the parameters of a query string."""
    return dict(_parameters(body))


def _parameters(body: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for suffix, group in body["groups"].items():
        if not suffix and "can_split" in group:
            # As a parameter it would have the name of the `can_split` of all groups.
            raise HttpError(400, "'can_split' of the group '' is the 'can_split' beside 'groups'.")
        if "resources" in group:
            yield f"resources{suffix}", [_resources_text(group["resources"])]
        for name in _GROUP_FIELDS:
            if name in group:
                yield f"{name}{suffix}", _texts(group[name])
    for name, value in body.items():
        if name != "groups":
            yield name, _texts(value)


def _resources_text(resources: Mapping[str, float]) -> str:
    return ",".join(f"{name}:{to_integer(amount)}" for name, amount in resources.items())


def _texts(value: str | float | list[str]) -> list[str]:
    if isinstance(value, list):
        return value
    return [value if isinstance(value, str) else str(to_integer(value))]
