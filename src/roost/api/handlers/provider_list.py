"""GET /resource_providers: providers, and in one answer with them everything that they have."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat

import msgspec

from roost.api.handlers import inventories, providers
from roost.api.http import pieces
from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import pages, query_string, tokens
from roost.api.parsing.query_string import Parameters
from roost.api.schemas import providers as schemas
from roost.api.versions import VERSION_MAX, Version
from roost.errors import UnknownResourceClass, UnknownTrait
from roost.model import ProviderColumns
from roost.operations.providers import ProviderPage, list_provider_page, list_providers
from roost.query import ProviderQuery
from roost.service.service import Roost
from roost.uuids import canonical_uuid

WORDINGS: ErrorWordings = {
    UnknownResourceClass: "Invalid resource class in resources parameter: {error}",
    UnknownTrait: 'Invalid trait(s) in "required" parameter: {error}',
}
# The same if the request uses an extension.
EXTENSION_WORDINGS: ErrorWordings = {
    UnknownResourceClass: "Invalid resource class in resources parameter: {error.with_suggestion}",
    UnknownTrait: 'Invalid trait(s) in "required" parameter: {error.with_suggestion}',
    **pages.TREE_WORDINGS,
}

# What `include` can name, in the order in which answers have it.
PARTS = ("inventories", "usages", "traits", "aggregates")

# The list in page tokens.
LIST = "resource_providers"

_BEGIN = b'{"resource_providers":['
# Texts of sets are kept up to this length: many providers have the same traits.
_KEPT_LENGTH_MAX = 2**18


def parts_asked_for(request: Request) -> Sequence[str]:
    """The parts that a list includes. Each has a route of its own, and so a rule of the policy."""
    if request.version != VERSION_MAX:
        return ()
    values = query_string.split(request.query_string).get("include", ())
    return [part for part in PARTS if any(part in value.split(",") for value in values)]


def get_all(roost: Roost, request: Request) -> Reply:
    parameters = query_string.split(request.query_string)
    if request.version == VERSION_MAX and not parameters.keys().isdisjoint(schemas.LIST_EXTENSIONS):
        return _get_page(roost, request, parameters)
    # The schema of the route describes the extensions too; a list without them has its own.
    query_string.check(parameters, schemas.listing(request.version))
    query = parse_query(parameters, request.version)
    with reword_errors(WORDINGS):
        found = list_providers(roost, query=query)
    rendered = (providers.render(provider, request) for provider in found)
    if len(found) > pieces.ENTRIES_MAX:
        stream = pieces.encoded_list(b'{"resource_providers":', rendered, b"}")
        return Reply(pieces=stream, shows_state=True, modified=found.modified)
    body = {"resource_providers": list(rendered)}
    return Reply(body=body, shows_state=True, modified=found.modified)


def parse_query(parameters: Parameters, version: Version) -> ProviderQuery:
    # Before all others, because clients expect a faulty `member_of` to be refused first.
    aggregates = query_string.parse_aggregates(parameters.get("member_of", ()), version)
    uuid = query_string.once(parameters, "uuid")
    resources = query_string.once(parameters, "resources")
    in_tree = query_string.once(parameters, "in_tree")
    return ProviderQuery(
        uuid=None if uuid is None else canonical_uuid(uuid),
        # In Placement an empty name means any name.
        name=query_string.once(parameters, "name") or None,
        in_tree=None if in_tree is None else canonical_uuid(in_tree),
        tree=pages.parse_tree(query_string.once(parameters, "tree")),
        resources={} if resources is None else query_string.parse_resources(resources),
        traits=query_string.parse_traits(parameters.get("required", ()), version),
        aggregates=aggregates,
    )


# ---------------------------------------------------------------------------------------------
# Pages, and what providers have


def _get_page(roost: Roost, request: Request, parameters: Parameters) -> Reply:
    query_string.check(parameters, request.query_schema)
    included = pages.parse_choice(parameters, "include", PARTS)
    page = pages.parse_page(LIST, parameters)
    query = parse_query(parameters, request.version)
    with reword_errors(EXTENSION_WORDINGS):
        found = list_provider_page(roost, query=query, page=page)
    end = b"]}"
    if found.last_id is not None:
        token = tokens.page_token(LIST, parameters, found.last_id)
        end = b'],"next":' + msgspec.json.encode(token) + b"}"
    if included:
        texts: Iterable[str] = ProviderWriter(found, included).texts()
    else:
        texts = (_encode(providers.render(provider, request)) for provider in found)
    stream = pieces.enclosed(_BEGIN, pieces.gathered(texts), end, pieces.COMMA)
    # What is included was written at other times than the provider itself.
    modified = None if included else found.modified
    whole = pieces.whole_if_short(stream)
    if isinstance(whole, bytes):
        return Reply(body=whole, shows_state=True, modified=modified)
    return Reply(pieces=whole, shows_state=True, modified=modified)


class ProviderWriter:
    """Writes providers with what they have.

    Texts are joined column by column. What many providers have in common is encoded once.
    """

    def __init__(self, page: ProviderPage, included: frozenset[str]) -> None:
        self._page = page
        self._included = included
        self._traits = _SetTexts("traits", page.traits)
        self._aggregates = _SetTexts("aggregates", page.aggregates)

    def texts(self) -> Iterator[str]:
        """A text for each provider."""
        with_inventories = not self._included.isdisjoint(("inventories", "usages"))
        for batch in self._page.read_batches(inventories=with_inventories):
            yield from map("".join, zip(*self._columns(batch), strict=False))

    def _columns(self, batch: ProviderColumns) -> Iterator[Iterable[str]]:
        yield _identities(batch)
        held, used = self._resources(batch)
        if "inventories" in self._included:
            yield (f',"inventories":{{{text[1:]}}}' for text in held)
        if "usages" in self._included:
            yield (f',"usages":{{{text[1:]}}}' for text in used)
        if "traits" in self._included:
            yield map(self._traits.text, batch.trait_sets)
        if "aggregates" in self._included:
            yield map(self._aggregates.text, batch.aggregate_sets)
        yield repeat("}")

    def _resources(self, batch: ProviderColumns) -> tuple[list[str], list[str]]:
        """The inventories and the usage of each provider, with a comma before each class."""
        held = [""] * len(batch.uuids)
        used = list(held)
        for column in batch.inventories:
            name = f",{_encode(column.resource_class)}:"
            if "inventories" in self._included:
                known: dict[tuple[float, ...], str] = {}
                for number, fields in zip(column.providers, column.inventories, strict=True):
                    text = known.get(fields)
                    if text is None:
                        shown = dict(zip(inventories.FIELDS, fields, strict=True))
                        text = known[fields] = name + _encode(shown)
                    held[number] += text
            if "usages" in self._included:
                for number, amount in zip(column.providers, column.used, strict=True):
                    used[number] += f"{name}{amount}"
        return held, used


def _identities(batch: ProviderColumns) -> Iterator[str]:
    """The beginning of each provider, in the order of `providers.render`."""
    for uuid, name, generation, parent, root in zip(
        batch.uuids, batch.names, batch.generations, batch.parents, batch.roots, strict=True
    ):
        yield (
            f'{{"uuid":{_encode(uuid)},"name":{_encode(name)},"generation":{generation},'
            f'"parent_provider_uuid":{_encode(parent)},"root_provider_uuid":{_encode(root)}'
        )


class _SetTexts:
    """The texts of sets of names, by the number of the set."""

    def __init__(self, field: str, members: Callable[[int], Iterable[str]]) -> None:
        self._field = field
        self._members = members
        self._known: dict[int, str] = {}
        self._length = 0

    def text(self, number: int) -> str:
        text = self._known.get(number)
        if text is None:
            text = f',"{self._field}":{_encode(list(self._members(number)))}'
            self._length += len(text)
            if self._length > _KEPT_LENGTH_MAX:
                self._known.clear()
                self._length = len(text)
            self._known[number] = text
        return text


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()
