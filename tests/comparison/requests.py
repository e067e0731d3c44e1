"""A request as plain data, and generated requests that read."""

import dataclasses
import json
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

VERSIONS = tuple(f"1.{minor}" for minor in range(40))


# Forms that the reference accepts only by accident are not included.
WRONG_PARAMETERS = (
    ("color", "red"),
    ("resources9", "VCPU"),
    ("resources9", "VCPU:"),
    ("resources9", "VCPU:0"),
    ("resources9", "VCPU:-1"),
    ("resources9", "VCPU:one"),
    ("resources9", "VCPU:1,"),
    ("resources9", ""),
    ("resources9", "NOPE:1"),
    ("resources9", "CUSTOM_NOPE:1"),
    ("resources" + "a" * 65, "VCPU:1"),
    ("resources.a", "VCPU:1"),
    ("required9", "TRAIT"),
    ("required9", ""),
    ("required9", "TRAIT,"),
    ("required9", "CUSTOM_NOPE"),
    ("required9", "!CUSTOM_NOPE"),
    ("required9", "in:TRAIT,!CUSTOM_NOPE"),
    ("required9", "in:"),
    ("member_of9", "nope"),
    ("member_of9", ""),
    ("member_of9", "AGGREGATE,AGGREGATE"),
    ("member_of9", "in:AGGREGATE,nope"),
    ("member_of9", "!AGGREGATE,AGGREGATE"),
    ("in_tree9", "nope"),
    ("in_tree9", "PROVIDER"),
    ("limit", "0"),
    ("limit", "-1"),
    ("limit", "many"),
    ("limit", ""),
    ("group_policy", "some"),
    ("group_policy", ""),
    ("same_subtree", ""),
    ("same_subtree", "9"),
    ("same_subtree", "1,"),
    ("root_required", "CUSTOM_NOPE"),
    ("root_required", ""),
    ("root_required", "in:TRAIT,CUSTOM_NOPE"),
    ("root_required", "TRAIT,!TRAIT"),
)
WRONG_BEFORE_1_33 = (*WRONG_PARAMETERS, ("resources_Z", "VCPU:1"), ("resources0", "VCPU:1"))


@dataclasses.dataclass(frozen=True)
class Request:
    """One request, which can be sent to either side."""

    method: str
    path: str
    version: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None

    @property
    def url(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def __str__(self) -> str:
        body = "" if self.body is None else f" {json.dumps(self.body)}"
        query = "?" + "&".join(f"{key}={value}" for key, value in self.query) if self.query else ""
        return f"{self.version} {self.method} {self.path}{query}{body}"


@dataclasses.dataclass(frozen=True)
class Group:
    """The parameters with one suffix, as they are written."""

    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    required: tuple[str, ...] = ()
    member_of: tuple[str, ...] = ()
    in_tree: str | None = None

    def parameters(self, suffix: str) -> list[tuple[str, str]]:
        found = []
        if self.resources:
            text = ",".join(f"{name}:{amount}" for name, amount in self.resources.items())
            found.append((f"resources{suffix}", text))
        found += [(f"required{suffix}", value) for value in self.required]
        found += [(f"member_of{suffix}", value) for value in self.member_of]
        if self.in_tree is not None:
            found.append((f"in_tree{suffix}", self.in_tree))
        return found


@dataclasses.dataclass(frozen=True)
class Search:
    """A search for allocation candidates, in parts that the known differences inspect."""

    version: str
    groups: Mapping[str, Group]  # by suffix
    group_policy: str | None = None
    same_subtree: tuple[tuple[str, ...], ...] = ()
    root_required: str | None = None
    limit: int | None = None
    # parameters that are wrong, or wrong for the version
    wrong: tuple[tuple[str, str], ...] = ()

    @property
    def minor(self) -> int:
        return minor_of(self.version)

    @property
    def suffixed(self) -> dict[str, Group]:
        return {suffix: group for suffix, group in self.groups.items() if suffix}

    def without_limit(self) -> "Search":
        return dataclasses.replace(self, limit=None)

    def without_isolation(self) -> "Search":
        """The same search in which one provider may serve several groups.

        Its answer says which provider serves which group, so the caller can pick the isolated ones.
        """
        version = self.version if self.minor >= 34 else "1.34"
        return dataclasses.replace(self, version=version, group_policy="none", limit=None)

    def request(self) -> Request:
        query = [pair for suffix, group in self.groups.items() for pair in group.parameters(suffix)]
        if self.group_policy is not None:
            query.append(("group_policy", self.group_policy))
        query += [("same_subtree", ",".join(suffixes)) for suffixes in self.same_subtree]
        if self.root_required is not None:
            query.append(("root_required", self.root_required))
        if self.limit is not None:
            query.append(("limit", str(self.limit)))
        return Request(
            "GET", "/allocation_candidates", self.version, with_parameters(query, self.wrong)
        )


@dataclasses.dataclass(frozen=True)
class Names:
    """The names that requests may mention. One that is listed twice is mentioned twice as often."""

    classes: tuple[str, ...]
    traits: tuple[str, ...]
    aggregates: tuple[str, ...]
    providers: tuple[str, ...]
    provider_names: tuple[str, ...]


def with_parameters(
    query: list[tuple[str, str]], others: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """The query with these parameters in place of those of the same name.

    The meaning of a parameter that is repeated without permission is not documented.
    """
    names = {name for name, _ in others}
    return (*(pair for pair in query if pair[0] not in names), *others)


def minor_of(version: str) -> int:
    return int(version.removeprefix("1."))


def make_search(chance: random.Random, names: Names) -> Search:
    """A random search; half of them have one of the newest versions, which know all parameters."""
    version = chance.choice(VERSIONS[10:] if chance.random() < 0.5 else VERSIONS[33:])
    minor = minor_of(version)
    # The more each group asks for, the less often anything is found.
    strictness = chance.choice((0.0, 0.0, 0.1, 0.3))
    groups: dict[str, Group] = {}
    suffixes = make_suffixes(chance, minor)
    if not suffixes or chance.random() < 0.6:
        groups[""] = make_group(chance, names, minor, strictness)
    for suffix in suffixes:
        groups[suffix] = make_group(chance, names, minor, strictness)
    if len(suffixes) > 1 and chance.random() < 0.3:
        # Equal groups can be exchanged, and before 1.34 that gives equal candidates.
        groups[suffixes[1]] = groups[suffixes[0]]
    same_subtree: list[tuple[str, ...]] = []
    if minor >= 36 and suffixes and chance.random() < 0.6:
        together = chance.sample(suffixes, chance.randint(1, len(suffixes)))
        if chance.random() < 0.6:
            groups["_R"] = make_resourceless_group(chance, names, minor)
            together = chance.choice((["_R"], [*together, "_R"], ["_R", *together]))
        same_subtree.append(tuple(together))
        if chance.random() < 0.2:
            same_subtree.append(tuple(chance.sample(suffixes, chance.randint(1, len(suffixes)))))
    several = len(groups) - ("" in groups) > 1
    policy = chance.choice(("none", "isolate"))
    return Search(
        version=version,
        groups=groups,
        group_policy=policy if several or (minor >= 25 and chance.random() < 0.1) else None,
        same_subtree=tuple(same_subtree),
        root_required=make_traits(chance, names) if minor >= 35 and chance.random() < 0.2 else None,
        limit=chance.randint(1, 6) if minor >= 16 and chance.random() < 0.15 else None,
        wrong=make_wrong(chance, names, minor) if chance.random() < 0.12 else (),
    )


def make_suffixes(chance: random.Random, minor: int) -> list[str]:
    if minor < 25:
        return []
    possible = ("1", "2", "3") if minor < 33 else ("1", "_A", "b-2")
    return list(possible[: chance.choice((0, 0, 1, 1, 1, 2, 2, 3))])


def make_group(chance: random.Random, names: Names, minor: int, strictness: float) -> Group:
    count = min(len(names.classes), chance.choice((1, 1, 1, 2, 2, 3)))
    classes = chance.sample(names.classes, count)
    return Group(
        resources={name: chance.choice((1, 1, 1, 1, 2, 2, 3, 5)) for name in classes},
        required=make_required(chance, names, minor)
        if minor >= 17 and chance.random() < strictness
        else (),
        member_of=make_member_of(chance, names, minor)
        if minor >= 21 and chance.random() < strictness
        else (),
        in_tree=chance.choice(names.providers)
        if minor >= 31 and chance.random() < strictness / 3
        else None,
    )


def make_resourceless_group(chance: random.Random, names: Names, minor: int) -> Group:
    """Mostly one trait, as for an affinity; sometimes anything else that a group may contain."""
    way = chance.random()
    if way < 0.6:
        return Group(required=(chance.choice(names.traits),))
    if way < 0.75:
        return Group(member_of=make_member_of(chance, names, minor))
    if way < 0.8:
        return Group(in_tree=chance.choice(names.providers))
    return Group(
        required=make_required(chance, names, minor),
        member_of=make_member_of(chance, names, minor) if chance.random() < 0.3 else (),
        in_tree=chance.choice(names.providers) if chance.random() < 0.2 else None,
    )


def make_required(chance: random.Random, names: Names, minor: int) -> tuple[str, ...]:
    if minor < 22:
        return (",".join(chance.sample(names.traits, chance.choice((1, 1, 2)))),)
    if minor < 39:
        return (make_traits(chance, names),)
    values = []
    for _ in range(chance.choice((1, 1, 2))):
        some = ",".join(chance.sample(names.traits, 2))
        values.append(f"in:{some}" if chance.random() < 0.4 else make_traits(chance, names))
    return tuple(values)


def make_traits(chance: random.Random, names: Names) -> str:
    """Required and forbidden traits; one that is both is an error, and too rare to matter."""
    some = chance.sample(names.traits, chance.choice((1, 1, 2)))
    return ",".join(("!" if chance.random() < 0.35 else "") + name for name in some)


def make_member_of(chance: random.Random, names: Names, minor: int) -> tuple[str, ...]:
    values = []
    for _ in range(chance.choice((1, 1, 2)) if minor >= 24 else 1):
        value = chance.choice(names.aggregates)
        if chance.random() < 0.4:
            value = "in:" + ",".join(chance.sample(names.aggregates, 2))
        if minor >= 32 and chance.random() < 0.3:
            value = f"!{value}"
        values.append(value)
    return tuple(values)


def make_wrong(chance: random.Random, names: Names, minor: int) -> tuple[tuple[str, str], ...]:
    """A parameter that is malformed, unknown, or names something that does not exist."""
    name, value = chance.choice(WRONG_PARAMETERS if minor >= 33 else WRONG_BEFORE_1_33)
    value = value.replace("TRAIT", names.traits[0]).replace("AGGREGATE", names.aggregates[0])
    return ((name, value.replace("PROVIDER", names.providers[0])),)


def make_provider_list(chance: random.Random, names: Names) -> Request:
    """GET /resource_providers with filters that its version knows, and sometimes others."""
    version = chance.choice(VERSIONS)
    minor = minor_of(version)
    if chance.random() < 0.1:
        minor = 39  # filters that the version may not know
    query: list[tuple[str, str]] = []
    if chance.random() < 0.1:
        query.append(("name", chance.choice((*names.provider_names, "nobody"))))
    if chance.random() < 0.1:
        query.append(("uuid", chance.choice((*names.providers, "nope"))))
    if minor >= 3 and chance.random() < 0.35:
        query += [("member_of", value) for value in make_member_of(chance, names, minor)]
    if minor >= 4 and chance.random() < 0.5:
        query += make_group(chance, names, minor, 0).parameters("")
    if minor >= 14 and chance.random() < 0.2:
        query.append(("in_tree", chance.choice((*names.providers, "nope"))))
    if minor >= 18 and chance.random() < 0.35:
        query += [("required", value) for value in make_required(chance, names, minor)]
    wrong = (
        ("color", "red"),
        ("resources", "VCPU"),
        ("resources", "NOPE:1"),
        ("required", "CUSTOM_NOPE"),
        ("member_of", "nope"),
        ("limit", "1"),
    )
    others = (chance.choice(wrong),) if chance.random() < 0.08 else ()
    return Request("GET", "/resource_providers", version, with_parameters(query, others))
