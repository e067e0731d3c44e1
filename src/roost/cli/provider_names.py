"""Providers by what a person calls them: names, or UUIDs."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from roost.cli.output import BadInput, printable
from roost.quoting import quote
from roost.suggestions import KNOWN_MAX, nearest
from roost.uuids import is_uuid

if TYPE_CHECKING:
    from roost.client import Client, Provider

# Providers that are read at once.
PAGE_LENGTH = 5000
# Up to so many names are read one by one. More are found by reading the names of all providers.
SINGLE_READS_MAX = 30


def find_provider(client: "Client", name_or_uuid: str) -> "Provider":
    """The provider with this UUID; if there is none, the provider with this name."""
    for field in ("uuid", "name") if is_uuid(name_or_uuid) else ("name",):
        found = client.providers({field: name_or_uuid})
        if found:
            return found[0]
    raise no_such_provider(client, name_or_uuid)


def no_such_provider(client: "Client", name: str) -> BadInput:
    """What to tell somebody about a provider that does not exist, with a name that does."""
    from roost.client import ClientError

    text = f"there is no provider {quote(name)}"
    try:
        # One page, however many providers there are.
        some = islice(client.bulk_providers(include=(), limit=KNOWN_MAX), KNOWN_MAX)
        similar = nearest(name, [each.provider.name for each in some])
    except ClientError:
        # The service is no roost, or too old: then there is no cheap way to read names.
        similar = None
    return BadInput(printable(text if similar is None else f"{text}; did you mean {similar}?"))


def all_names(client: "Client") -> Iterator[tuple[str, str]]:
    """The UUIDs and names of all providers, read a page at a time if the service has pages."""
    if "include" in client.extensions():
        for details in client.bulk_providers(include=(), limit=PAGE_LENGTH):
            yield details.provider.uuid, details.provider.name
    else:
        for provider in client.providers():
            yield provider.uuid, provider.name


class ProviderNames:
    """The names of providers, each read once."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._names: dict[str, str] = {}

    def read(self, uuids: Iterable[str]) -> None:
        """Read the names of these providers, many of them in one request."""
        from roost.client import NotFound

        missing = [uuid for uuid in dict.fromkeys(uuids) if uuid not in self._names]
        if len(missing) > SINGLE_READS_MAX:
            self._names |= all_names(self._client)
            missing = []
        for uuid in missing:
            try:
                self._names[uuid] = self._client.provider(uuid).name
            except NotFound:
                # Deleted since its UUID was read.
                self._names[uuid] = uuid

    def of(self, uuid: str) -> str:
        """The name of a provider; its UUID if it is gone or its name was not read."""
        return self._names.get(uuid, uuid)

    def forget(self, uuid: str) -> None:
        """Read the name again when it is needed next: it may have changed."""
        self._names.pop(uuid, None)
