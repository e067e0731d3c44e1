"""The body of POST /allocation_candidates: what would stand in the URL, by the same names."""

from collections.abc import Iterator, Mapping
from typing import Any

from roost.api.http.error_response import HttpError
from roost.api.parsing import bodies
from roost.api.parsing.query_string import Parameters

_OF_A_GROUP = ("required", "member_of", "in_tree", "in_subtree", "can_split")


def parameters_of(body: Mapping[str, Any]) -> Parameters:
    """The body as a query string would say it, so that there is one way to read both."""
    return dict(_parameters(body))


def _parameters(body: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for suffix, group in body["groups"].items():
        if not suffix and "can_split" in group:
            # Without a suffix it is that of the whole request.
            raise HttpError(400, "'can_split' of the group '' is the 'can_split' beside 'groups'.")
        if "resources" in group:
            yield f"resources{suffix}", [_resources_text(group["resources"])]
        for name in _OF_A_GROUP:
            if name in group:
                yield f"{name}{suffix}", _texts(group[name])
    for name, value in body.items():
        if name != "groups":
            yield name, _texts(value)


def _resources_text(resources: Mapping[str, float]) -> str:
    return ",".join(f"{name}:{bodies.whole(amount)}" for name, amount in resources.items())


def _texts(value: str | float | list[str]) -> list[str]:
    if isinstance(value, list):
        return value
    return [value if isinstance(value, str) else str(bodies.whole(value))]
