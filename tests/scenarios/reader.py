"""Reads scenarios: a world as an indented tree, requests to it, and the candidates they have.

    # A line that starts with a hash sign is a comment.
    about: what the scenario shows

    providers:
        CN1  MEMORY_MB:1024 DISK_GB:1000(reserved=10, used=5)  aggregates=aggA,aggB
            NUMA1_1  VCPU:8(min=1, max=16, step=2, ratio=1.5)  traits=HW_NUMA_ROOT

    request: a title
        resources=VCPU:1,DISK_GB:500
        &member_of={aggA}
    exactly:
        NUMA1_1 VCPU:1 + CN1 DISK_GB:500

`{name}` in a request is the UUID of that provider or aggregate. A request is followed by
`exactly:` (an empty one means that there is no candidate), or by `includes:` and `excludes:`.
There a candidate is written without its mappings, so two that differ only in these are one line.
`mapped:` lists the mappings of all candidates, so that its lines say how many there are:

    mapped:
        unsuffixed=CN1,NUMA1_1 _VIF=PF1

`version: 1.33` sends the request at that version, where each candidate is a line of `exactly:`:
equal ones, as of exchanged groups before 1.34, are repeated. A request that is refused has
`refused:` with words of the message, which come with a status of 400.

A reshape has `consumers:` beside `providers:`, and both again with `after`.

The number in the name of a file is that of a subject: 1 trees and what is shared with them,
2 a search step by step, 3 groups and their relations, 4 reshapes, 5 inventories.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from msgspec.structs import replace as evolve

from roost.model import Inventory, Value
from roost.query import AggregateRule, CandidateQuery, Elsewhere, RequestGroup, TraitRule
from tests.support.names import uid
from tests.support.world import ProviderPlan, World, build, provider

FOLDER = Path(__file__).parent

# Provider UUID, resource class, amount.
Allocations = frozenset[tuple[str, str, int]]
# By consumer name: provider UUID -> resource class -> amount.
Consumers = Mapping[str, Mapping[str, Mapping[str, int]]]


# By suffix: provider UUIDs.
Mappings = frozenset[tuple[str, frozenset[str]]]


class Request(Value, frozen=True, kw_only=True):
    """One request, and the candidates that it has."""

    title: str
    query_string: str
    exactly: tuple[Allocations, ...] | None = None
    includes: tuple[Allocations, ...] = ()
    excludes: tuple[Allocations, ...] = ()
    mapped: tuple[Mappings, ...] | None = None  # of all candidates
    version: str | None = None  # None: the newest
    refused: str | None = None  # words of the message

    @property
    def shows_mappings(self) -> bool:
        return self.minor >= 34

    @property
    def minor(self) -> int:
        return 39 if self.version is None else int(self.version.removeprefix("1."))

    @property
    def query(self) -> CandidateQuery:
        return evolve(parse(self.query_string), nested_aware=self.minor >= 29)


class Scenario(Value, frozen=True, kw_only=True):
    name: str
    about: str
    world: World
    requests: tuple[Request, ...]
    consumers: Consumers
    world_after: World | None  # of a reshape
    consumers_after: Consumers


# ---------------------------------------------------------------------------------------------
# Files


def scenarios(pattern: str = "*.txt") -> list[Scenario]:
    return [read(path) for path in sorted(FOLDER.glob(pattern))]


def read(path: Path) -> Scenario:
    single: dict[str, tuple[str, list[str]]] = {}
    requests: list[Request] = []
    for head, title, lines in sections(path.read_text(encoding="utf-8")):
        if head == "request":
            requests.append(new_request(title, lines))
        elif head in ("exactly", "includes", "excludes"):
            found = tuple(read_allocations(line) for line in lines)
            requests[-1] = evolve(requests[-1], **{head: found})
        elif head == "mapped":
            requests[-1] = evolve(requests[-1], mapped=tuple(map(read_mappings, lines)))
        elif head in ("version", "refused"):
            requests[-1] = evolve(requests[-1], **{head: title})
        elif head in single:
            raise ValueError(f"{path.name}: a second section {head}")
        else:
            single[head] = (title, lines)
    after = single.get("providers after")
    return Scenario(
        name=path.stem,
        about=single["about"][0],
        world=build(*read_providers(single["providers"][1])),
        requests=tuple(requests),
        consumers=read_consumers(single.get("consumers", ("", []))[1]),
        world_after=build(*read_providers(after[1])) if after else None,
        consumers_after=read_consumers(single.get("consumers after", ("", []))[1]),
    )


def sections(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The head of each section, the rest of its first line, and the indented lines below."""
    current: tuple[str, str, list[str]] | None = None
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] != " ":
            if current:
                yield current
            head, _, title = line.partition(":")
            current = (head, title.strip(), [])
        elif current:
            current[2].append(line)
    if current:
        yield current


def new_request(title: str, lines: list[str]) -> Request:
    joined = "".join(line.strip() for line in lines)
    query_string = re.sub(r"\{(\w+)\}", lambda match: uid(match[1]), joined)
    return Request(title=title, query_string=query_string)


# ---------------------------------------------------------------------------------------------
# Providers

INVENTORY = re.compile(r"(?P<name>[A-Z0-9_]+):(?P<total>\d+)(?:\((?P<units>[^)]*)\))?")
UNITS = {
    "reserved": ("reserved", int),
    "min": ("min_unit", int),
    "max": ("max_unit", int),
    "step": ("step_size", int),
    "ratio": ("allocation_ratio", float),
}


def read_providers(lines: list[str]) -> list[ProviderPlan]:
    plans: list[ProviderPlan] = []
    ancestors: list[tuple[int, str]] = []  # of each, the indentation and the name
    for line in lines:
        depth = len(line) - len(line.lstrip())
        name, _, rest = line.strip().partition(" ")
        while ancestors and ancestors[-1][0] >= depth:
            ancestors.pop()
        plans.append(read_provider(name, ancestors[-1][1] if ancestors else None, rest))
        ancestors.append((depth, name))
    return plans


def read_provider(name: str, parent: str | None, text: str) -> ProviderPlan:
    inventories: dict[str, Inventory] = {}
    used: dict[str, int] = {}
    for match in INVENTORY.finditer(text):
        units = dict(re.findall(r"(\w+)=([\d.]+)", match["units"] or ""))
        used[match["name"]] = int(units.pop("used", 0))
        inventories[match["name"]] = Inventory(
            total=int(match["total"]),
            **{UNITS[unit][0]: UNITS[unit][1](value) for unit, value in units.items()},
        )
    return provider(
        name,
        inventories,
        parent=parent,
        used=used,
        traits=read_names(text, "traits"),
        aggregates=read_names(text, "aggregates"),
    )


def read_names(text: str, key: str) -> list[str]:
    match = re.search(rf"\b{key}=(\S+)", text)
    return match[1].split(",") if match else []


# ---------------------------------------------------------------------------------------------
# Candidates and consumers


def read_amounts(text: str) -> dict[str, dict[str, int]]:
    """`CN1 VCPU:1 DISK_GB:5 + SS1 DISK_GB:3`: the amounts from each provider, by UUID."""
    amounts = {}
    for part in text.split("+"):
        name, *resources = part.split()
        pairs = (resource.split(":") for resource in resources)
        amounts[uid(name)] = {resource: int(amount) for resource, amount in pairs}
    return amounts


def read_allocations(line: str) -> Allocations:
    return frozenset(
        (uuid, name, amount)
        for uuid, resources in read_amounts(line).items()
        for name, amount in resources.items()
    )


def read_mappings(line: str) -> Mappings:
    """`unsuffixed=CN1,NUMA1_1 _VIF=PF1`: the providers of each group."""
    pairs = (part.split("=") for part in line.split())
    return frozenset(
        ("" if suffix == "unsuffixed" else suffix, frozenset(map(uid, names.split(","))))
        for suffix, names in pairs
    )


def read_consumers(lines: list[str]) -> Consumers:
    split = (line.split(None, 1) for line in lines)
    return {name: read_amounts(text) for name, text in split}


# ---------------------------------------------------------------------------------------------
# Query strings, as far as scenarios need them

GROUP_KEY = re.compile(
    r"(resources|required|member_of|in_tree|in_subtree|can_split)([A-Za-z0-9_-]{0,64})"
)


def parse(query_string: str) -> CandidateQuery:
    groups: dict[str, list[tuple[str, str]]] = {}
    request_wide: list[tuple[str, str]] = []
    for key, value in parse_qsl(query_string, strict_parsing=True):
        match = GROUP_KEY.fullmatch(key)
        if match:
            groups.setdefault(match[2], []).append((match[1], value))
        else:
            request_wide.append((key, value))
    subtrees = [parse_subtree(value) for key, value in request_wide if key == "same_subtree"]
    # Without a suffix it applies to all groups.
    for value in [value for key, value in groups.get("", []) if key == "can_split"]:
        for pairs in groups.values():
            pairs.append(("can_split", value))
    if all(key == "can_split" for key, _ in groups.get("", [])):
        groups.pop("", None)
    return CandidateQuery(
        groups=tuple(parse_group(suffix, groups[suffix]) for suffix in sorted(groups)),
        isolate=("group_policy", "isolate") in request_wide,
        same_subtree=tuple(inside for inside, _ in subtrees),
        elsewhere=tuple(
            Elsewhere(inside=inside, outside=outside) for inside, outside in subtrees if outside
        ),
        isolated=tuple(
            frozenset(value.split(",")) for key, value in request_wide if key == "isolate"
        ),
        root_aggregates=AggregateRule(
            **parse_rule(
                [value for key, value in request_wide if key == "root_member_of"], each=False
            )
        ),
        root_traits=TraitRule(
            **parse_rule(
                [value for key, value in request_wide if key == "root_required"], each=True
            )
        ),
    )


def parse_subtree(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """`_A,_B,!_C`: the groups that share a subtree, and those outside of it."""
    names = value.split(",")
    return (
        frozenset(name for name in names if not name.startswith("!")),
        frozenset(name.removeprefix("!") for name in names if name.startswith("!")),
    )


def parse_group(suffix: str, pairs: list[tuple[str, str]]) -> RequestGroup:
    values: dict[str, list[str]] = {"resources": [], "required": [], "member_of": []}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    pairs_of_resources = (
        item.split(":") for text in values["resources"] for item in text.split(",")
    )
    return RequestGroup(
        suffix=suffix,
        resources={name: int(amount) for name, amount in pairs_of_resources},
        traits=TraitRule(**parse_rule(values["required"], each=True)),
        aggregates=AggregateRule(**parse_rule(values["member_of"], each=False)),
        in_tree=values["in_tree"][0] if "in_tree" in values else None,
        in_subtree=values["in_subtree"][0] if "in_subtree" in values else None,
        can_split=frozenset(
            name for text in values.get("can_split", ()) for name in text.split(",")
        ).intersection(item.split(":")[0] for item in ",".join(values["resources"]).split(",")),
    )


def parse_rule(values: list[str], *, each: bool) -> dict:
    """`A,!B`, `in:A,B` and `!in:A,B`; with `each`, commas separate conditions."""
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for value in values:
        for item in [value] if not each or value.startswith("in:") else value.split(","):
            names = item.removeprefix("!").removeprefix("in:").split(",")
            if item.startswith("!"):
                forbidden.update(names)
            else:
                required.append(frozenset(names))
    return {"required": tuple(required), "forbidden": frozenset(forbidden)}
