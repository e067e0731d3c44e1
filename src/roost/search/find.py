"""The pipeline, top to bottom: one query on one index -> candidates."""

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

import numpy as np

from roost.model import Candidate, Candidates, ProviderSummary, capacity
from roost.query import CandidateQuery
from roost.search.columns import Integers, Mask
from roost.search.combine import Rules, Work, combinations
from roost.search.index import Index
from roost.search.match import GroupMatcher, Slot, trait_sets_accepted

# Rows are examined in ranges that double: a small limit looks at few, a full scan pays little.
RANGE_FIRST = 2048
RANGE_LAST = 65536


def find(
    index: Index,
    query: CandidateQuery,
    *,
    limit_max: int | None = None,
    depth_first: bool = False,
    random: Random | None = None,
    work: Work | None = None,
) -> Candidates:
    """Where does this request fit?

    Names in the query must exist in the index. With a limit the trees take turns, so that one
    wide tree cannot fill the answer, unless `depth_first`. `random` shuffles what comes first.
    `limit_max` is the operator's limit, beside the query's own.
    """
    limits = [limit for limit in (query.limit, limit_max) if limit is not None]
    search = _Search(index, query, random, work or Work())
    # Where everything is asked for, whose turn it is does not matter.
    turns = bool(limits) and not depth_first
    distinct = search.distinct(search.ways_in_turns() if turns else search.ways_depth_first())
    return search.present(list(islice(distinct, min(limits, default=None))))


class _Search:
    def __init__(
        self, index: Index, query: CandidateQuery, random: Random | None, work: Work
    ) -> None:
        self.index = index
        self.query = query
        self.random = random
        self.work = work
        groups = [GroupMatcher(index, group) for group in query.groups]
        self.rules = Rules(index, query, groups)
        self.root_traits = (
            trait_sets_accepted(index, query.root_traits) if query.root_traits else None
        )
        everyone = sorted(set().union(*index.sharing.values())) if index.sharing else []
        sharing = np.array(everyone, dtype=np.int64)
        self.sharing = frozenset(everyone)
        self.lenders = [_Lenders(index, slot, sharing) for slot in self.rules.slots]

    # -- which trees ---------------------------------------------------------------------------

    def trees(self) -> Iterator[tuple[int, list[list[int]]]]:
        """Each tree that can fill every slot on its own, with the options of each slot."""
        for first, end in self._ranges():
            self.work.rows_examined += end - first
            rows = self.index.rows
            everyone = np.arange(first, end)
            roots = everyone[rows.live[first:end] & (rows.root[first:end] == everyone)]
            # Cheapest first: what the root must be, then what each slot needs.
            if self.root_traits is not None:
                roots = roots[self.root_traits[rows.traits[roots]]]
            local: list[Integers] = []
            for slot, lenders in zip(self.rules.slots, self.lenders, strict=True):
                if not len(roots):
                    break
                found = slot.local(self.index, first, end)
                local.append(found)
                served = np.zeros(end - first, dtype=np.bool_)
                served[rows.root[found] - first] = True
                able = served[roots - first]
                if lenders.reach is not None:
                    able |= lenders.reach[rows.tree_aggregates[roots]]
                roots = roots[able]
            if len(roots):
                yield from self._options(roots, local)

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that hold whole trees."""
        rows, first, size = self.index.rows, 0, RANGE_FIRST
        ranges = []
        while first < rows.count:
            end = min(first + size, rows.count)
            end = int(rows.last[rows.root[end - 1]]) + 1
            ranges.append((first, end))
            first, size = end, min(2 * size, RANGE_LAST)
        if self.random is not None:
            self.random.shuffle(ranges)
        return iter(ranges)

    def _options(
        self, roots: Integers, local: Sequence[Integers]
    ) -> Iterator[tuple[int, list[list[int]]]]:
        index = self.index
        ends = index.rows.last[roots] + 1
        spans = [
            (found, np.searchsorted(found, roots), np.searchsorted(found, ends)) for found in local
        ]
        numbers = list(range(len(roots)))
        if self.random is not None:
            self.random.shuffle(numbers)
        for number in numbers:
            root, end = int(roots[number]), int(ends[number])
            options = []
            for (found, starts, stops), lenders in zip(spans, self.lenders, strict=True):
                rows = found[starts[number] : stops[number]].tolist()
                if lenders.reach is not None:
                    rows.extend(row for row in lenders.to(root) if not root <= row < end)
                if self.random is not None:
                    self.random.shuffle(rows)
                options.append(rows)
            if all(options):
                yield root, options

    # -- which ways inside each tree -----------------------------------------------------------

    def ways_depth_first(self) -> Iterator[tuple[int, ...]]:
        for _root, options in self.trees():
            yield from combinations(self.rules, options, self.work)

    def ways_in_turns(self) -> Iterator[tuple[int, ...]]:
        """One way from each tree, then a second one from each, and so on."""
        waiting = []
        for _root, options in self.trees():
            ways = combinations(self.rules, options, self.work)
            way = next(ways, None)
            if way is not None:
                yield way
                waiting.append(ways)
        while waiting:
            still = []
            for ways in waiting:
                way = next(ways, None)
                if way is not None:
                    yield way
                    still.append(ways)
            waiting = still

    def distinct(self, ways: Iterator[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        """Each candidate once.

        Two trees can give the same one only if nothing in it is their own, that is if all of it
        is shared. Where it does not matter which group a provider serves, exchanged groups are
        the same candidate too.
        """
        merging = not self.query.distinguish_groups and len(self.query.groups) > 1
        if not merging and not self.sharing:
            yield from ways
            return
        seen: set[object] = set()
        for way in ways:
            if merging:
                key: object = frozenset(self._amounts(way).items())
            elif self.sharing.issuperset(way):
                key = way
            else:
                yield way
                continue
            if key not in seen:
                seen.add(key)
                yield way

    # -- the answer ----------------------------------------------------------------------------

    def _amounts(self, way: tuple[int, ...]) -> dict[tuple[int, int], int]:
        """What a candidate takes: (row, class id) -> amount."""
        amounts: dict[tuple[int, int], int] = {}
        for row, slot in zip(way, self.rules.slots, strict=True):
            for class_id, amount in slot.demands.items():
                amounts[row, class_id] = amounts.get((row, class_id), 0) + amount
        return amounts

    def present(self, ways: Sequence[tuple[int, ...]]) -> Candidates:
        touched: dict[int, None] = {}
        candidates = []
        for way in ways:
            amounts = self._amounts(way)
            touched.update(dict.fromkeys(row for row, _class in amounts))
            candidates.append(self._candidate(way, amounts))
        shown: dict[int, None] = touched
        if self.query.nested_aware:
            roots = dict.fromkeys(int(self.index.rows.root[row]) for row in touched)
            shown = dict.fromkeys(row for root in roots for row in self.index.tree_rows(root))
        summaries = tuple(summary(self.index, row) for row in shown)
        return Candidates(candidates=tuple(candidates), summaries=summaries)

    def _candidate(self, way: tuple[int, ...], amounts: dict[tuple[int, int], int]) -> Candidate:
        uuids, names = self.index.uuids, self.index.classes.names
        allocations: dict[str, dict[str, int]] = {}
        for (row, class_id), amount in amounts.items():
            allocations.setdefault(uuids[row], {})[names[class_id]] = amount
        mappings: dict[str, tuple[str, ...]] = {}
        for row, slot in zip(way, self.rules.slots, strict=True):
            serving = mappings.get(slot.group.suffix, ())
            if uuids[row] not in serving:
                mappings[slot.group.suffix] = (*serving, uuids[row])
        return Candidate(allocations=allocations, mappings=mappings)


class _Lenders:
    """The providers that can fill a slot for trees other than their own."""

    def __init__(self, index: Index, slot: Slot, sharing: Integers) -> None:
        self._index = index
        self._rows = (
            frozenset(slot.shared(index, sharing).tolist()) if len(sharing) else frozenset()
        )
        self._known: dict[int, list[int]] = {}
        # For each set of aggregates: whether a tree with it can borrow; None if nobody lends.
        self.reach: Mask | None = None
        if self._rows:
            aggregates = {name for row in self._rows for name in index.row_aggregates(row)}
            self.reach = index.aggregate_sets.holding_any(aggregates)

    def to(self, root: int) -> list[int]:
        """The rows that lend to the tree with this root."""
        number = int(self._index.rows.tree_aggregates[root])
        found = self._known.get(number)
        if found is None:
            names = self._index.aggregate_sets.members[number]
            lending = (self._index.sharing.get(name, set()) for name in names)
            found = self._known[number] = sorted(self._rows.intersection(set().union(*lending)))
        return found


def summary(index: Index, row: int) -> ProviderSummary:
    return ProviderSummary(
        uuid=index.uuids[row],
        parent_uuid=index.parent_uuid(row),
        root_uuid=index.root_uuid(row),
        traits=index.trait_names(row),
        resources={
            index.classes.names[stock.class_id]: (
                capacity(stock.total, stock.reserved, stock.allocation_ratio),
                stock.used,
            )
            for stock in index.stocks(row)
        },
    )
