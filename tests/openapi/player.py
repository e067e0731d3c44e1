"""Sends the examples of the OpenAPI document to a service, in their order.

What a service chooses by itself (ids, tokens, times) is different each time. Where a later example
uses such a value, it is replaced by the one that this service gave.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec

from roost.api.openapi.examples import Example
from tests.support.headers import HEADERS

# Fields whose values a service chooses by itself.
VOLATILE = frozenset({"request_id", "created_at", "updated_at", "position", "next", "id"})
# Of an abridged answer: entries of a list, lines of a text, and objects within each other.
ENTRIES_MAX = 2
LINES_MAX = 3
DEPTH_MAX = 2
# Reshapes are for other services.
ROLES = {"x-roles": "admin,service"}


class Player:
    """Plays examples on one service, which was empty before the first."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._given: dict[str, str] = {}  # value in an example -> value of this service

    def resolve(self, example: Example) -> Example:
        """The same request to this service."""
        return msgspec.structs.replace(
            example,
            path=self._with_given(example.path),
            query=self._with_given(example.query),
            body=self._with_given(example.body),
        )

    def play(self, example: Example) -> httpx.Response:
        request = self.resolve(example)
        method, _, _ = request.operation.partition(" ")
        response = self._client.request(
            method,
            request.target,
            params=dict(request.query),
            json=request.body,
            headers={**HEADERS, **ROLES},
        )
        if example.answer is not None:
            for name, value in volatile_values(example.answer):
                found = dict(volatile_values(content(response)))
                self._given[str(value)] = str(found.get(name))
        return response

    def _with_given(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._with_given(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._with_given(each) for each in value]
        if isinstance(value, str):
            for expected, given in self._given.items():
                value = value.replace(expected, given)
        return value


def content(response: httpx.Response) -> Any:
    """The body of an answer; None if it has none."""
    if not response.content:
        return None
    is_json = response.headers["content-type"] == "application/json"
    return response.json() if is_json else response.text


def volatile_values(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            # The `id` of a version is always the same.
            if key in VOLATILE and each is not None and each != "v1.0":
                yield key, each
            else:
                yield from volatile_values(each)
    elif isinstance(value, list):
        for each in value:
            yield from volatile_values(each)


def abridged(value: Any, depth: int = 0) -> Any:
    """The beginning of an answer: of lists and of texts; of objects within objects, the names."""
    if isinstance(value, dict):
        shown = value if depth < DEPTH_MAX else {}
        return {key: abridged(each, depth + 1) for key, each in shown.items()}
    if isinstance(value, list):
        return value[:ENTRIES_MAX]
    if isinstance(value, str) and depth == 0:
        return "".join(value.splitlines(keepends=True)[:LINES_MAX])
    return value


def is_as_shown(shown: Any, found: Any, *, is_abridged: bool = False) -> bool:
    """Whether an answer is the one of an example, but for what the service chooses by itself."""
    if isinstance(shown, dict) and isinstance(found, dict):
        has_fields = shown.keys() <= found.keys() if is_abridged else shown.keys() == found.keys()
        return has_fields and all(
            (key in VOLATILE and type(value) is type(found[key]))
            or is_as_shown(value, found[key], is_abridged=is_abridged)
            for key, value in shown.items()
        )
    if isinstance(shown, list) and isinstance(found, list):
        if is_abridged:
            found = found[: len(shown)]
        return len(shown) == len(found) and all(map(is_as_shown, shown, found))
    if isinstance(shown, str) and isinstance(found, str) and is_abridged:
        return found.startswith(shown)
    return bool(shown == found)
