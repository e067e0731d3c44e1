"""The cost of the benchmark's requests on its own cloud, in steps, rows and bytes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import UNSET
from sqlalchemy import select

from benchmarks.datasets import Dataset, add_wide_host, build
from benchmarks.load import Dump, create_schema
from benchmarks.requests import CASES, Case
from roost.api.handlers.candidates import JsonLayout
from roost.api.versions import VERSION_MAX
from roost.model import ConsumerChange, ProviderSummary
from roost.operations.allocations import replace_allocations
from roost.operations.candidates import find_candidates
from roost.operations.providers import update_provider
from roost.operations.traits import replace_traits
from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.find import find
from roost.search.hard.block_search import BLOCK_FIRST
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.schema import resource_providers
from roost.store.store import Store
from tests.support.queries import parse_candidates

HOSTS = 300
LIMITS = (10, 100, 1000)
SEARCHES = [case for case in CASES if case.query is not None and "cloud" in case.kinds]
# How many choices may be tried for each candidate of an answer. Trees take turns, so a turn of all
# trees of a range may be made for the first few.
CHOICES_PER_CANDIDATE = 8
# Eight slots are filled one after the other, from eight devices each.
CHOICES_PER_WIDE_CANDIDATE = 8 * 8


class CountingLayout(JsonLayout):
    """Counts the summaries that are rendered, and their bytes."""

    def __init__(self, query: CandidateQuery) -> None:
        super().__init__(query, VERSION_MAX)
        self.count = 0
        self.size = 0

    def summary(self, summary: ProviderSummary) -> bytes:
        text = super().summary(summary)
        self.count += 1
        self.size += len(text)
        return text


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    built = build(f"cloud-{HOSTS}")
    add_wide_host(built)
    return built


@pytest.fixture(scope="module")
def database_url(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cloud")
    url = f"sqlite:///{folder}/cloud.db"
    create_schema(url)
    Dump(dataset, Path(folder)).load(url)
    store = Store.open(url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    store.dispose()
    return url


@pytest.fixture
def roost(database_url: str) -> Iterator[Roost]:
    roost = Roost(Store.open(database_url), Settings())
    yield roost
    roost.close()


def query_of(case: Case, limit: int | None = None) -> CandidateQuery:
    assert case.query is not None
    text = case.query if limit is None else f"{case.query}&limit={limit}"
    return parse_candidates(text, VERSION_MAX)


@pytest.mark.parametrize("case", SEARCHES, ids=lambda case: case.key)
def test_a_limit_bounds_the_choices_of_every_search(roost: Roost, case: Case) -> None:
    index = roost.current_index()
    for limit in LIMITS:
        budget = Budget()
        answer = find(index, query_of(case, limit), budget=budget)
        assert answer.count <= limit
        # If fewer candidates are found, all trees have been searched.
        bound = max(limit, HOSTS) * CHOICES_PER_CANDIDATE
        if case.key == "wide":
            bound = max(limit, BLOCK_FIRST) * CHOICES_PER_WIDE_CANDIDATE
        assert budget.choices_tried <= bound, (limit, answer.count)
        assert budget.rows_examined <= index.rows.count


def claim_one(roost: Roost, query: CandidateQuery, number: int) -> set[str]:
    """Claim the first candidate; the providers that it takes something from."""
    index = roost.current_index()
    [candidate] = find(index, query, limit_max=1).candidates
    change = ConsumerChange(
        consumer_uuid=f"00000000-0000-4000-8000-{number:012}",
        allocations=candidate.allocations,
        project_id="p",
        user_id="u",
        checks_generation=True,
    )
    replace_allocations(roost, changes=[change])
    return set(candidate.allocations)


def test_after_a_claim_only_the_trees_it_touched_are_rendered(roost: Roost) -> None:
    query = query_of(SEARCHES[0])
    first = CountingLayout(query)
    find_candidates(roost, query=query, layout=first)
    again = CountingLayout(query)
    find_candidates(roost, query=query, layout=again)
    assert first.count > HOSTS
    assert again.size == 0
    touched = claim_one(roost, query, 1)
    index = roost.current_index()
    rows = {row for uuid in touched for row in index.tree_rows(index.row_of_uuid[uuid])}
    after = CountingLayout(query)
    find_candidates(roost, query=query, layout=after)
    assert 0 < after.count <= len(rows)
    assert after.size < first.size / 100


def test_catching_up_reads_only_what_changed(roost: Roost, database_url: str) -> None:
    other = Store.open(database_url)
    position, _ = other.load()
    query = query_of(SEARCHES[0])
    touched = claim_one(roost, query, 2)
    news = other.changes_since(position)
    assert news is not None
    position, changes = news
    # A claim changes sums only: no row of any table is read.
    assert changes.provider_ids == frozenset()
    assert len(changes.rows.providers) == 0
    assert len(changes.generations) == len(touched)
    index = roost.current_index()
    root = next(iter(touched))
    generation = int(index.rows.generation[index.row_of_uuid[root]])
    replace_traits(
        roost, provider_uuid=root, traits={"HW_CPU_X86_AVX"}, expected_generation=generation
    )
    news = other.changes_since(position)
    assert news is not None
    position, changes = news
    # Nor for what was replaced.
    assert changes.provider_ids == frozenset()
    assert [len(parts.traits or ()) for parts in changes.parts] == [1]
    update_provider(roost, uuid=root, name="renamed", parent_uuid=UNSET, may_reparent=True)
    news = other.changes_since(position)
    assert news is not None
    _, changes = news
    with other.engine.connect() as connection:
        changed = connection.scalar(
            select(resource_providers.c.id).where(resource_providers.c.uuid == root)
        )
    assert changes.provider_ids == {changed}
    assert len(changes.rows.providers) == 1
    assert len(changes.rows.traits) == 1
    other.dispose()
