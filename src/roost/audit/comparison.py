"""Finds where what consumers hold and what a cloud knows do not agree.

The lists are read a page at a time while others write. Three rules keep what merely changed
meanwhile out of the findings:

- Who is known is read first. So a consumer that is unknown was created later, or is an orphan; and
  those that were written after that, or shortly before, are too young to be judged.
- Inventories and usages of a provider are of one moment, so it is over-committed or it is not.
- Orphans, and servers without allocations, are looked for a second time. A server that moves holds
  nothing for a moment, but not in both looks.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from roost.audit.findings import Findings, Orphan, Outside, OverCommitted
from roost.audit.known import Known
from roost.client import ConsumerDetails, ProviderDetails
from roost.model import Value
from roost.uuids import canonical_uuid, canonical_uuids


class Scope(Value, frozen=True, kw_only=True):
    """What an audit looks at."""

    types: frozenset[str]  # the types of consumers that can be orphans
    changed_before: datetime  # the others are too young to be orphans
    aggregates: frozenset[str] = frozenset()  # in canonical spelling; empty: any


class Providers(Value, frozen=True, kw_only=True):
    """What an audit needs of all providers, by their UUIDs."""

    names: Mapping[str, str]
    roots: Mapping[str, str]
    members: frozenset[str]  # those in the aggregates in question
    aggregates: frozenset[str]  # those in question that have members
    # Provider and class -> capacity, used.
    over_committed: Mapping[tuple[str, str], tuple[int, int]]

    def is_inside(self, uuid: str) -> bool:
        """Whether a provider, or the root of its tree, is in the aggregates."""
        return uuid in self.members or self.roots.get(uuid) in self.members


def look_at_providers(found: Iterable[ProviderDetails], aggregates: frozenset[str]) -> Providers:
    names, roots, over_committed = {}, {}, {}
    members: set[str] = set()
    non_empty: set[str] = set()
    for details in found:
        provider = details.provider
        names[provider.uuid] = provider.name
        roots[provider.uuid] = provider.root_uuid
        if aggregates and (common := canonical_uuids(details.aggregates) & aggregates):
            members.add(provider.uuid)
            non_empty |= common
        for name, used in details.usages.items():
            inventory = details.inventories.get(name)
            capacity = 0 if inventory is None else inventory.capacity
            if used > capacity:
                over_committed[provider.uuid, name] = capacity, used
    return Providers(
        names=names,
        roots=roots,
        members=frozenset(members),
        aggregates=frozenset(non_empty),
        over_committed=over_committed,
    )


def compare(
    known: Known, providers: Providers, found: Iterable[ConsumerDetails], scope: Scope
) -> Findings:
    """The findings of a first look. `confirm` takes the second one."""
    # By UUID: a consumer that is deleted and made again while it is read may be seen twice.
    orphans: dict[str, Orphan] = {}
    outside: dict[str, dict[str, Any]] = defaultdict(dict)
    holders: dict[tuple[str, str], dict[str, int]] = {key: {} for key in providers.over_committed}
    over_committed = {uuid for uuid, _ in providers.over_committed}
    holding, young, consumers = set(), set(), 0
    for details in found:
        consumer = details.consumer
        uuid = canonical_uuid(consumer.uuid)
        consumers += 1
        if uuid in known:
            holding.add(uuid)
        elif consumer.consumer_type in scope.types:
            changed_at = details.changed_at
            # Without a time nobody knows how old it is.
            if changed_at is not None and changed_at < scope.changed_before:
                orphans[uuid] = Orphan(consumer=consumer, changed_at=changed_at)
            else:
                young.add(uuid)
        for provider_uuid, resources in consumer.allocations.items():
            if scope.aggregates and not providers.is_inside(provider_uuid):
                outside[provider_uuid][consumer.uuid] = resources
            if provider_uuid in over_committed:
                for name, amount in resources.items():
                    if (provider_uuid, name) in holders:
                        holders[provider_uuid, name][consumer.uuid] = amount
    findings = Findings(
        providers=len(providers.names),
        consumers=consumers,
        known=len(known),
        young=len(young),
        orphans=_sorted_orphans(orphans[uuid] for uuid in orphans.keys() - young),
        servers=tuple(sorted(known.servers - holding)),
        outside=_sorted_outside(providers, outside),
        over_committed=_sorted_over_committed(providers, holders),
    )
    return replace(findings, names=_names(findings, providers))


def confirm(findings: Findings, found: Iterable[ConsumerDetails]) -> Findings:
    """The findings that a second look at the consumers leaves."""
    orphans = {canonical_uuid(each.consumer.uuid): each for each in findings.orphans}
    servers = set(findings.servers)
    unchanged = []
    for details in found:
        uuid = canonical_uuid(details.consumer.uuid)
        servers.discard(uuid)
        seen = orphans.get(uuid)
        # Not the generation alone: of a consumer that was made again it is the same.
        if seen is not None and seen.consumer == details.consumer:
            unchanged.append(seen)
            del orphans[uuid]
    return replace(findings, orphans=_sorted_orphans(unchanged), servers=tuple(sorted(servers)))


def _sorted_orphans(orphans: Iterable[Orphan]) -> tuple[Orphan, ...]:
    """By type and project, the oldest first."""

    def key(orphan: Orphan) -> tuple[str, str, datetime, str]:
        consumer = orphan.consumer
        group = consumer.consumer_type or "", consumer.project_id or ""
        return (*group, orphan.changed_at, consumer.uuid)

    return tuple(sorted(orphans, key=key))


def _sorted_outside(
    providers: Providers, outside: Mapping[str, Mapping[str, Any]]
) -> tuple[Outside, ...]:
    """By the names of the trees, then of the providers."""

    def key(uuid: str) -> tuple[str, str]:
        root = providers.roots.get(uuid, uuid)
        return providers.names.get(root, root), providers.names.get(uuid, uuid)

    return tuple(
        Outside(
            provider_uuid=uuid,
            root_uuid=providers.roots.get(uuid, uuid),
            holders=dict(sorted(outside[uuid].items())),
        )
        for uuid in sorted(outside, key=key)
    )


def _sorted_over_committed(
    providers: Providers, holders: Mapping[tuple[str, str], Mapping[str, int]]
) -> tuple[OverCommitted, ...]:
    """By how many times their capacity is used, the worst first."""
    found = []
    for (uuid, name), (capacity, used) in providers.over_committed.items():
        amounts = holders[uuid, name]
        found.append(
            OverCommitted(
                provider_uuid=uuid,
                root_uuid=providers.roots[uuid],
                resource_class=name,
                capacity=capacity,
                used=used,
                holders=dict(sorted(amounts.items(), key=lambda item: (-item[1], item[0]))),
            )
        )

    def key(each: OverCommitted) -> tuple[float, str, str]:
        share = each.used / each.capacity if each.capacity > 0 else float("inf")
        return -share, providers.names[each.provider_uuid], each.resource_class

    return tuple(sorted(found, key=key))


def _names(findings: Findings, providers: Providers) -> dict[str, str]:
    """The names of the providers that the findings are about."""
    needed = {uuid for orphan in findings.orphans for uuid in orphan.consumer.allocations}
    about: Iterable[Outside | OverCommitted] = (*findings.outside, *findings.over_committed)
    for each in about:
        needed |= {each.provider_uuid, each.root_uuid}
    return {uuid: providers.names[uuid] for uuid in sorted(needed) if uuid in providers.names}
