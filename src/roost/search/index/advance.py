"""Index + changes -> the next point in time, at a cost proportional to the change."""

from collections.abc import Iterable

import numpy as np

from roost.changes import Changes, ProviderParts
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.index.providers import (
    IndexedProvider,
    clipped_capacity,
    column_capacity,
    providers_from,
    with_parts,
)

# More changes of claims than this are applied with arrays.
ONE_BY_ONE_MAX = 24


def advance(index: Index, changes: Changes) -> None:
    """Apply the changes to the index."""
    rows = changes.rows
    index.classes.update(rows.resource_classes, gone=changes.class_ids)
    index.traits.update(rows.trait_names, gone=changes.trait_ids)
    if changes.class_ids or changes.trait_ids:
        # A class may have been renamed, and summaries show its name.
        index.drop_all_summaries()
    for parts in changes.parts:
        _replace_parts(index, parts)
    if changes.provider_ids:
        fresh = providers_from(rows)
        moved = {
            number
            for number in changes.provider_ids
            if not _update_in_place(index, number, fresh.get(number))
        }
        _rewrite_trees(index, moved, fresh)
    if len(changes.usage) + len(changes.generations) > ONE_BY_ONE_MAX:
        _apply_claims_at_once(index, changes)
    else:
        _apply_claims_one_by_one(index, changes)
    index.compact()


def rows_touched(index: Index, changes: Changes) -> int:
    """How many rows `advance` has to look at, as a measure of the time that it takes."""
    touched = len(changes.usage) + len(changes.generations)
    if not (changes.provider_ids or changes.parts or changes.class_ids or changes.trait_ids):
        # Of claims.
        return touched
    roots = set()
    for number in changes.provider_ids:
        row = index.row_of_id.get(number)
        if row is not None:
            roots.add(int(index.rows.root[row]))
    for _, _, _, _, _, parent_id, _ in changes.rows.providers:
        row = index.row_of_id.get(parent_id)
        if row is not None:
            roots.add(int(index.rows.root[row]))
    for part in changes.parts:
        # Otherwise only its own row is changed.
        if part.traits is not None or part.aggregates is not None:
            row = index.row_of_id.get(part.id)
            if row is not None:
                roots.add(int(index.rows.root[row]))
    in_trees = sum(len(index.tree_rows(root)) for root in roots)
    names = len(changes.class_ids) + len(changes.trait_ids)
    touched += len(changes.provider_ids) + names + len(changes.parts)
    # Compacting looks at every row.
    compacted = index.rows.count if in_trees and index.is_sparse(in_trees) else 0
    return touched + in_trees + compacted


def is_next(index: Index, sums: Changes) -> bool:
    """Whether these sums are the next change of all providers that they name.

    Each change moves a generation by one, and a batch of claims by one for each of them. So a
    larger step means that the index has not yet seen the change of another writer.
    """
    generations = index.rows.generation
    for provider_id, generation in sums.first_generations.items():
        row = index.row_of_id.get(provider_id)
        if row is not None and generations.item(row) != generation - 1:
            return False
    return not sums.parts or all(_knows(index, each) for each in sums.parts)


def _knows(index: Index, parts: ProviderParts) -> bool:
    """Whether the index has all that these parts of a provider refer to."""
    row = index.row_of_id.get(parts.id)
    if row is None:
        return False
    classes, traits = index.row_classes(row), index.traits.names
    return all(each[0] in classes for each in parts.inventories or ()) and all(
        each in traits for each in parts.traits or ()
    )


def _replace_parts(index: Index, parts: ProviderParts) -> None:
    row = index.row_of_id.get(parts.id)
    if row is None:
        return
    if parts.traits is not None or parts.aggregates is not None:
        traits = index.row_traits(row) if parts.traits is None else tuple(parts.traits)
        if index.shares(index.row_traits(row)) or index.shares(traits):
            # It shares with other trees from now on, or no longer.
            provider = with_parts(index.provider(row), parts)
            _rewrite_trees(index, [provider.id], {provider.id: provider})
            return
    index.tree_changed(row)
    if parts.traits is not None:
        index.set_traits(row, tuple(parts.traits))
    if parts.aggregates is not None:
        index.set_aggregates(row, tuple(parts.aggregates))
    index.rows.own("generation")[row] = parts.generation
    index.rows.own("modified")[row] = parts.modified
    for class_id, total, reserved, low, high, step, ratio in parts.inventories or ():
        index.columns[class_id].update(
            row,
            {
                "total": total,
                "reserved": reserved,
                "min_unit": low,
                "max_unit": high,
                "step_size": step,
                "allocation_ratio": ratio,
                "modified": parts.modified,
                "capacity": clipped_capacity(total, reserved, ratio),
            },
        )


def _apply_claims_one_by_one(index: Index, changes: Changes) -> None:
    """Add usage and set generations: for a few, numpy takes longer to begin than to do it."""
    row_of, roots = index.row_of_id.get, index.rows.root
    changed: dict[int, int] = {}  # row -> its root
    for (provider_id, class_id), amount in changes.usage.items():
        row = row_of(provider_id)
        column = index.columns.get(class_id)
        if row is None or column is None:
            continue
        position = column.position(row)
        # Without an inventory there is no usage to show; one that is created later is read from the
        # tables with its usage.
        if position is not None:
            column.own("used")[position] += amount
            changed[row] = roots.item(row)
    if changed:
        index.trees_changed(list(set(changed.values())), list(changed))
    if changes.generations:
        generations = index.rows.own("generation")
        for provider_id, generation in changes.generations.items():
            row = row_of(provider_id)
            # Changes of several writers arrive in any order, and generations only grow.
            if row is not None and generations.item(row) < generation:
                generations[row] = generation


def _apply_claims_at_once(index: Index, changes: Changes) -> None:
    """Add usage and set generations, all of one class at a time."""
    row_of = index.row_of_id.get
    changed: list[Integers] = []
    by_class: dict[int, tuple[list[int], list[int]]] = {}
    for (provider_id, class_id), amount in changes.usage.items():
        row = row_of(provider_id)
        if row is not None:
            rows, amounts = by_class.setdefault(class_id, ([], []))
            rows.append(row)
            amounts.append(amount)
    for class_id, (rows, amounts) in by_class.items():
        column = index.columns.get(class_id)
        if column is None:
            continue
        positions, has = column.positions(rows)
        # No provider is named twice, so no position is.
        column.own("used")[positions[has]] += np.array(amounts)[has]
        changed.append(np.array(rows)[has])
    if changed:
        rows_changed = np.unique(np.concatenate(changed))
        index.trees_changed(np.unique(index.rows.root[rows_changed]).tolist(), rows_changed)
    known = [
        (row, generation)
        for provider_id, generation in changes.generations.items()
        if (row := row_of(provider_id)) is not None
    ]
    if known:
        moved, reached = np.array(known).T
        generations = index.rows.own("generation")
        generations[moved] = np.maximum(generations[moved], reached)


def _update_in_place(index: Index, number: int, new: IndexedProvider | None) -> bool:
    """Update a provider in place; False if its shape changed, so that its tree is rewritten."""
    row = index.row_of_id.get(number)
    if row is None or new is None:
        return row is None and new is None
    parent = int(index.rows.parent[row])
    same_shape = (
        new.parent_id == (None if parent < 0 else index.ids[parent])
        and new.uuid == index.uuids[row]
        and new.name == index.names[row]
        and _shares_alike(index, row, new)
        and tuple(each.class_id for each in new.inventories) == index.row_classes(row)
    )
    if not same_shape:
        return False
    index.tree_changed(row)
    index.set_traits(row, new.traits)
    index.set_aggregates(row, new.aggregates)
    index.rows.own("generation")[row] = new.generation
    index.rows.own("modified")[row] = new.modified
    for inventory in new.inventories:
        values = {**inventory._asdict(), "capacity": column_capacity(inventory)}
        del values["class_id"]
        index.columns[inventory.class_id].update(row, values)
    return True


def _shares_alike(index: Index, row: int, new: IndexedProvider) -> bool:
    """Whether the provider shares with the same trees as before; most never share at all."""
    traits, aggregates = index.row_traits(row), index.stored_aggregates(row)
    if not index.shares(traits) and not index.shares(new.traits):
        return True
    return new.traits == traits and new.aggregates == aggregates


def _rewrite_trees(index: Index, numbers: Iterable[int], fresh: dict[int, IndexedProvider]) -> None:
    """Rewrite every tree that one of these providers leaves, enters or changes."""
    numbers = set(numbers)
    touched = {index.row_of_id[number] for number in numbers if number in index.row_of_id}
    for number in numbers & fresh.keys():
        parent_id = fresh[number].parent_id
        if parent_id in index.row_of_id:
            touched.add(index.row_of_id[parent_id])
    roots = {int(index.rows.root[row]) for row in touched}
    providers = {}
    for root in roots:
        for row in index.tree_rows(root):
            providers[index.ids[row]] = index.provider(row)
    for number in numbers:
        providers.pop(number, None)
        if number in fresh:
            providers[number] = fresh[number]
    for root in roots:
        index.remove_tree(root)
    # In the order in which they would be read from the tables.
    index.append_trees(providers[number] for number in sorted(providers))
