"""The differences between two answers to one request."""

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tests.comparison.requests import Request, Search, minor_of
from tests.comparison.sides import Answer
from tests.comparison.state import State

HEADERS = ("content-type", "openstack-api-version", "cache-control", "location", "allow")

# Lists inside error messages whose order is not defined.
UNORDERED = (
    re.compile(r"Inventory for '(?P<list>[^']*)' on resource provider"),
    re.compile(r"on resource provider '(?P<list>[^']*)' invalid"),
    re.compile(r"No such trait (?P<list>[^.:]*?) *$"),
    re.compile(r"following traits keys: (?P<list>.*?) *$"),
    re.compile(r"found in root_required: (?P<list>.*?) *$"),
    re.compile(r"orphaned \w+ keys: (?P<list>.*?) *$"),
    re.compile(r"Real suffixes should be specified in `same_subtree`: (?P<list>.*?)\. *$"),
    re.compile(r"bad group\(s\) - (?P<list>.*?)\. *$"),
)


class Candidate(NamedTuple):
    """An allocation request in a form in which equal ones compare equal."""

    allocations: frozenset[tuple[str, str, int]]  # provider UUID, resource class, amount
    mappings: frozenset[tuple[str, frozenset[str]]] | None  # suffix, provider UUIDs; from 1.34

    @property
    def providers(self) -> set[str]:
        return {provider for provider, _, _ in self.allocations}

    def served_by(self, suffix: str) -> frozenset[str]:
        return dict(self.mappings or ()).get(suffix, frozenset())


@dataclasses.dataclass(frozen=True)
class Situation:
    """A request, both answers to it, and the state that is needed to judge them."""

    request: Request
    reference: Answer
    roost: Answer
    state: State | None = None  # before the request
    search: Search | None = None  # only for allocation candidates


@dataclasses.dataclass(frozen=True)
class Finding:
    """One difference between the answers."""

    kind: str  # status, header, body, code, detail, missing, extra, summary, wrong
    text: str
    situation: Situation
    candidate: Candidate | None = None  # the candidate that is missing or extra

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def compare(situation: Situation) -> Iterator[Finding]:
    """All findings about an answer that has no candidates."""
    yield from compare_frame(situation)
    if situation.reference.status != situation.roost.status:
        return
    if situation.reference.status >= 400:
        yield from compare_errors(situation)
        return
    bodies = canonical(situation.reference.body), canonical(situation.roost.body)
    if bodies[0] != bodies[1]:
        yield Finding("body", f"{as_text(bodies[0])}\n  but roost {as_text(bodies[1])}", situation)


def compare_frame(situation: Situation) -> Iterator[Finding]:
    """Compare status and headers."""
    reference, roost = situation.reference, situation.roost
    if reference.status != roost.status:
        texts = [f"{one.status} {one.content.decode()}" for one in (reference, roost)]
        yield Finding("status", f"{texts[0]}\n  but roost {texts[1]}", situation)
        return
    for name in HEADERS:
        values = reference.headers.get(name), roost.headers.get(name)
        if values[0] != values[1]:
            yield Finding("header", f"{name}: {values[0]}, but roost {values[1]}", situation)
    # Both sides send a time, but not the same one.
    if ("last-modified" in reference.headers) != ("last-modified" in roost.headers):
        which = "the reference" if "last-modified" in reference.headers else "roost"
        yield Finding("header", f"last-modified: only from {which}", situation)


def compare_errors(situation: Situation) -> Iterator[Finding]:
    """Compare the texts of errors; the request id always differs."""
    errors = [error_of(one) for one in (situation.reference, situation.roost)]
    for name in sorted(errors[0].keys() | errors[1].keys()):
        values = [error.get(name) for error in errors]
        if values[0] != values[1]:
            kind = name if name in ("code", "detail") else "body"
            yield Finding(kind, f"{name} {values[0]!r}\n  but roost {values[1]!r}", situation)


def error_of(answer: Answer) -> dict[str, Any]:
    (error,) = answer.body["errors"]
    return {
        name: without_order(value) if name == "detail" else value
        for name, value in error.items()
        if name != "request_id"
    }


def without_order(detail: str) -> str:
    for pattern in UNORDERED:
        found = pattern.search(detail)
        if found:
            # What a request repeats, the reference repeats in its refusal.
            words = " ".join(sorted(set(re.findall(r"[^\s,]+", found["list"]))))
            detail = detail[: found.start("list")] + words + detail[found.end("list") :]
    return detail


def canonical(value: Any) -> Any:
    """JSON in which the order of lists does not count.

    The conformance tests check the orders that do.
    """
    if isinstance(value, dict):
        return {name: canonical(one) for name, one in value.items()}
    if isinstance(value, list):
        return sorted((canonical(one) for one in value), key=as_text)
    return value


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# ---------------------------------------------------------------------------------------------
# Allocation candidates


def compare_candidates(
    situation: Situation, expected: list[Candidate], summaries: Mapping[str, Any]
) -> Iterator[Finding]:
    """All findings about candidates.

    Which candidates remain under a limit is not defined. So `expected` and `summaries` are those of
    the reference without a limit, and the answer of roost must be a part of them.
    """
    yield from compare_frame(situation)
    if situation.roost.status != 200:
        if situation.reference.status == situation.roost.status:
            yield from compare_errors(situation)
        return
    found = candidates_of(situation.roost)
    yield from check_candidates(situation, found)
    if situation.reference.status != 200:
        return
    search = situation.search
    assert search is not None
    # Before 1.34 candidates of exchanged groups are equal, and each of them counts.
    counts, expected_counts = Counter(found), Counter(expected)
    yield from findings_of(situation, "extra", counts - expected_counts)
    if search.limit is None or len(found) < search.limit:
        yield from findings_of(situation, "missing", expected_counts - counts)
    yield from compare_summaries(situation, canonical(summaries), found)


def findings_of(
    situation: Situation, kind: str, candidates: Counter[Candidate]
) -> Iterator[Finding]:
    for candidate in sorted(candidates, key=describe):
        text = f"{candidates[candidate]} times {describe(candidate)}"
        yield Finding(kind, text, situation, candidate)


def check_candidates(situation: Situation, found: list[Candidate]) -> Iterator[Finding]:
    """Check what holds for every correct answer, whatever the reference answers."""
    search = situation.search
    assert search is not None
    for candidate, times in Counter(found).items():
        if times > 1 and candidate.mappings is not None:
            yield Finding("wrong", f"{times} times {describe(candidate)}", situation, candidate)
    if search.limit is not None and len(found) > search.limit:
        yield Finding("wrong", f"{len(found)} candidates, over the limit", situation)
    wanted = Counter()
    for group in search.groups.values():
        wanted.update(group.resources)
    for candidate in found:
        given = Counter()
        for _, name, amount in candidate.allocations:
            given[name] += amount
        if given != wanted and not search.wrong:
            text = f"amounts differ from what was asked: {describe(candidate)}"
            yield Finding("wrong", text, situation, candidate)


def compare_summaries(
    situation: Situation, expected: Mapping[str, Any], found: list[Candidate]
) -> Iterator[Finding]:
    """Summaries that both sides have are equal, and roost has all that are needed."""
    summaries = canonical(situation.roost.body["provider_summaries"])
    for provider in expected.keys() & summaries.keys():
        if expected[provider] != summaries[provider]:
            texts = as_text(expected[provider]), as_text(summaries[provider])
            yield Finding("summary", f"{provider} {texts[0]}\n  but roost {texts[1]}", situation)
    state = situation.state
    assert state is not None
    needed = {provider for candidate in found for provider in candidate.providers}
    roots = {state.root(provider) for provider in needed}
    allowed = {provider for provider in state.providers if state.root(provider) in roots}
    if minor_of(situation.request.version) >= 29:
        needed = allowed
    else:
        # The reference keeps summaries of candidates that the limit removed, if their tree remains.
        allowed &= expected.keys()
    if not needed <= summaries.keys() <= allowed | needed:
        text = f"of {sorted(needed)} are needed, but roost has {sorted(summaries)}"
        yield Finding("summary", text, situation)


def isolated(search: Search, state: State, candidates: list[Candidate]) -> list[Candidate]:
    """The candidates that a search with isolation would give, out of those of one without."""
    return [
        candidate if search.minor >= 34 else candidate._replace(mappings=None)
        for candidate in candidates
        if (search.group_policy != "isolate" or different_providers(search, candidate))
        and (search.minor >= 29 or different_trees(state, candidate))
    ]


def different_providers(search: Search, candidate: Candidate) -> bool:
    chosen = [candidate.served_by(suffix) for suffix in search.suffixed]
    return len(frozenset().union(*chosen)) == len(chosen)


def different_trees(state: State, candidate: Candidate) -> bool:
    """Before 1.29 a candidate never has two providers of one tree."""
    roots = {state.root(provider) for provider in candidate.providers}
    return len(roots) == len(candidate.providers)


def candidates_of(answer: Answer) -> list[Candidate]:
    return [make_candidate(one) for one in answer.body["allocation_requests"]]


def make_candidate(request: Mapping[str, Any]) -> Candidate:
    mappings = request.get("mappings")
    return Candidate(
        frozenset(
            (provider, name, amount)
            for provider, resources in resources_by_provider(request["allocations"])
            for name, amount in resources.items()
        ),
        None
        if mappings is None
        else frozenset((suffix, frozenset(some)) for suffix, some in mappings.items()),
    )


def resources_by_provider(allocations: Any) -> Iterable[tuple[str, Mapping[str, int]]]:
    """Providers and their resources, in the form before 1.12 or in the one since."""
    if isinstance(allocations, list):
        return [(one["resource_provider"]["uuid"], one["resources"]) for one in allocations]
    return [(provider, one["resources"]) for provider, one in allocations.items()]


def describe(candidate: Candidate) -> str:
    parts = [" ".join(map(str, part)) for part in sorted(candidate.allocations)]
    if candidate.mappings is not None:
        parts += [
            f"{suffix!r}={sorted(some)}" for suffix, some in sorted(candidate.mappings, key=str)
        ]
    return ", ".join(parts)
