"""Which providers the ids in change records meant when each record was written.

The index knows providers as they are now. A record says what was true before it: the root of a
provider that moved to another tree, and the UUID and root of one that was deleted (the database
may have given its id to a new provider since). So `NamesAtTime` starts from the index and steps
back, record by record, from the newest to the oldest.
"""

from collections.abc import Mapping
from typing import NamedTuple

from roost.store.change_record import ChangeRecord


class ProviderName(NamedTuple):
    """A provider and the root of its tree, by UUID."""

    uuid: str
    root_uuid: str


class NamesAtTime:
    """Providers by id, as of a moment that steps back in time."""

    def __init__(self, now: Mapping[int, ProviderName]) -> None:
        self._names = dict(now)
        self._ids = {name.uuid: id for id, name in now.items()}

    def get(self, id: int) -> ProviderName | None:
        return self._names.get(id)

    def root_of(self, uuid: str) -> str:
        """The root of the tree that a provider is in; an unknown provider is its own."""
        name = self._names.get(self._ids.get(uuid, -1))
        return name.root_uuid if name is not None and name.uuid == uuid else uuid

    def step_back(self, record: ChangeRecord) -> set[str]:
        """Go from the moment after a record to the moment before it.

        Gives back the providers whose tree may have been another one, by UUID.
        """
        changed = set()
        for id, root_uuid in record.former_roots:
            if id in self._names:
                changed.add(self._names[id].uuid)
                self._names[id] = self._names[id]._replace(root_uuid=root_uuid)
        for id, uuid, root_uuid in record.deleted:
            # The id may belong to another provider now.
            if id in self._names:
                changed.add(self._names[id].uuid)
            changed.add(uuid)
            self._names[id] = ProviderName(uuid, root_uuid)
            self._ids[uuid] = id
        return changed
