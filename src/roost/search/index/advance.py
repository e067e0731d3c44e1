"""Index + changes -> the next point in time, at a cost that follows the change."""

from collections.abc import Iterable

from roost.changes import Changes
from roost.search.index.index import Index
from roost.search.index.nodes import Node, column_capacity, nodes_from


def advance(index: Index, changes: Changes) -> None:
    """Bring the index from the earlier moment to the later one."""
    rows = changes.rows
    index.classes.update(rows.resource_classes, gone=changes.class_ids)
    index.traits.update(rows.trait_names, gone=changes.trait_ids)
    if changes.class_ids or changes.trait_ids:
        # A class can be renamed.
        index.fragments.clear()
    if changes.provider_ids:
        fresh = nodes_from(rows)
        moved = {
            number
            for number in changes.provider_ids
            if not _update_in_place(index, number, fresh.get(number))
        }
        _rewrite_trees(index, moved, fresh)
    for (provider_id, class_id), amount in changes.usage.items():
        _add_usage(index, provider_id, class_id, amount)
    for provider_id, generation in changes.generations.items():
        row = index.row_of_id.get(provider_id)
        if row is not None:
            # Announcements of several writers come in any order; generations only grow.
            index.rows.generation[row] = max(generation, int(index.rows.generation[row]))
    index.sweep()


def is_next(index: Index, sums: Changes) -> bool:
    """Whether nothing is missing between the index and these sums, for the providers they name.

    Each moves generations by one step, so a step that is missing is somebody else's.
    """
    rows = index.row_of_id
    return all(
        provider_id not in rows or int(index.rows.generation[rows[provider_id]]) == generation - 1
        for provider_id, generation in sums.generations.items()
    )


def _add_usage(index: Index, provider_id: int, class_id: int, amount: int) -> None:
    row = index.row_of_id.get(provider_id)
    column = index.columns.get(class_id)
    if row is None or column is None:
        return
    position = column.position(row)
    # Without an inventory there is nothing to show usage of; one that comes back later is read
    # from the tables with its usage.
    if position is not None:
        column.used[position] += amount
        index.forget_fragments(row)


def _update_in_place(index: Index, number: int, node: Node | None) -> bool:
    """Take over new numbers of a provider whose shape stayed; False if its shape changed."""
    row = index.row_of_id.get(number)
    if row is None or node is None:
        return row is None and node is None
    parent = int(index.rows.parent[row])
    same_shape = (
        node.parent_id == (None if parent < 0 else index.ids[parent])
        and node.uuid == index.uuids[row]
        and node.name == index.names[row]
        and _same_lending(index, row, node)
        and tuple(stock.class_id for stock in node.stocks) == index.row_classes[row]
    )
    if not same_shape:
        return False
    index.forget_fragments(row)
    index.set_traits(row, node.traits)
    index.set_aggregates(row, node.aggregates)
    index.rows.generation[row] = node.generation
    index.rows.modified[row] = node.modified
    for stock in node.stocks:
        column = index.columns[stock.class_id]
        position = column.position(row)
        column.capacity[position] = column_capacity(stock)
        for name in ("total", "reserved", "min_unit", "max_unit", "step_size"):
            getattr(column, name)[position] = getattr(stock, name)
        column.allocation_ratio[position] = stock.allocation_ratio
        column.used[position] = stock.used
        column.modified[position] = stock.modified
    return True


def _same_lending(index: Index, row: int, node: Node) -> bool:
    """Whether the provider lends to the same trees as before; mostly it never lends at all."""
    traits, aggregates = index.row_traits(row), index.row_aggregates(row)
    if not index.shares(traits) and not index.shares(node.traits):
        return True
    return node.traits == traits and node.aggregates == aggregates


def _rewrite_trees(index: Index, numbers: Iterable[int], fresh: dict[int, Node]) -> None:
    """Write anew every tree that one of these providers leaves, enters or changes."""
    numbers = set(numbers)
    touched = {index.row_of_id[number] for number in numbers if number in index.row_of_id}
    for number in numbers & fresh.keys():
        parent_id = fresh[number].parent_id
        if parent_id in index.row_of_id:
            touched.add(index.row_of_id[parent_id])
    roots = {int(index.rows.root[row]) for row in touched}
    nodes = {}
    for root in roots:
        for row in index.tree_rows(root):
            nodes[index.ids[row]] = index.node(row)
    for number in numbers:
        nodes.pop(number, None)
        if number in fresh:
            nodes[number] = fresh[number]
    for root in roots:
        index.kill_tree(root)
    # In the order in which they would be read from the tables.
    index.append_trees(nodes[number] for number in sorted(nodes))
