"""The deliberate differences between roost and the reference, and how to recognise each.

An entry explains single findings, as few as possible: an extra candidate, a missing one, another
status. A finding that no entry explains is a failure. Decision 0001 has the same table for readers,
with the documented answer where the reference is wrong.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.comparison.compare import Candidate, Finding
from tests.comparison.requests import Group, Request, Search
from tests.comparison.state import State

WRONG = "Where the reference is wrong"

UNKNOWN_NAME = re.compile(r"No such (resource class|trait)")
MISSING_INVENTORY = re.compile(
    r"Inventory for '(?P<classes>[^']*)' on resource provider '(?P<providers>[^']*)' invalid"
)
CLASS_NAME = re.compile(r"^[A-Z0-9_]+$")
STRICTNESS = re.compile(
    r",\s*'(additionalProperties': False|minimum': -3\.40282e\+38|maxLength': 36"
    r"|max(Items|Properties)': \d+"
    r"|pattern': '[^']*')|\s"
)

PLACE = re.compile(r"(?<=schema)(\['\w+'\])+|(?<=On instance)(\['\w+'\])+")

used: Counter[str] = Counter()


@dataclasses.dataclass(frozen=True)
class Difference:
    """One known difference."""

    name: str
    reason: str
    explains: Callable[[Finding], bool]


def explain(finding: Finding) -> Difference | None:
    """The entry that explains a finding, which is counted; None for an unknown difference."""
    for difference in DIFFERENCES:
        if difference.explains(finding):
            used[difference.name] += 1
            return difference
    return None


# ---------------------------------------------------------------------------------------------
# Searches


def amounts_leak(search: Search) -> bool:
    """Whether the search meets that bug.

    It does not occur with group_policy=none, nor between suffixed groups.
    """
    if "" not in search.groups or search.group_policy == "none":
        return False
    wanted = search.groups[""].resources.keys()
    return any(group.resources.keys() & wanted for group in search.suffixed.values())


def unsuffixed_group_shared(finding: Finding) -> bool:
    search, state = finding.situation.search, finding.situation.state
    if finding.kind != "extra" or search is None or state is None or finding.candidate is None:
        return False
    if "" not in search.groups or not search.suffixed:
        return False
    return only_sharing(search, state, finding.candidate)


def only_sharing(search: Search, state: State, candidate: Candidate) -> bool:
    """Whether sharing providers alone serve (before 1.34: may serve) the unsuffixed group."""
    if candidate.mappings is not None:
        return candidate.served_by("") <= state.sharing
    shared = {name for provider, name, _ in candidate.allocations if provider in state.sharing}
    return search.groups[""].resources.keys() <= shared


def nested_sharing_provider(finding: Finding) -> bool:
    """The message of that 500 is the internal id of a provider."""
    situation = finding.situation
    if finding.kind != "status" or situation.search is None or situation.state is None:
        return False
    if (situation.reference.status, situation.roost.status) != (500, 200):
        return False
    state = situation.state
    nested = any(state.root(provider) != provider for provider in state.sharing)
    detail = situation.reference.body["errors"][0]["detail"]
    return nested and re.search(r"\n\n \d+ *$", detail) is not None


def resourceless_group_unbound(finding: Finding) -> bool:
    search = finding.situation.search
    if finding.kind != "extra" or search is None:
        return False
    return any(
        not group.resources and not has_requirements(group) for group in search.suffixed.values()
    )


def has_requirements(group: Group) -> bool:
    """Whether the group requires a trait or an aggregate, and does not only forbid some."""
    traits = (name for value in group.required for name in value.removeprefix("in:").split(","))
    return any(not name.startswith("!") for name in traits) or any(
        not value.startswith("!") for value in group.member_of
    )


def resourceless_group_in_tree(finding: Finding) -> bool:
    search = finding.situation.search
    if finding.kind != "missing" or search is None:
        return False
    return any(not group.resources and group.in_tree for group in search.suffixed.values())


def sharing_narrowed(finding: Finding) -> bool:
    search, state, candidate = finding.situation.search, finding.situation.state, finding.candidate
    if finding.kind != "extra" or search is None or state is None or candidate is None:
        return False
    suffixes = list(search.groups)
    narrowing = [suffix for suffix, group in search.groups.items() if group.member_of]
    if not narrowing:
        return False
    after = suffixes[suffixes.index(narrowing[0]) + 1 :]
    if candidate.mappings is None:
        return bool(after) and bool(candidate.providers & state.sharing)
    return any(candidate.served_by(suffix) & state.sharing for suffix in after)


def aggregates_of_provider_and_root(finding: Finding) -> bool:
    """Some aggregates are those of the provider and some those of its root."""
    search, state, candidate = finding.situation.search, finding.situation.state, finding.candidate
    if finding.kind != "extra" or search is None or state is None or candidate is None:
        return False
    rules = [value for value in unsuffixed_member_of(search) if not value.startswith("!")]
    return len(rules) > 1 and any(
        not is_member(state, {provider}, rules)
        and not is_member(state, {state.root(provider)}, rules)
        and is_member(state, {provider, state.root(provider)}, rules)
        for provider in served_unsuffixed(candidate)
    )


def aggregates_of_sharing_root(finding: Finding) -> bool:
    """For another tree, the reference reads the aggregates of the sharing provider alone."""
    search, state, candidate = finding.situation.search, finding.situation.state, finding.candidate
    if search is None or state is None or candidate is None:
        return False
    rules = unsuffixed_member_of(search)
    return any(
        state.root(provider) != provider
        and is_member(state, {provider}, rules) == (finding.kind == "missing")
        and is_member(state, {provider, state.root(provider)}, rules) == (finding.kind == "extra")
        for provider in served_unsuffixed(candidate) & state.sharing
    )


def unsuffixed_member_of(search: Search) -> tuple[str, ...]:
    return search.groups[""].member_of if "" in search.groups else ()


def served_unsuffixed(candidate: Candidate) -> set[str]:
    """The providers of the unsuffixed group; before 1.34 any provider may be one."""
    return candidate.providers if candidate.mappings is None else set(candidate.served_by(""))


def is_member(state: State, providers: set[str], rules: Iterable[str]) -> bool:
    """Whether the providers together are in all required aggregates and in no forbidden one."""
    own = {aggregate for provider in providers for aggregate in state.aggregates(provider)}
    return all(
        bool(own & set(rule.removeprefix("!").removeprefix("in:").split(",")))
        != rule.startswith("!")
        for rule in rules
    )


def unknown_name_ignored(finding: Finding) -> bool:
    situation = finding.situation
    if finding.kind != "status" or situation.request.method != "GET":
        return False
    if (situation.reference.status, situation.roost.status) != (200, 400):
        return False
    body = situation.reference.body
    empty = not body.get("allocation_requests") and not body.get("resource_providers")
    detail = situation.roost.body["errors"][0]["detail"]
    return empty and UNKNOWN_NAME.search(detail) is not None


def alternatives_of_the_root(finding: Finding) -> bool:
    """At 1.39 roost understands `in:` there, so that it refuses what is wrong inside of it."""
    request = finding.situation.request
    return (
        finding.kind in ("detail", "code")
        and request.version == "1.39"
        and any(
            name == "root_required" and value.startswith("in:") for name, value in request.query
        )
    )


# ---------------------------------------------------------------------------------------------
# Writes and input


def duplicate_inventory_shows_sql(finding: Finding) -> bool:
    return finding.kind == "detail" and "IntegrityError" in finding.text.split("\n  but roost ")[0]


def inventory_of_no_class(finding: Finding) -> bool:
    situation = finding.situation
    if finding.kind not in ("status", "detail") or situation.roost.status != 400:
        return False
    return any(
        not CLASS_NAME.match(name)
        for inventories in inventories_in(situation.request)
        for name in inventories
    )


def inventories_in(request: Request) -> list[Mapping[str, Any]]:
    """The inventories that a request wants to set, where they are objects at all."""
    if request.method not in ("PUT", "POST") or not isinstance(request.body, dict):
        return []
    parts = [request.body]
    if request.path == "/reshaper" and isinstance(request.body.get("inventories"), dict):
        parts = list(request.body["inventories"].values())
    found = [part.get("inventories") for part in parts if isinstance(part, dict)]
    return [inventories for inventories in found if isinstance(inventories, dict)]


def schema_refuses_more(finding: Finding) -> bool:
    """The same refusal, but the schema in its text is the stricter one."""
    if finding.kind != "detail":
        return False
    answers = finding.situation.reference, finding.situation.roost
    texts = [STRICTNESS.sub("", answer.body["errors"][0]["detail"]) for answer in answers]
    return texts[0] == texts[1]


def place_within_alternatives(finding: Finding) -> bool:
    """The same refusal; roost says where the alternatives are that the value fails."""
    if finding.kind != "detail":
        return False
    answers = finding.situation.reference, finding.situation.roost
    texts = [answer.body["errors"][0]["detail"] for answer in answers]
    return "['anyOf']" in texts[1] and PLACE.sub("", texts[0]) == PLACE.sub("", texts[1])


def last_modified_of_nothing(finding: Finding) -> bool:
    """From 1.15 every list has a Last-Modified header, even an empty one."""
    return (
        finding.kind == "header"
        and finding.text == "last-modified: only from roost"
        and finding.situation.roost.body.get("inventories") == {}
    )


def method_not_allowed(finding: Finding) -> bool:
    """The same refusal; roost adds the methods that are allowed."""
    answers = finding.situation.reference, finding.situation.roost
    return (
        finding.kind in ("header", "detail")
        and [answer.status for answer in answers] == [405, 405]
        and "allow" not in answers[0].headers
    )


def classes_of_emptied_consumers(finding: Finding) -> bool:
    """The same refusal for the same providers; the reference names more classes."""
    answers = finding.situation.reference, finding.situation.roost
    if finding.kind != "detail" or any(answer.status != 409 for answer in answers):
        return False
    parts = [MISSING_INVENTORY.search(answer.body["errors"][0]["detail"]) for answer in answers]
    if parts[0] is None or parts[1] is None:
        return False
    names = [set(re.findall(r"\w+", part["classes"])) for part in parts]
    uuids = [set(re.findall(r"[\w-]+", part["providers"])) for part in parts]
    return names[1] < names[0] and uuids[0] == uuids[1]


# Explains no finding: the comparison sends another request to the reference, and expects the answer
# to that one.
AMOUNTS_LEAK = Difference(
    "unsuffixed and suffixed group asking for one class, without group_policy=none",
    f"{WRONG}: amounts leak between candidates, and valid candidates are lost",
    lambda finding: False,
)

DIFFERENCES = (
    AMOUNTS_LEAK,
    Difference(
        "unsuffixed group met by sharing providers alone",
        f"{WRONG}: one arbitrary candidate instead of one per tree",
        unsuffixed_group_shared,
    ),
    Difference(
        "sharing provider that is not a root",
        f"{WRONG}: 500 if its own tree is filtered out",
        nested_sharing_provider,
    ),
    Difference(
        "resourceless group that only forbids, or only names a tree",
        f"{WRONG}: it matches nothing",
        resourceless_group_unbound,
    ),
    Difference(
        "resourceless group with in_tree",
        f"{WRONG}: in_tree is ignored",
        resourceless_group_in_tree,
    ),
    Difference(
        "sharing providers narrowed by another group's member_of",
        f"{WRONG}: they stay narrowed for the groups after it",
        sharing_narrowed,
    ),
    Difference(
        "member_of met by a provider and its root together",
        f"{WRONG}: one of the two must meet every member_of",
        aggregates_of_provider_and_root,
    ),
    Difference(
        "member_of and the root of a sharing provider",
        f"{WRONG}: the root does not count for other trees",
        aggregates_of_sharing_root,
    ),
    Difference(
        "unknown class or trait beside one that no provider has",
        "the documented answer is 400; the reference answers before it checks the name",
        unknown_name_ignored,
    ),
    Difference(
        "root_required with in: that names an unknown trait",
        "an extension of roost; both refuse it, in other words",
        alternatives_of_the_root,
    ),
    Difference(
        "duplicate inventory",
        f"{WRONG}: the 409 shows the SQL statement",
        duplicate_inventory_shows_sql,
    ),
    Difference(
        "inventory under a key that is no class name",
        f"{WRONG}: 500 if its value is no object; the schema of roost refuses the key",
        inventory_of_no_class,
    ),
    Difference(
        "last-modified of a provider without inventories",
        "documented for every list from 1.15, the empty one too",
        last_modified_of_nothing,
    ),
    Difference(
        "405 that names the allowed methods",
        f"{WRONG}: some 405s carry no `allow`",
        method_not_allowed,
    ),
    Difference(
        "classes in a refusal that the request does not name",
        "the reference also names the classes of consumers that are being emptied",
        classes_of_emptied_consumers,
    ),
    Difference(
        "schema that is shown in an error",
        f"{WRONG}: inventories under a key that is no class name",
        schema_refuses_more,
    ),
    Difference(
        "place of a value that fails alternatives",
        "the reference names the place within the alternatives, roost the whole path",
        place_within_alternatives,
    ),
)
