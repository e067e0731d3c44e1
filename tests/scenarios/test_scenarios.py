"""Every worked example of the documents: answered by the oracle, the search and the API."""

from collections.abc import Callable

import httpx
import pytest

from tests import oracle
from tests.scenarios.reader import Allocations, Request, Scenario, parse, scenarios
from tests.support.headers import HEADERS
from tests.support.world import load, rows

SEARCHES = scenarios("[1235]-*.txt")
CASES = [
    pytest.param(scenario, request, id=f"{scenario.name}: {request.title}")
    for scenario in SEARCHES
    for request in scenario.requests
]


def check(request: Request, found: set[Allocations]) -> None:
    if request.exactly is not None:
        assert found == request.exactly
    assert request.includes <= found
    assert not request.excludes & found


def test_every_request_expects_something() -> None:
    without_expectation = [
        f"{scenario.name}: {request.title}"
        for scenario in SEARCHES
        for request in scenario.requests
        if request.exactly is None and not request.includes
    ]
    assert without_expectation == []


@pytest.mark.parametrize(("scenario", "request_"), CASES)
def test_the_oracle_finds_the_documented_candidates(scenario: Scenario, request_: Request) -> None:
    found = oracle.candidates(scenario.world, parse(request_.query_string))
    check(request_, {one.allocations for one in found})


@pytest.mark.parametrize(("scenario", "request_"), CASES)
def test_the_search_finds_the_documented_candidates(scenario: Scenario, request_: Request) -> None:
    from roost.search.find import find
    from roost.search.index.index import Index

    query = parse(request_.query_string)
    found = find(Index.build(rows(scenario.world)), query).candidates
    answers = [oracle.answer_of_candidate(one) for one in found]
    check(request_, {one.allocations for one in answers})
    assert set(answers) == oracle.candidates(scenario.world, query)


@pytest.mark.parametrize("scenario", SEARCHES, ids=lambda scenario: scenario.name)
def test_the_api_returns_the_documented_candidates(
    scenario: Scenario, new_client: Callable[[], httpx.Client]
) -> None:
    client = new_client()
    load(scenario.world, client)
    for request in scenario.requests:
        answer = client.get(f"/allocation_candidates?{request.query_string}", headers=HEADERS)
        assert answer.status_code == 200, (request.title, answer.text)
        query = parse(request.query_string)
        found = answer.json()["allocation_requests"]
        answers = [oracle.answer_of_json(one) for one in found]
        check(request, {one.allocations for one in answers})
        assert set(answers) == oracle.candidates(scenario.world, query), request.title
        assert len(answers) == len(set(answers)), request.title
