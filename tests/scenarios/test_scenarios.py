"""Worked examples: answered by the oracle, the search and the API."""

from collections import Counter
from collections.abc import Callable, Sequence

import httpx
import pytest

from tests import oracle
from tests.scenarios.reader import Request, Scenario, scenarios
from tests.support.headers import HEADERS
from tests.support.world import load, rows

SEARCHES = scenarios("[1235]-*.txt")
CASES = [
    pytest.param(scenario, request, id=f"{scenario.name}: {request.title}")
    for scenario in SEARCHES
    for request in scenario.requests
    if request.refused is None
]


def check(request: Request, found: Sequence[oracle.Answer]) -> None:
    allocations = [one.allocations for one in found]
    if request.exactly is not None:
        if request.version is None:
            assert set(allocations) == set(request.exactly)
            assert len(request.exactly) == len(set(request.exactly))
        else:
            assert Counter(allocations) == Counter(request.exactly)
    assert set(request.includes) <= set(allocations)
    assert not set(request.excludes).intersection(allocations)
    if request.mapped is not None and request.shows_mappings:
        assert Counter(one.mappings for one in found) == Counter(request.mapped)


def test_every_request_expects_something() -> None:
    without_expectation = [
        f"{scenario.name}: {request.title}"
        for scenario in SEARCHES
        for request in scenario.requests
        if request.exactly is None
        and request.refused is None
        and not (request.includes or request.mapped)
    ]
    assert without_expectation == []


@pytest.mark.parametrize(("scenario", "request_"), CASES)
def test_the_oracle_finds_the_documented_candidates(scenario: Scenario, request_: Request) -> None:
    check(request_, list(oracle.candidates(scenario.world, request_.query)))


@pytest.mark.parametrize(("scenario", "request_"), CASES)
def test_the_search_finds_the_documented_candidates(scenario: Scenario, request_: Request) -> None:
    from roost.search.find import find
    from roost.search.index.index import Index

    query = request_.query
    found = find(Index.build(rows(scenario.world)), query).candidates
    answers = [oracle.answer_of_candidate(one) for one in found]
    check(request_, answers)
    assert set(answers) == oracle.candidates(scenario.world, query)


@pytest.mark.parametrize("scenario", SEARCHES, ids=lambda scenario: scenario.name)
def test_the_api_returns_the_documented_candidates(
    scenario: Scenario, new_client: Callable[[], httpx.Client]
) -> None:
    client = new_client()
    load(scenario.world, client)
    for request in scenario.requests:
        check_answer(scenario, request, client)


def check_answer(scenario: Scenario, request: Request, client: httpx.Client) -> None:
    headers = dict(HEADERS)
    if request.version is not None:
        headers["OpenStack-API-Version"] = f"placement {request.version}"
    answer = client.get(f"/allocation_candidates?{request.query_string}", headers=headers)
    if request.refused is not None:
        assert answer.status_code == 400, (request.title, answer.text)
        assert request.refused in answer.json()["errors"][0]["detail"], request.title
        return
    assert answer.status_code == 200, (request.title, answer.text)
    answers = [oracle.answer_of_json(one) for one in answer.json()["allocation_requests"]]
    check(request, answers)
    expected = oracle.candidates(scenario.world, request.query)
    if not request.shows_mappings:
        expected = [one._replace(mappings=frozenset()) for one in expected]
    assert Counter(answers) == Counter(expected), request.title
