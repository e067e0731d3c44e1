"""The cost of bulk reads, in rows rather than in time."""

import tracemalloc

import pytest

from roost.api.handlers.provider_list import PARTS, ProviderWriter
from roost.api.http import pieces
from roost.changes import Rows
from roost.model import Inventory
from roost.operations.providers import ProviderPage
from roost.query import Page, ProviderQuery
from roost.search.budget import Budget
from roost.search.bulk import details
from roost.search.bulk.details import read_batches, select_page
from roost.search.index.index import Index
from roost.search.match import matching_providers
from tests.support.names import uid
from tests.support.world import build, provider, rows

HOSTS = 3000


@pytest.fixture(scope="module")
def index() -> Index:
    hosts = [provider(f"host{number}", {"VCPU": 8}) for number in range(HOSTS)]
    nodes = [provider(f"node{number}", {"VCPU": 1}, parent="host7") for number in range(4)]
    return Index.build(rows(build(*hosts, *nodes)))


@pytest.mark.parametrize(
    ("query", "examined"),
    [
        (ProviderQuery(tree=uid("node2")), 5),
        (ProviderQuery(in_tree=uid("node2")), 5),
        (ProviderQuery(uuid=uid("host9")), 1),
        (ProviderQuery(name="host9", tree=uid("host9"), resources={"VCPU": 1}), 1),
        (ProviderQuery(name="host9", tree=uid("host7")), 0),
        (ProviderQuery(in_tree=uid("nobody")), 0),
        (ProviderQuery(), HOSTS + 4),
    ],
    ids=["tree", "in_tree", "uuid", "name", "elsewhere", "nobody", "all"],
)
def test_a_question_about_one_tree_examines_that_tree(
    index: Index, query: ProviderQuery, examined: int
) -> None:
    budget = Budget()
    matching_providers(index, query, budget)
    assert budget.rows_examined == examined


@pytest.mark.parametrize("limit", [1, 499, 500, 501, 1200])
def test_a_page_reads_its_own_providers_only(index: Index, limit: int) -> None:
    everything = matching_providers(index, ProviderQuery())
    page = select_page(index, everything, Page(limit=limit, after=1000))
    batches = list(read_batches(index, page.rows, inventories=True))
    assert sum(len(batch.uuids) for batch in batches) == limit
    assert all(len(batch.uuids) <= details.PROVIDERS_PER_BATCH for batch in batches)
    assert sum(len(column.used) for batch in batches for column in batch.inventories) == limit


def test_batches_are_read_when_they_are_needed(index: Index) -> None:
    everything = matching_providers(index, ProviderQuery())
    batches = read_batches(index, everything, inventories=True)
    assert len(next(batches).uuids) == details.PROVIDERS_PER_BATCH


def test_a_batch_has_a_bounded_number_of_inventories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "INVENTORIES_PER_BATCH", 5)
    names = ["VCPU", "MEMORY_MB", "DISK_GB"]
    hosts = [provider(f"h{n}", dict.fromkeys(names[: n % 4], Inventory(total=1))) for n in range(9)]
    # One that has more than a whole batch may have, and one with nothing.
    many = [f"CUSTOM_{number}" for number in range(7)]
    world = build(*hosts, provider("many", dict.fromkeys(many, 1)), provider("last"))
    index = Index.build(rows(world))
    batches = list(
        read_batches(index, matching_providers(index, ProviderQuery()), inventories=True)
    )
    assert [name for batch in batches for name in batch.names] == [
        one.name for one in world.providers.values()
    ]
    for batch in batches:
        held = sum(len(column.used) for column in batch.inventories)
        assert held <= 5 or batch.names == ["many"]


@pytest.mark.parametrize("few_rows", [0, 10_000])
def test_pages_are_right_whatever_gaps_ids_have(
    monkeypatch: pytest.MonkeyPatch, few_rows: int
) -> None:
    monkeypatch.setattr(details, "FEW_ROWS", few_rows)
    ids = [1, 2, 3, 1000, 1001, 2**40, 2**40 + 1, 2**62]
    # The index has them in another order than that of their ids.
    table = [(number, uid(str(number)), str(number), 0, number, None, 0.0) for number in ids]
    made = Index.build(Rows(providers=table[::-1]))
    everything = matching_providers(made, ProviderQuery())
    for limit in range(1, 10):
        found: list[int] = []
        page = Page(limit=limit)
        while True:
            selected = select_page(made, everything, page)
            found += [made.ids[row] for row in selected.rows.tolist()]
            if selected.last_id is None:
                break
            assert len(selected.rows) == limit
            page = Page(limit=limit, after=selected.last_id)
        assert found == ids
    assert select_page(made, everything[:0], Page(limit=1)).last_id is None
    assert select_page(made, everything, Page(after=2**62)).rows.tolist() == []


def test_a_long_answer_takes_little_memory() -> None:
    count = 5000
    inventories = {"VCPU": 8, "MEMORY_MB": 1024, "DISK_GB": 9}
    hosts = [
        # All have different traits, so that none of them can be encoded once for all.
        provider(f"host{number}", inventories, traits=[f"CUSTOM_{number}"])
        for number in range(count)
    ]
    index = Index.build(rows(build(*hosts)))
    selected = select_page(index, matching_providers(index, ProviderQuery()), Page())
    page = ProviderPage(index, *selected)
    stream = pieces.gathered(ProviderWriter(page, frozenset(PARTS)).texts())
    tracemalloc.start()
    try:
        length = sum(map(len, stream))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert length > 2.5 * 2**20
    assert peak < 1.6 * 2**20
