"""Custom resource classes and traits, which must exist before a provider can have them."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, TypeVar

from roost.agent.provider_tree import ProviderTree
from roost.client import ApiError, BadRequest, Client

_PREFIX = "CUSTOM_"

Answer = TypeVar("Answer")


class Refused(NamedTuple):
    """A name that the service does not create."""

    name: str
    error: ApiError


class CustomNames:
    """Creates names, and remembers for the life of the process which of them exist."""

    def __init__(self, client: Client) -> None:
        # By what a provider has of them.
        self._create = {"inventory": client.create_resource_class, "traits": client.create_trait}
        self._known: set[tuple[str, str]] = set()
        self.created = 0  # how many so far

    def learn(self, tree: ProviderTree) -> None:
        """A name that a provider of the service has must exist."""
        self._known.update(self._names(tree, tree.get_provider_uuids()))

    def create_missing(self, tree: ProviderTree, providers: Iterable[str]) -> list[Refused]:
        """Create the names of these providers that are not known to exist."""
        refused = []
        for kind, name in sorted(set(self._names(tree, providers)) - self._known):
            try:
                self._create[kind](name)
            except ApiError as error:
                refused.append(Refused(name, error))
            else:
                self._known.add((kind, name))
                self.created += 1
        return refused

    def created_for(
        self, tree: ProviderTree, providers: Collection[str], write: Callable[[], Answer]
    ) -> Answer:
        """Write something that has names of these providers.

        Names that existed may be gone by now: somebody has deleted them, or the service has another
        database. If the write is refused, they are created again, and it is repeated.
        """
        try:
            return write()
        except BadRequest:
            names = set(self._names(tree, filter(tree.exists, providers)))
            self._known -= names
            if not names or self.create_missing(tree, filter(tree.exists, providers)):
                raise
            return write()

    def _names(self, tree: ProviderTree, providers: Iterable[str]) -> Iterator[tuple[str, str]]:
        for uuid in providers:
            data = tree.data(uuid)
            for kind in self._create:
                for name in getattr(data, kind):
                    if name.startswith(_PREFIX):
                        yield kind, name
