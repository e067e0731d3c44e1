"""Do both find the same? Without `limit` the same set; with it, members of that set.

Where the reference is known to be wrong, what it has right must be among roost's candidates, and
all of roost's candidates must be what was asked for.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from benchmarks.client import Connection, Request
from benchmarks.requests import Case
from benchmarks.results import Comparison
from benchmarks.worlds import WIDE_DEVICES

LIMITS = (10, 1000)

Amounts = frozenset[tuple[str, str, int]]  # provider, class, amount
Mappings = frozenset[tuple[str, frozenset[str]]]  # suffix, providers


class Candidate(NamedTuple):
    amounts: Amounts
    mappings: Mappings


class Answered(NamedTuple):
    candidates: list[Candidate]
    # What is said of each provider; lists in it have no order that clients may rely on.
    summaries: Mapping[str, Any]


def compare(case: Case, reference: Connection | None, roost: Connection) -> Comparison:
    """Compare one search. Without the reference, roost is held against the request alone."""
    assert case.query is not None
    ours = ask(roost, case.query)
    problems = [*repeated("roost", ours), *wrong_limits(case.query, roost, ours)]
    strange = [one for one in ours.candidates if not is_what_was_asked(one, case.query)]
    problems += [f"{len(strange)} candidates of roost are not what was asked for"] * bool(strange)
    if case.key == "wide":
        # Each device once: every order of the devices, and no other way.
        expected = math.factorial(WIDE_DEVICES)
        text = f"{len(ours.candidates)} candidates of {expected}; {case.exception}"
        if len(ours.candidates) != expected:
            problems.append(text)
    elif reference is None:
        text = f"{len(ours.candidates)} candidates, not compared with the reference"
    else:
        theirs = ask(reference, case.query)
        text, different = differences(case, theirs, ours)
        problems += different
    return Comparison(key=case.key, same=not problems, text="; ".join(problems) or text)


def ask(connection: Connection, query: str) -> Answered:
    target = f"/allocation_candidates?{query}"
    answer = connection.send(Request("GET", target))
    if answer.status != 200:
        raise RuntimeError(f"GET {target}: {answer.status} {answer.body[:500].decode()}")
    body = json.loads(answer.body)
    return Answered(
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


def differences(case: Case, theirs: Answered, ours: Answered) -> tuple[str, list[str]]:
    """What to say if all is well, and what is not."""
    assert case.query is not None
    reference, roost = set(theirs.candidates), set(ours.candidates)
    if case.exception and reference != roost:
        right = {one for one in reference if is_what_was_asked(one, case.query)}
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


def repeated(name: str, answered: Answered) -> list[str]:
    extra = len(answered.candidates) - len(set(answered.candidates))
    return [f"{name} repeats {extra} candidates"] if extra else []


def wrong_limits(query: str, connection: Connection, whole: Answered) -> list[str]:
    """With a limit: as many as asked for, each once, each a member of the whole."""
    problems = []
    for limit in LIMITS:
        some = ask(connection, f"{query}&limit={limit}")
        expected = min(limit, len(set(whole.candidates)))
        if len(set(some.candidates)) != expected or len(some.candidates) != expected:
            problems.append(f"limit={limit} gives {len(some.candidates)}, not {expected}")
        strangers = set(some.candidates) - set(whole.candidates)
        if strangers:
            problems.append(f"limit={limit} gives {len(strangers)} that are not without it")
    return problems


def is_what_was_asked(candidate: Candidate, query: str) -> bool:
    """The amounts asked for, no more and no less, and isolated groups apart."""
    parameters = parse_qs(query)
    asked: Counter[str] = Counter()
    for key, values in parameters.items():
        if key.startswith("resources"):
            for pair in values[0].split(","):
                name, _, wanted = pair.partition(":")
                asked[name] += int(wanted)
    given: Counter[str] = Counter()
    for _, name, amount in candidate.amounts:
        given[name] += amount
    if asked != given:
        return False
    if parameters.get("group_policy") == ["isolate"]:
        served = [providers for suffix, providers in candidate.mappings if suffix]
        return sum(map(len, served)) == len(frozenset().union(*served))
    return True
