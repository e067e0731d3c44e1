"""GET /allocations: consumers with all that they hold, a page at a time."""

import re
from collections.abc import Sequence

import msgspec

from roost.api.http import pieces
from roost.api.http.error_wording import ErrorWording, ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import ErrorCode
from roost.api.parsing import consumer_query, pages, query_string, tokens
from roost.errors import ProviderNotFound, UnknownResourceClass
from roost.model import UNKNOWN_CONSUMER_TYPE
from roost.operations.consumer_list import Names, References, Writer, list_consumers
from roost.service.service import Roost

# What does not exist is a parameter and not the path, so it is a 400 and not a 404.
WORDINGS: ErrorWordings = {
    kind: ErrorWording(
        sentence=query_string.INVALID.format(told), status=400, code=ErrorCode.QUERY_BAD_VALUE
    )
    for kind, told in (
        (ProviderNotFound, "{error}"),
        (UnknownResourceClass, "{error.with_suggestion}"),
    )
}

# The list in page tokens.
LIST = "allocations"

_BEGIN = b'{"consumers":['


def get(roost: Roost, request: Request) -> Reply:
    parameters = query_string.parse(request.query_string, request.query_schema)
    query = consumer_query.parse(parameters)
    page = pages.parse_page(LIST, parameters)
    with reword_errors(WORDINGS):
        found = list_consumers(roost, query=query, page=page, layout=JsonLayout())

    def end() -> bytes:
        if found.last_id is None:
            return b"]}"
        token = tokens.page_token(LIST, parameters, found.last_id)
        return b'],"next":' + msgspec.json.encode(token) + b"}"

    chunks = (",".join(texts).encode() for texts in found)
    stream = pieces.enclosed(_BEGIN, chunks, end, pieces.COMMA)
    whole = pieces.whole_if_short(stream)
    if isinstance(whole, bytes):
        return Reply(body=whole, shows_state=True)
    return Reply(pieces=whole, shows_state=True)


class JsonLayout:
    """Consumers as JSON: what GET /allocations/{consumer_uuid} says, the UUID, and times.

    Most of a text is put together from parts that were encoded before.
    """

    def name(self, text: str) -> str:
        return _encode(text)

    def writer(self, names: Names, references: References) -> Writer:
        allocations = _AllocationTexts(names)
        return lambda rows: _write(rows, allocations, references)


def _write(
    rows: Sequence[Sequence[str]], allocations: "_AllocationTexts", references: References
) -> list[tuple[str, str]]:
    projects, users, types = references.projects, references.users, references.types
    shown = []
    for id, uuid, generation, project, user, kind, created, updated, holdings, _ in rows:
        # A consumer is shown if a single read finds it.
        if not holdings or project not in projects or user not in users:
            continue
        held = allocations.text(holdings)
        if held:
            text = (
                f'{{"uuid":{_encode(uuid)},"allocations":{{{held}}},'
                f'"project_id":{projects[project]},"user_id":{users[user]},'
                f'"consumer_generation":{generation},'
                f'"consumer_type":{types.get(kind, _UNKNOWN)},'
                f'"created_at":{_moment(created)},"updated_at":{_moment(updated)}}}'
            )
            shown.append((id, text))
    return shown


class _AllocationTexts:
    """What consumers hold, as JSON without the braces around it."""

    def __init__(self, names: Names) -> None:
        self._names = names
        # By the digits of an id; None: it is not shown.
        self._providers: dict[str, tuple[str, str] | None] = {}
        self._classes: dict[str, str | None] = {}

    def text(self, holdings: str) -> str:
        """Empty if nothing is to be shown. `holdings` are as `ListedConsumer` has them."""
        classes = self._classes
        words = iter(holdings.split(" "))
        resources: dict[str, str] = {}
        for provider, class_id, used in zip(words, words, words, strict=True):
            try:
                name = classes[class_id]
            except KeyError:
                name = self._add_class(class_id)
            if name is None:
                continue
            known = resources.get(provider)
            if known is None:
                resources[provider] = name + used
            elif name in known:
                # Placement's tables may have a class twice. A single read shows the last one.
                resources[provider] = re.sub(f"{name}-?[0-9]+", name + used, known)
            else:
                resources[provider] = f"{known},{name}{used}"
        providers = self._providers
        texts = []
        for provider, text in resources.items():
            try:
                around = providers[provider]
            except KeyError:
                around = self._add_provider(provider)
            if around is not None:
                texts.append(f"{around[0]}{text}{around[1]}")
        return ",".join(texts)

    def _add_class(self, digits: str) -> str | None:
        name = self._names.resource_class(int(digits))
        text = self._classes[digits] = None if name is None else f"{_encode(name)}:"
        return text

    def _add_provider(self, digits: str) -> tuple[str, str] | None:
        """What is before and after the resources of a provider."""
        found = self._names.provider(int(digits))
        text = None
        if found is not None:
            uuid, generation = found
            text = f'{_encode(uuid)}:{{"resources":{{', f'}},"generation":{generation}}}'
        self._providers[digits] = text
        return text


def _moment(text: str) -> str:
    return f'"{text}"' if text else "null"


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()


_UNKNOWN = _encode(UNKNOWN_CONSUMER_TYPE)
