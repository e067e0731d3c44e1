"""The tables as sets of rows, updated from the change feed.

Tests compare them with a fresh load.
"""

from collections.abc import Iterable
from typing import Any

from roost.changes import Changes, ProviderParts, Rows
from roost.store.store import Store

PER_PROVIDER = ("inventories", "usages", "traits", "aggregates")


class Follower:
    """Applies the changes of a store row by row; reloads only where the feed cannot tell."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.reloads = 0
        self._load()

    def _load(self) -> None:
        self.position, rows = self.store.load()
        self.rows = tables(rows)
        self.reloads += 1

    def catch_up(self) -> None:
        news = self.store.changes_since(self.position)
        if news is None:
            self._load()
        else:
            self.position, changes = news
            self._apply(changes)

    def _apply(self, changes: Changes) -> None:
        new = tables(changes.rows)
        replaced = {
            "providers": changes.provider_ids,
            **dict.fromkeys(PER_PROVIDER, changes.provider_ids),
            "resource_classes": changes.class_ids,
            "trait_names": changes.trait_ids,
        }
        for name, ids in replaced.items():
            unchanged = {row for row in self.rows[name] if row[0] not in ids}
            self.rows[name] = unchanged | new[name]
        for parts in changes.parts:
            self._replace_parts(parts)
        self._add_usage(changes)
        self.rows["providers"] = {
            (*row[:3], changes.generations.get(row[0], row[3]), *row[4:])
            for row in self.rows["providers"]
        }

    def _replace_parts(self, parts: ProviderParts) -> None:
        def keep(name: str) -> set[tuple[Any, ...]]:
            return {row for row in self.rows[name] if row[0] != parts.id}

        (old,) = (row for row in self.rows["providers"] if row[0] == parts.id)
        new = {(*old[:3], parts.generation, *old[4:-1], parts.modified)}
        self.rows["providers"] = keep("providers") | new
        for name, values in (("traits", parts.traits), ("aggregates", parts.aggregates)):
            if values is not None:
                self.rows[name] = keep(name) | {(parts.id, value) for value in values}
        if parts.inventories is not None:
            classes = {(parts.id, each[0]) for each in parts.inventories}
            others = {row for row in self.rows["inventories"] if row[:2] not in classes}
            self.rows["inventories"] = others | {
                (parts.id, *each, parts.modified) for each in parts.inventories
            }

    def _add_usage(self, changes: Changes) -> None:
        used = {row[:2]: row[2] for row in self.rows["usages"]}
        for key, delta in changes.usage.items():
            used[key] = used.get(key, 0) + delta
            assert used[key] >= 0
        self.rows["usages"] = {(*key, amount) for key, amount in used.items() if amount}


def tables(rows: Rows) -> dict[str, set[tuple[Any, ...]]]:
    names: Iterable[str] = Rows.__struct_fields__
    return {name: set(map(tuple, getattr(rows, name))) for name in names}
