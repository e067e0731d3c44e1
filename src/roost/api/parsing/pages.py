"""Parameters that lists have beyond 1.39: pages, a tree, and names of what is to be shown."""

from collections.abc import Sequence

from roost.api.http.error_wording import ErrorWording, ErrorWordings
from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing import query_string, tokens
from roost.api.parsing.extension_refusals import bad_choice
from roost.api.parsing.query_string import Parameters, once
from roost.errors import ProviderNotFound
from roost.query import Page
from roost.quoting import quote
from roost.uuids import canonical_uuid, is_uuid

# For every operation that is given a tree.
TREE_WORDINGS: ErrorWordings = {
    # The tree is a parameter and not the path, so an unknown one is a 400 and not a 404.
    ProviderNotFound: ErrorWording(
        sentence=query_string.INVALID.format("tree: {error}"),
        status=400,
        code=ErrorCode.QUERY_BAD_VALUE,
    ),
}


def parse_page(name: str, parameters: Parameters) -> Page:
    """The page of the list `name` that `limit` and `after` ask for."""
    limit, token = once(parameters, "limit"), once(parameters, "after")
    return Page(
        limit=None if limit is None else parse_limit(limit),
        after=0 if token is None else tokens.parse_page_token(token, name, parameters),
    )


def parse_limit(digits: str) -> int | None:
    """The value of `limit`, which is digits."""
    # No answer has 10**18 entries, and Python refuses to convert very many digits.
    return None if len(digits) > 18 else int(digits)


def parse_tree(text: str | None) -> str | None:
    """The value of `tree`: the UUID of any provider of it."""
    if text is None:
        return None
    if not is_uuid(text):
        reason = f"Expected 'tree' parameter to be a format of uuid. Got: {quote(text)}"
        raise HttpError(400, query_string.INVALID.format(reason), ErrorCode.QUERY_BAD_VALUE)
    return canonical_uuid(text)


def parse_choice(parameters: Parameters, name: str, known: Sequence[str]) -> frozenset[str]:
    """A parameter that lists some of the `known` names, as in `include=traits,usages`."""
    text = once(parameters, name)
    if text is None:
        return frozenset()
    query_string.refuse_many(name, [text])
    chosen = text.split(",")
    unknown = next((each for each in chosen if each not in known), None)
    if unknown is not None:
        message = f"{name}: {bad_choice(unknown, known)}"
        raise HttpError(400, message, ErrorCode.QUERY_BAD_VALUE)
    return frozenset(chosen)
