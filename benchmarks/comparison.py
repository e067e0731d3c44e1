"""Compares the candidates that both services find.

Without `limit` both must find the same set; with it, they must return members of that set. Where
the reference is known to be wrong, its correct candidates must be among roost's, and every
candidate of roost must match the request.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from benchmarks.client import Connection, Request
from benchmarks.datasets import WIDE_DEVICES
from benchmarks.requests import Case
from benchmarks.results import Comparison

LIMITS = (10, 1000)

Amounts = frozenset[tuple[str, str, int]]  # provider, class, amount
Mappings = frozenset[tuple[str, frozenset[str]]]  # suffix, providers


class Candidate(NamedTuple):
    amounts: Amounts
    mappings: Mappings


class SearchResult(NamedTuple):
    candidates: list[Candidate]
    # By provider. Lists in a summary are sorted, because their order is not defined.
    summaries: Mapping[str, Any]


def compare(case: Case, reference: Connection | None, roost: Connection) -> Comparison:
    """Compare one search. Without the reference, check roost against the request only."""
    assert case.query is not None
    ours = search(roost, case.query)
    problems = [*find_repeated("roost", ours), *check_limits(case.query, roost, ours)]
    invalid = [one for one in ours.candidates if not matches_request(one, case.query)]
    problems += [f"{len(invalid)} candidates of roost do not match the request"] * bool(invalid)
    if case.key == "wide":
        # Each group takes one device, so there is one candidate for each order of the devices.
        expected = math.factorial(WIDE_DEVICES)
        text = f"{len(ours.candidates)} candidates of {expected}; {case.exception}"
        if len(ours.candidates) != expected:
            problems.append(text)
    elif reference is None:
        text = f"{len(ours.candidates)} candidates, not compared with the reference"
    else:
        theirs = search(reference, case.query)
        text, different = differences(case, theirs, ours)
        problems += different
    return Comparison(key=case.key, same=not problems, text="; ".join(problems) or text)


def search(connection: Connection, query: str) -> SearchResult:
    target = f"/allocation_candidates?{query}"
    answer = connection.send(Request("GET", target))
    if answer.status != 200:
        raise RuntimeError(f"GET {target}: {answer.status} {answer.body[:500].decode()}")
    body = json.loads(answer.body)
    return SearchResult(
        [read_candidate(one) for one in body["allocation_requests"]],
        {
            provider: {**summary, "traits": sorted(summary["traits"])}
            for provider, summary in body["provider_summaries"].items()
        },
    )


def read_candidate(body: Mapping[str, Any]) -> Candidate:
    return Candidate(
        frozenset(
            (provider, name, amount)
            for provider, held in body["allocations"].items()
            for name, amount in held["resources"].items()
        ),
        frozenset((suffix, frozenset(providers)) for suffix, providers in body["mappings"].items()),
    )


def differences(case: Case, theirs: SearchResult, ours: SearchResult) -> tuple[str, list[str]]:
    """The text to report if both agree, and a list of differences."""
    assert case.query is not None
    reference, roost = set(theirs.candidates), set(ours.candidates)
    if case.exception and reference != roost:
        right = {one for one in reference if matches_request(one, case.query)}
        text = (
            f"{len(roost)} candidates; the reference has {len(right)} of them and "
            f"{len(reference - right)} wrong ones: {case.exception}"
        )
        missing = right - roost
        return text, [f"{len(missing)} right candidates only in the reference"] * bool(missing)
    problems = []
    if reference != roost:
        problems.append(
            f"{len(reference - roost)} candidates only in the reference, "
            f"{len(roost - reference)} only in roost"
        )
    if theirs.summaries != ours.summaries:
        problems.append("provider summaries differ")
    return f"the same {len(roost)} candidates", problems


def find_repeated(name: str, result: SearchResult) -> list[str]:
    extra = len(result.candidates) - len(set(result.candidates))
    return [f"{name} repeats {extra} candidates"] if extra else []


def check_limits(query: str, connection: Connection, whole: SearchResult) -> list[str]:
    """With a limit, roost must return that many distinct candidates out of the whole set."""
    problems = []
    for limit in LIMITS:
        some = search(connection, f"{query}&limit={limit}")
        expected = min(limit, len(set(whole.candidates)))
        if len(set(some.candidates)) != expected or len(some.candidates) != expected:
            problems.append(f"limit={limit} gives {len(some.candidates)}, not {expected}")
        unexpected = set(some.candidates) - set(whole.candidates)
        if unexpected:
            problems.append(f"limit={limit} gives {len(unexpected)} that the whole set lacks")
    return problems


def matches_request(candidate: Candidate, query: str) -> bool:
    """Whether the candidate has exactly the requested amounts and keeps isolated groups apart."""
    parameters = parse_qs(query)
    requested: Counter[str] = Counter()
    for key, values in parameters.items():
        if key.startswith("resources"):
            for pair in values[0].split(","):
                name, _, amount = pair.partition(":")
                requested[name] += int(amount)
    given: Counter[str] = Counter()
    for _, name, used in candidate.amounts:
        given[name] += used
    if requested != given:
        return False
    if parameters.get("group_policy") == ["isolate"]:
        served = [providers for suffix, providers in candidate.mappings if suffix]
        return sum(map(len, served)) == len(frozenset().union(*served))
    return True
