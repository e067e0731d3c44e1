"""A snapshot of the index never changes, whatever happens to the index."""

import pytest

from roost.query import CandidateQuery, RequestGroup
from roost.search.budget import Budget
from roost.search.find import find
from roost.search.index import index as index_module
from roost.search.index.advance import advance
from roost.search.index.copy_on_write import CopyOnWrite
from roost.search.index.index import Index
from tests.property.test_advance import AGGREGATES, Tables

QUERY = CandidateQuery(
    groups=(
        RequestGroup(resources={"CLASS0": 1, "CLASS1": 1}),
        RequestGroup(suffix="_A", resources={"CLASS2": 1}),
    )
)


class Layout:
    """Shows all that an answer says."""

    key = "everything"

    def candidate(self, candidate):
        return repr(candidate)

    def summary(self, summary):
        return repr(summary).encode()


def seen(index):
    """All that readers can ask of an index."""
    answer = find(index, QUERY)
    uuids = [uuid for uuid in index.uuids[: index.rows.count] if uuid]
    return (
        index.contents(),
        sorted(map(repr, answer.candidates)),
        sorted(answer.write_summaries(Layout(), Budget())),
        {uuid: index.row_of_uuid[uuid] for uuid in uuids},
        {name: index.row_of_name[name] for name in index.names[: index.rows.count] if name},
        [index.row_of_id[id] for id in index.ids[: index.rows.count] if id],
        index.aggregate_sets.holding_any(AGGREGATES[:1]).tolist(),
        index.trait_sets.holding_any([1]).tolist(),
    )


def run(seed, monkeypatch):
    """Random changes, among which snapshots are taken, looked at, and forgotten."""
    monkeypatch.setattr(index_module, "REMOVED_FEW", 12)
    tables = Tables(seed)
    index = Index.build(tables.rows())
    held = []
    rebuilt = 0
    for _ in range(50):
        for _ in range(tables.random.randrange(1, 4)):
            tables.write()
        before = index.rows
        advance(index, tables.take_changes())
        rebuilt += index.rows is not before
        for snapshot, then in held:
            assert seen(snapshot) == then
        fresh = Index.build(tables.rows())
        assert index.contents() == fresh.contents()
        assert seen(index)[1:3] == seen(fresh)[1:3]
        if tables.random.random() < 0.4:
            snapshot = index.snapshot()
            # What the index itself shows must not depend on what readers of a snapshot cached.
            held.append((snapshot, seen(snapshot)))
        if held and tables.random.random() < 0.3:
            del held[tables.random.randrange(len(held))]
    return rebuilt


@pytest.mark.parametrize("seed", range(15))
def test_snapshots_never_change(seed, monkeypatch):
    run(seed, monkeypatch)


def test_the_index_is_compacted_among_them(monkeypatch):
    assert any(run(seed, monkeypatch) for seed in range(100, 105))


WRITTEN_IN_PLACE = [
    *("aggregates", "by_aggregate", "capacity", "classes", "generation"),
    *("keys", "live", "stamp", "tree_aggregates", "used"),
]


@pytest.mark.parametrize("forgotten", WRITTEN_IN_PLACE)
def test_the_test_notices_a_write_without_a_copy(forgotten, monkeypatch):
    own = CopyOnWrite.own

    def own_but(self, name):
        if name == forgotten:
            self.changed()
            return getattr(self, name)
        return own(self, name)

    monkeypatch.setattr(CopyOnWrite, "own", own_but)
    # What belongs together no longer does, so it may also lead nowhere.
    with pytest.raises((AssertionError, LookupError)):  # noqa: PT012 - any of them may notice it
        for seed in range(25):
            run(seed, monkeypatch)
