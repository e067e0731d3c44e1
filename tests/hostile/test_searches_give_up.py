"""A search that uses up its time gives what it has found, or says why it gave up."""

from collections.abc import Iterator
from itertools import combinations

import httpx
import pytest
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search.budget import UNITS_PER_QUESTION, Budget
from roost.search.find import find
from roost.search.index.index import Index
from roost.service.search_time import SearchTime
from tests.support.direct_client import direct_client
from tests.support.headers import HEADERS
from tests.support.world import build, load, provider, rows

VF = "SRIOV_NET_VF"
WORLD = build(
    provider("host", {"VCPU": 8}),
    *(provider(f"device{number}", {VF: 4}, parent="host") for number in range(8)),
)
NAMES = [f"_{number}" for number in range(8)]
MANY = "&".join(f"resources{name}={VF}:1" for name in NAMES)
# Each device serves one of the eight, and then none of them the ninth.
NONE = "&".join([*(f"resources{name}={VF}:3" for name in NAMES), f"resources_8={VF}:2"])


class FewQuestions:
    """The clock of a search, whose time is over after so many questions."""

    def __init__(self, count: int) -> None:
        self.left = count

    def may_go_on(self) -> bool:
        self.left -= 1
        return self.left >= 0


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('hard') / 'roost.db'}"


@pytest.fixture(scope="module")
def loaded(database_url: str) -> str:
    with direct_client(database_url) as client:
        load(WORLD, client)
    return database_url


@pytest.fixture
def client(loaded: str) -> Iterator[httpx.Client]:
    with direct_client(loaded) as client:
        yield client


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search may ask the clock three times."""
    monkeypatch.setattr(
        SearchTime, "__init__", lambda self, *_, **__: setattr(self, "clock", FewQuestions(3))
    )
    monkeypatch.setattr(SearchTime, "may_go_on", lambda self: self.clock.may_go_on())


def search(client: httpx.Client, text: str) -> httpx.Response:
    return client.get(f"/allocation_candidates?{text}", headers={**HEADERS})


def test_time_is_left_for_ordinary_searches(client: httpx.Client, little_time: None) -> None:
    found = search(client, f"resources_1={VF}:1&resources_2={VF}:1&group_policy=none")
    assert found.status_code == 200
    assert len(found.json()["allocation_requests"]) == 64


def test_with_a_limit_what_was_found_is_the_answer(client: httpx.Client, little_time: None) -> None:
    found = search(client, f"{MANY}&group_policy=none&limit=1000000")
    assert found.status_code == 200
    requests = found.json()["allocation_requests"]
    assert 0 < len(requests) < 1_000_000
    assert all(set(request["mappings"]) == set(NAMES) for request in requests)


def test_without_a_limit_it_is_an_error_with_a_reason(
    client: httpx.Client, little_time: None
) -> None:
    refused = search(client, f"{MANY}&group_policy=none")
    assert refused.status_code == 400
    (error,) = refused.json()["errors"]
    assert error["code"] == "placement.search_too_hard"
    detail = error["detail"]
    assert "8 groups with 8 providers have more than 10^7 combinations" in detail
    assert "`limit`" in detail
    assert "Fewer groups" in detail
    assert "isolate" not in detail


def test_a_limit_of_the_operator_is_a_limit(loaded: str, little_time: None) -> None:
    with direct_client(loaded, max_allocation_candidates=1_000_000) as client:
        found = search(client, f"{MANY}&group_policy=none")
    assert found.status_code == 200
    assert found.json()["allocation_requests"]


def test_that_nothing_was_found_is_not_that_nothing_fits(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = "&".join(f"isolate=_0,{other}" for other in NAMES[1:])
    text = f"{NONE}&{pairs}&limit=5"
    assert search(client, text).json()["allocation_requests"] == []
    monkeypatch.setattr(SearchTime, "may_go_on", lambda self: False)
    refused = search(client, text)
    assert refused.status_code == 400
    detail = refused.json()["errors"][0]["detail"]
    assert "9 groups with 8 providers have more than 10^8 combinations" in detail
    assert "7 rules between groups" in detail
    assert "One `isolate`" in detail
    assert "With a `limit`" not in detail


def test_a_page_that_was_cut_short_is_followed_by_the_rest(
    client: httpx.Client, little_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{MANY}&group_policy=none&order=root&limit=3000"
    page = search(client, text).json()
    assert 0 < len(page["allocation_requests"]) < 3000
    assert page["next"]
    monkeypatch.undo()
    # The same in one piece, and the rest of it.
    whole = search(client, text).json()["allocation_requests"]
    count = len(page["allocation_requests"])
    rest = search(client, f"{text.replace('3000', str(3000 - count))}&after={page['next']}").json()
    assert page["allocation_requests"] + rest["allocation_requests"] == whole


class WatchedBudget(Budget):
    """Notes the most that is spent at once: so late can a question to the clock be."""

    def __init__(self, units_max: float) -> None:
        super().__init__(units_max=units_max)
        self.most = 0

    def _spend(self, units: int) -> None:
        self.most = max(self.most, units)
        super()._spend(units)


def hard_queries() -> Iterator[CandidateQuery]:
    def some(amounts: list[int]) -> tuple[RequestGroup, ...]:
        return tuple(
            RequestGroup(suffix=f"_{number}", resources={VF: amount})
            for number, amount in enumerate(amounts)
        )

    for amounts in ([1] * 8, [1] * 40, list(range(1, 5)) * 15, [3] * 8 + [2], [1, 2, 1]):
        query = CandidateQuery(groups=some(amounts))
        pairs = combinations([group.suffix for group in query.groups], 2)
        yield query
        yield evolve(query, limit=10)
        yield evolve(query, order=Order(by=OrderBy.RANDOM))
        yield evolve(query, isolated=tuple(map(frozenset, pairs))[::3])
        yield evolve(query, same_subtree=(frozenset(group.suffix for group in query.groups),))


@pytest.mark.parametrize("device_count", [8, 60, 3000])
def test_the_clock_is_asked_often(device_count: int) -> None:
    devices = [provider(f"device{n}", {VF: 4}, parent="host") for n in range(device_count)]
    hosts = [provider(f"host{n}", {VF: 40}) for n in range(2000)]
    index = Index.build(rows(build(provider("host"), *devices, *hosts)))
    for query in hard_queries():
        budget = WatchedBudget(units_max=1_000_000)
        find(index, query, budget=budget)
        assert budget.most < 4 * UNITS_PER_QUESTION, query
