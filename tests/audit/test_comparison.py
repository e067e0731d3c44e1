"""What is a finding, and what is not."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from roost.audit.comparison import Providers, Scope, compare, confirm, look_at_providers
from roost.audit.findings import Findings, held
from roost.audit.known import Known
from roost.client import Consumer, ConsumerDetails, Inventory, Provider, ProviderDetails
from tests.support.names import uid

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCOPE = Scope(types=frozenset({"INSTANCE", "unknown"}), changed_before=NOW - timedelta(hours=1))


def provider(
    name: str,
    *,
    root: str | None = None,
    inventories: Mapping[str, Inventory] | None = None,
    usages: Mapping[str, int] | None = None,
    aggregates: tuple[str, ...] = (),
) -> ProviderDetails:
    root_uuid = uid(root or name)
    parent_uuid = None if root is None else root_uuid
    return ProviderDetails(
        provider=Provider(
            uuid=uid(name), name=name, generation=1, parent_uuid=parent_uuid, root_uuid=root_uuid
        ),
        inventories=inventories or {},
        usages=usages or {},
        traits=frozenset(),
        aggregates=frozenset(map(uid, aggregates)),
    )


def consumer(
    name: str,
    held: Mapping[str, Mapping[str, int]],
    *,
    days: float = 10,
    written_days: float | None = None,
    kind: str = "INSTANCE",
    project: str = "p",
    generation: int = 1,
) -> ConsumerDetails:
    return ConsumerDetails(
        consumer=Consumer(
            uuid=uid(name),
            allocations={uid(host): resources for host, resources in held.items()},
            project_id=project,
            user_id="u",
            generation=generation,
            consumer_type=kind,
        ),
        created_at=NOW - timedelta(days=days),
        updated_at=None if written_days is None else NOW - timedelta(days=written_days),
    )


def known(*names: str) -> Known:
    return Known(servers=frozenset(map(uid, names)))


def providers(*found: ProviderDetails, aggregates: tuple[str, ...] = ()) -> Providers:
    return look_at_providers(found, frozenset(map(uid, aggregates)))


HOST = providers(provider("host"))
ONE_CORE = {"host": {"VCPU": 1}}


def orphans(found: Findings) -> list[str]:
    return [each.consumer.uuid for each in found.orphans]


def test_a_cloud_that_agrees_has_no_findings() -> None:
    found = compare(known("one"), HOST, [consumer("one", ONE_CORE)], SCOPE)
    assert not found
    assert (found.providers, found.consumers, found.known, found.young) == (1, 1, 1, 0)


def test_an_unknown_consumer_is_an_orphan() -> None:
    found = compare(
        known("one"),
        HOST,
        [consumer("one", ONE_CORE), consumer("two", {"host": {"VCPU": 4, "DISK_GB": 9}})],
        SCOPE,
    )
    assert found
    [orphan] = found.orphans
    assert orphan.consumer.uuid == uid("two")
    assert orphan.changed_at == NOW - timedelta(days=10)
    assert held([orphan.consumer]) == {"DISK_GB": 9, "VCPU": 4}
    assert found.name(uid("host")) == "host"


def test_consumers_of_other_types_are_not_looked_at() -> None:
    found = compare(
        known("one"),
        HOST,
        [
            consumer("one", ONE_CORE),
            consumer("two", ONE_CORE, kind="CONTAINER"),
            consumer("three", ONE_CORE, kind="unknown"),
        ],
        SCOPE,
    )
    assert orphans(found) == [uid("three")]


def test_a_young_consumer_is_not_an_orphan() -> None:
    found = compare(
        known(),
        HOST,
        [
            consumer("built", ONE_CORE, days=0.5 / 24),
            consumer("written", ONE_CORE, days=9, written_days=0.5 / 24),
            consumer("old", ONE_CORE, days=9, written_days=1.5 / 24),
        ],
        SCOPE,
    )
    assert orphans(found) == [uid("old")]
    assert found.young == 2


def test_a_consumer_without_a_time_is_not_judged() -> None:
    old = ConsumerDetails(
        consumer=consumer("one", ONE_CORE).consumer, created_at=None, updated_at=None
    )
    found = compare(known(), HOST, [old], SCOPE)
    assert not found.orphans
    assert found.young == 1


def test_orphans_are_sorted_by_type_project_and_age() -> None:
    rows = [
        ("a", "unknown", "p", 3),
        ("b", "INSTANCE", "q", 8),
        ("c", "INSTANCE", "p", 2),
        ("d", "INSTANCE", "p", 5),
    ]
    found = compare(
        known(),
        HOST,
        [
            consumer(name, ONE_CORE, kind=kind, project=project, days=days)
            for name, kind, project, days in rows
        ],
        SCOPE,
    )
    assert orphans(found) == [uid(name) for name in "dcba"]


def test_spellings_of_a_uuid_are_one_consumer() -> None:
    shouted = consumer("one", ONE_CORE)
    shouted = ConsumerDetails(
        consumer=Consumer(
            uuid=uid("one").upper(),
            allocations=shouted.consumer.allocations,
            generation=1,
            consumer_type="INSTANCE",
        ),
        created_at=shouted.created_at,
        updated_at=None,
    )
    assert not compare(known("one"), HOST, [shouted], SCOPE)


def test_a_known_server_that_holds_nothing_is_found() -> None:
    everybody = known("one", "two") | Known(others=frozenset({uid("migration"), uid("shelved")}))
    found = compare(everybody, HOST, [consumer("one", ONE_CORE)], SCOPE)
    assert found.servers == (uid("two"),)
    assert not found.orphans


def test_a_migration_is_known_while_it_holds_something() -> None:
    everybody = known("one") | Known(others=frozenset({uid("migration")}))
    held = [consumer("one", ONE_CORE), consumer("migration", ONE_CORE, kind="unknown")]
    assert not compare(everybody, HOST, held, SCOPE)


# ---------------------------------------------------------------------------------------------
# Changes while it is read


def test_a_server_that_moved_between_pages_is_no_finding() -> None:
    first = compare(known("one", "two"), HOST, [consumer("one", ONE_CORE)], SCOPE)
    assert first.servers == (uid("two"),)
    assert not confirm(first, [consumer("one", ONE_CORE), consumer("two", ONE_CORE)])


def test_an_orphan_that_was_written_or_removed_meanwhile_is_no_finding() -> None:
    seen = [consumer(name, ONE_CORE) for name in ("stays", "written", "removed", "made again")]
    first = compare(known(), HOST, seen, SCOPE)
    again = [
        consumer("stays", ONE_CORE),
        consumer("written", ONE_CORE, generation=2),
        consumer("made again", {"host": {"VCPU": 2}}),
    ]
    assert orphans(confirm(first, again)) == [uid("stays")]


def test_a_consumer_that_was_made_again_while_it_was_read_counts_as_young() -> None:
    seen = [consumer("one", ONE_CORE), consumer("one", ONE_CORE, days=0)]
    found = compare(known(), HOST, seen, SCOPE)
    assert not found.orphans
    assert found.young == 1


# ---------------------------------------------------------------------------------------------
# Providers


def test_what_is_held_outside_of_the_aggregates_is_found() -> None:
    cloud = providers(
        # The root may be read after what is below it.
        provider("numa", root="inside"),
        provider("inside", aggregates=("az1", "other")),
        provider("also", aggregates=("az2",)),
        provider("gone", aggregates=("other",)),
        provider("gone-numa", root="gone"),
        provider("nic", root="gone", aggregates=("az2",)),
        aggregates=("az1", "az2"),
    )
    assert cloud.aggregates == {uid("az1"), uid("az2")}
    scope = Scope(
        types=SCOPE.types,
        changed_before=SCOPE.changed_before,
        aggregates=frozenset({uid("az1"), uid("az2")}),
    )
    consumers = [
        consumer("a", {"numa": {"VCPU": 1}, "inside": {"DISK_GB": 1}}),
        consumer("b", {"gone-numa": {"VCPU": 2}, "nic": {"SRIOV_NET_VF": 1}}),
        consumer("c", {"also": {"VCPU": 1}, "gone-numa": {"VCPU": 3}}),
    ]
    found = compare(known("a", "b", "c"), cloud, consumers, scope)
    [outside] = found.outside
    assert outside.provider_uuid == uid("gone-numa")
    assert outside.root_uuid == uid("gone")
    assert outside.holders == {uid("b"): {"VCPU": 2}, uid("c"): {"VCPU": 3}}
    assert found.name(outside.root_uuid) == "gone"
    # Without aggregates nothing is outside.
    assert not compare(known("a", "b", "c"), cloud, consumers, SCOPE).outside


def test_an_aggregate_that_is_spelled_otherwise_is_the_same() -> None:
    spelled = provider("host")
    spelled = ProviderDetails(
        provider=spelled.provider,
        inventories={},
        usages={},
        traits=frozenset(),
        aggregates=frozenset({uid("az1").upper().replace("-", "")}),
    )
    assert look_at_providers([spelled], frozenset({uid("az1")})).is_inside(uid("host"))


def test_over_committed_providers_are_found_with_who_holds_them() -> None:
    cloud = providers(
        provider(
            "host",
            inventories={
                "VCPU": Inventory(total=8, allocation_ratio=2.0),
                "MEMORY_MB": Inventory(total=1024, reserved=512),
                "DISK_GB": Inventory(total=10),
            },
            usages={"VCPU": 20, "MEMORY_MB": 513, "DISK_GB": 10},
        ),
        provider("dead", inventories={"VCPU": Inventory(total=8, reserved=8)}, usages={"VCPU": 1}),
    )
    consumers = [
        consumer("small", {"host": {"VCPU": 4, "DISK_GB": 10}}),
        consumer("large", {"host": {"VCPU": 16, "MEMORY_MB": 513}}),
        consumer("other", {"dead": {"VCPU": 1}}),
    ]
    found = compare(known("small", "large", "other"), cloud, consumers, SCOPE)
    # The worst first: by the share of the capacity that is used.
    assert [
        (found.name(each.provider_uuid), each.resource_class, each.used, each.capacity, each.excess)
        for each in found.over_committed
    ] == [
        ("dead", "VCPU", 1, 0, 1),
        ("host", "VCPU", 20, 16, 4),
        ("host", "MEMORY_MB", 513, 512, 1),
    ]
    assert list(found.over_committed[1].holders.items()) == [(uid("large"), 16), (uid("small"), 4)]


@pytest.mark.parametrize("used", [0, 16])
def test_a_full_provider_is_not_over_committed(used: int) -> None:
    full = provider("host", inventories={"VCPU": Inventory(total=16)}, usages={"VCPU": used})
    assert not compare(known(), providers(full), [], SCOPE)
