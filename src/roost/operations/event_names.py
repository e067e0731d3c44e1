"""Who providers were when something was recorded.

The index says who they are by now. A record says what was before it: the root of a provider that
went to another tree, the UUID and the root of one that is no more (whose id may be that of another
one by now). So the way back, from the newest record to the oldest, leads past what was at each.
"""

from collections.abc import Mapping
from typing import NamedTuple

from roost.store.change_record import ChangeRecord


class Named(NamedTuple):
    """A provider and the root of its tree, by UUID."""

    uuid: str
    root_uuid: str


class NamesAtTime:
    """Who providers were, one record earlier at a time."""

    def __init__(self, now: Mapping[int, Named]) -> None:
        """`now` are those of interest, by id, as of the newest record or before."""
        self._names = dict(now)
        self._ids = {named.uuid: id for id, named in now.items()}

    def name(self, id: int) -> Named | None:
        return self._names.get(id)

    def root_of(self, uuid: str) -> str:
        """The root of the tree in which a provider is; where nobody knows the provider, itself."""
        named = self._names.get(self._ids.get(uuid, -1))
        return named.root_uuid if named is not None and named.uuid == uuid else uuid

    def go_before(self, record: ChangeRecord) -> None:
        for id, root_uuid in record.former_roots:
            if id in self._names:
                self._names[id] = self._names[id]._replace(root_uuid=root_uuid)
        for id, uuid, root_uuid in record.deleted:
            self._names[id] = Named(uuid, root_uuid)
            self._ids[uuid] = id
