"""Trees of providers: subtrees, and moving one to another parent.

A transaction that changes the shape of a tree writes the row of the tree's root before it reads
the shape. So two such transactions conflict on the root, and the second one sees what the first
one did, or starts over.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import func, or_, select, update

from roost.model import EventKind
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import chunks
from roost.store.schema import resource_providers
from roost.store.tables.providers import ProviderRecord, Providers
from roost.store.tables.session import Session

_table = resource_providers


class Trees:
    """The shape of trees: the parents and roots in `resource_providers`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def guard(self, providers: Iterable[ProviderRecord]) -> None:
        """Keep the trees of these providers from changing shape until COMMIT.

        Raises `LostRace` if one of the providers moved to another tree since it was read.
        """
        root_ids = {provider.id: provider.root_id for provider in providers}
        Providers(self._session).touch(root_ids.values())
        rows = self._execute(
            select(
                _table.c.id, func.coalesce(_table.c.root_provider_id, _table.c.id).label("root_id")
            ).where(_table.c.id.in_(root_ids))
        )
        if {row.id: row.root_id for row in rows} != root_ids:
            raise LostRace("a provider moved to another tree")

    def subtree_ids(self, provider: ProviderRecord) -> set[int]:
        """The ids of the provider and of everything below it. The caller guards the tree."""
        rows = self._execute(
            select(_table.c.id, _table.c.parent_provider_id).where(
                # In old databases a root may have no root_provider_id.
                or_(_table.c.root_provider_id == provider.root_id, _table.c.id == provider.root_id)
            )
        )
        return subtree(provider.id, {row.id: row.parent_provider_id for row in rows})

    def move(
        self,
        provider: ProviderRecord,
        parent: ProviderRecord | None,
        below: Iterable[int],
    ) -> None:
        """Move the provider and everything `below` it to another parent, or make it a root."""
        below = set(below)
        self._execute(
            update(_table)
            .where(_table.c.id == provider.id)
            .values(parent_provider_id=parent and parent.id, updated_at=self._session.now)
        )
        root_id = parent.root_id if parent else provider.id
        if root_id != provider.root_id:
            for ids in chunks(below):
                self._execute(
                    update(_table).where(_table.c.id.in_(ids)).values(root_provider_id=root_id)
                )
            self._session.changes.leave_tree(sorted(below), provider.root_uuid)
        self._session.changes.reread_providers(below, EventKind.PROVIDER)


def subtree(provider_id: int, parents: Mapping[int, int | None]) -> set[int]:
    """The provider and everything below it."""
    children: dict[int | None, list[int]] = {}
    for id, parent_id in parents.items():
        children.setdefault(parent_id, []).append(id)
    found: set[int] = set()
    pending = [provider_id]
    while pending:
        id = pending.pop()
        found.add(id)
        pending.extend(children.get(id, ()))
    return found
