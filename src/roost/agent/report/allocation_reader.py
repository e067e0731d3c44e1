"""Reads what the consumers of a tree hold; after a lost race, only what has changed.

A provider whose generation and usage are what they were has the consumers that it had: whoever
takes something of it advances its generation, and whoever gives something back lowers its usage.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.tree_reader import UUIDS_PER_QUERY, ReadTree, in_queries
from roost.client import Client, Consumer

CONSUMERS_PER_PAGE = 10_000


class _Read(NamedTuple):
    """A consumer as it was read."""

    consumer: Consumer
    generations: Mapping[str, int]  # of its providers, as far as they were said


class _State(NamedTuple):
    """What tells whether the consumers of a provider have changed."""

    generation: int | None
    used: dict[str, int] | None


class AllocationReader:
    """Reads the consumers of one tree, and remembers them until they are forgotten."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.forget()

    def forget(self) -> None:
        """Forget everything, so that the next read starts from the beginning."""
        # The states of the providers of the tree before their consumers were read.
        self._states: dict[str, _State] = {}
        self._local: dict[str, _Read] = {}  # consumers that hold something in the tree
        # Consumers that hold nothing but shared resources; None: not read.
        self._sharing: dict[str, _Read] | None = None
        self._far: dict[str, int] = {}  # generations of providers of other trees

    def read(self, found: ReadTree, root: str, own: Collection[str] = ()) -> Allocations:
        """Everything that the consumers of a tree hold, in this tree and elsewhere.

        These are the consumers that hold something of a provider of the tree of `root`, and those
        that hold nothing but resources of providers that share with it. `own` are the sharing
        providers that an update may write. What others share is not part of an update, so that it
        is read once: a consumer of it that has changed since makes an update fail that moves it.
        """
        tree = found.tree
        local = tree.get_provider_uuids_in_tree(root)
        states = {
            uuid: _State(tree.data(uuid).generation, tree.data(uuid).used)
            for uuid in (*local, *own)
        }
        changed = {
            uuid
            for uuid in states.keys() | self._states.keys()
            if states.get(uuid) != self._states.get(uuid)
        }
        self._read_local(root, set(local), changed - set(own))
        if self._sharing is None or not changed.isdisjoint(own):
            self._sharing = self._read_sharing(found.sharing)
        self._states = states
        return {
            uuid: self._record(read, tree)
            for uuid, read in sorted({**self._sharing, **self._local}.items())
        }

    def held(self, consumer: str) -> Consumer | None:
        """What a consumer held when it was last read."""
        read = self._local.get(consumer) or (self._sharing or {}).get(consumer)
        return read and read.consumer

    def reread_sharing(self, consumers: Iterable[str]) -> None:
        """Read consumers of shared resources again next time, if one of these is among them."""
        if self._sharing is not None and not self._sharing.keys().isdisjoint(consumers):
            self._sharing = None

    # -- consumers of the tree -----------------------------------------------------------------

    def _read_local(self, root: str, local: set[str], changed: set[str]) -> None:
        """Read the consumers of providers that changed, or that have left the tree."""
        if self._reads_many and (local <= changed or len(changed) > UUIDS_PER_QUERY):
            self._local = self._many(tree=root)
            return
        self._local = {
            uuid: read
            for uuid, read in self._local.items()
            if changed.isdisjoint(read.consumer.allocations)
        }
        self._local |= self._consumers_of(changed & local)

    def _consumers_of(self, providers: Iterable[str]) -> dict[str, _Read]:
        found: dict[str, _Read] = {}
        if self._reads_many:
            for some in in_queries(providers):
                found |= self._many(resource_provider=some)
            return found
        consumers = {
            consumer
            for uuid in sorted(providers)
            for consumer in self._client.provider_consumers(uuid)
        }
        for uuid in sorted(consumers):
            read = self._client.consumer(uuid)
            # It may have given back everything in the meantime.
            if read.allocations:
                found[uuid] = _Read(read, {})
        return found

    def _read_sharing(self, sharing: Collection[str]) -> dict[str, _Read]:
        """Consumers that hold nothing but resources of providers that share with the tree.

        One that holds something in another tree belongs to that tree.
        """
        return {
            uuid: read
            for uuid, read in self._consumers_of(sharing).items()
            if read.consumer.allocations.keys() <= set(sharing)
        }

    @property
    def _reads_many(self) -> bool:
        return "list_allocations" in self._client.known_extensions

    def _many(self, **selection: Any) -> dict[str, _Read]:
        return {
            each.consumer.uuid: _Read(each.consumer, each.provider_generations)
            for each in self._client.consumers(limit=CONSUMERS_PER_PAGE, **selection)
        }

    # -- records -------------------------------------------------------------------------------

    def _record(self, read: _Read, tree: ProviderTree) -> dict[str, Any]:
        """What `GET /allocations/{consumer}` says. Generations are those of the tree."""
        consumer = read.consumer
        return {
            "allocations": {
                provider: {
                    "resources": dict(resources),
                    "generation": self._generation(provider, read, tree),
                }
                for provider, resources in consumer.allocations.items()
            },
            "project_id": consumer.project_id,
            "user_id": consumer.user_id,
            "consumer_generation": consumer.generation,
            "consumer_type": consumer.consumer_type,
        }

    def _generation(self, provider: str, read: _Read, tree: ProviderTree) -> int | None:
        if tree.exists(provider):
            return tree.data(provider).generation
        if provider in read.generations:
            return read.generations[provider]
        if provider not in self._far:
            self._far[provider] = self._client.provider(provider).generation
        return self._far[provider]


def to_consumer(uuid: str, record: Mapping[str, Any]) -> Consumer:
    """The consumer that a record of an update describes."""
    return Consumer(
        uuid=uuid,
        allocations={
            provider: held["resources"]
            for provider, held in record["allocations"].items()
            if held["resources"]
        },
        project_id=record["project_id"],
        user_id=record["user_id"],
        generation=record["consumer_generation"],
        consumer_type=record.get("consumer_type"),
    )
