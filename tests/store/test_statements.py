"""Work, not time: how many statements each verb costs, on every database alike.

BEGIN and COMMIT are not counted; the change record and the writer's row are.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from sqlalchemy import event

from roost.errors import ConsumerGenerationConflict
from roost.model import ConsumerChange, Inventory, InventoryChange, NewConsumer
from roost.operations.aggregates import replace_aggregates
from roost.operations.allocations import (
    delete_allocations,
    read_consumer,
    read_provider_consumers,
    replace_allocations,
)
from roost.operations.inventories import (
    add_inventory,
    delete_inventories,
    replace_inventories,
    update_inventory,
)
from roost.operations.placement_candidates import IdempotencyKey, PlacementRequest
from roost.operations.placements import place
from roost.operations.providers import create_provider, delete_provider, update_provider
from roost.operations.reshaper import reshape
from roost.operations.resource_classes import ensure_resource_class
from roost.operations.traits import ensure_trait, replace_traits
from roost.operations.usages import read_project_usages
from roost.query import CandidateQuery, RequestGroup
from roost.service import service
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.connection.statements import STATEMENT_END
from roost.store.migrations import migrate
from roost.store.store import Store
from roost.store.tables import idempotency
from tests.support.names import uid

FEED = 2  # the change record, and the writer's row


class Counter:
    """Counts the statements of a store."""

    def __init__(self, store: Store) -> None:
        self.statements: list[str] = []
        # Its statements bypass the engine.
        self._poll = store._feed._poll
        for engine in (store.engine, store._database.reader):
            event.listen(engine, "before_cursor_execute", self._count)

    def _count(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "START TRANSACTION", "COMMIT")):
            self.statements += statement.split(STATEMENT_END)

    def of(self, action: Callable[[], Any]) -> int:
        self.statements.clear()
        polled = self._poll.statement_count
        action()
        return len(self.statements) + self._poll.statement_count - polled


@pytest.fixture
def roost(database_url: str) -> Iterator[Roost]:
    store = Store.open(database_url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    opened = Roost(store, Settings())
    yield opened
    opened.close()


@pytest.fixture
def counter(roost: Roost) -> Counter:
    return Counter(roost.store)


def change(consumer: str, generation: int | None, *providers: str, amount: int = 1) -> Any:
    resources = {"VCPU": amount, "MEMORY_MB": amount, "DISK_GB": amount}
    return ConsumerChange(
        consumer_uuid=uid(consumer),
        allocations={uid(name): resources for name in providers},
        project_id="project",
        user_id="user",
        consumer_type="INSTANCE",
        checks_generation=True,
        expected_generation=generation,
    )


def stock(name: str, generation: int, *classes: str) -> InventoryChange:
    return InventoryChange(
        provider_uuid=uid(name),
        inventories={each: Inventory(total=100) for each in classes},
        expected_generation=generation,
    )


CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")


def build(roost: Roost) -> None:
    create_provider(roost, uuid=uid("a"), name="a", parent_uuid=None)
    create_provider(roost, uuid=uid("b"), name="b", parent_uuid=uid("a"))
    for name in "ab":
        replace_inventories(roost, change=stock(name, 0, *CLASSES))
    replace_allocations(roost, changes=[change("first", None, "a")])


def test_allocations(roost: Roost, counter: Counter) -> None:
    build(roost)
    # consumer, providers, inventories and use; generations, consumer, allocations. The project
    # and the user are known from an earlier claim.
    claim = [change("c0", None, "a", "b")]
    assert counter.of(lambda: replace_allocations(roost, changes=claim)) == 7 + FEED
    claim = [change("c1", None, "a", "b")]
    assert counter.of(lambda: replace_allocations(roost, changes=claim)) == 6 + FEED
    # One more to delete the old allocations.
    claim = [change("c1", 1, "a", "b", amount=2)]
    assert counter.of(lambda: replace_allocations(roost, changes=claim)) == 7 + FEED
    # Ten consumers cost what one costs.
    claim = [change(f"many{number}", None, "a", "b") for number in range(10)]
    assert counter.of(lambda: replace_allocations(roost, changes=claim)) == 6 + FEED
    claim = [change(f"many{number}", 1, "a", "b", amount=2) for number in range(10)]
    assert counter.of(lambda: replace_allocations(roost, changes=claim)) == 7 + FEED
    # consumer, providers; generations, consumer, allocations.
    claim = [change("c1", 2)]
    assert counter.of(lambda: replace_allocations(roost, changes=claim)) == 5 + FEED
    one = uid("many1")
    assert counter.of(lambda: delete_allocations(roost, consumer_uuid=one)) == 3 + FEED
    # Refused: nothing is written, so nothing is recorded.
    counter.statements.clear()
    with pytest.raises(ConsumerGenerationConflict):
        replace_allocations(roost, changes=[change("many2", 7, "a")])
    assert len(counter.statements) == 1


def test_the_index_proposes(
    roost: Roost, counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an index that has caught up, a write reads next to nothing."""
    monkeypatch.setattr(service, "RECENT_SECONDS_MAX", 3600)
    build(roost)
    replace_allocations(roost, changes=[change("c0", None, "b")])

    def count_fresh(action: Callable[[], Any]) -> int:
        with roost.current_index():
            pass
        return counter.of(action)

    # generations, consumer, allocations
    claim = [change("c1", None, "a", "b")]
    assert count_fresh(lambda: replace_allocations(roost, changes=claim)) == 3 + FEED
    # The index learns what its own process writes without a statement.
    for number in range(10):
        claim = [change(f"next{number}", None, "a", "b")]
        assert counter.of(lambda claim=claim: replace_allocations(roost, changes=claim)) == 3 + FEED
    # An existing consumer must be read, and its old allocations deleted.
    claim = [change("c1", 1, "a", "b", amount=2)]
    assert count_fresh(lambda: replace_allocations(roost, changes=claim)) == 5 + FEED
    # generation, inventories
    again = stock("b", 14, *CLASSES)
    assert count_fresh(lambda: replace_inventories(roost, change=again)) == 2 + FEED
    one = Inventory(total=90)
    assert (
        count_fresh(
            lambda: update_inventory(
                roost,
                provider_uuid=uid("b"),
                resource_class="VCPU",
                inventory=one,
                expected_generation=15,
            )
        )
        == 2 + FEED
    )
    # generation, traits
    assert (
        count_fresh(
            lambda: replace_traits(
                roost,
                provider_uuid=uid("b"),
                traits={"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"},
                expected_generation=16,
            )
        )
        == 2 + FEED
    )


def test_inventories(roost: Roost, counter: Counter) -> None:
    build(roost)
    ensure_resource_class(roost, name="CUSTOM_A")
    one = Inventory(total=1)
    a, b = uid("a"), uid("b")
    assert counter.of(lambda: replace_inventories(roost, change=stock("b", 1, *CLASSES))) == (
        5 + FEED
    )
    # One more for a custom class, which must not be deleted meanwhile.
    more = stock("b", 2, *CLASSES, "CUSTOM_A")
    assert counter.of(lambda: replace_inventories(roost, change=more)) == 6 + FEED
    verbs: list[tuple[int, Callable[[], Any]]] = [
        (
            5,  # the class too: only the transaction knows that a name is valid
            lambda: update_inventory(
                roost,
                provider_uuid=b,
                resource_class="VCPU",
                inventory=one,
                expected_generation=3,
            ),
        ),
        (4, lambda: delete_inventories(roost, provider_uuid=b, resource_class="VCPU")),
        (4, lambda: delete_inventories(roost, provider_uuid=b, resource_class=None)),
        (
            5,
            lambda: add_inventory(roost, provider_uuid=a, resource_class="PGPU", inventory=one),
        ),
    ]
    for count, verb in verbs:
        assert counter.of(verb) == count + FEED


def test_providers(roost: Roost, counter: Counter) -> None:
    build(roost)
    c, d = uid("c"), uid("d")

    def move(parent: str | None) -> None:
        update_provider(roost, uuid=d, name="d", parent_uuid=parent, may_reparent=True)

    verbs: list[tuple[int, Callable[[], Any]]] = [
        (3, lambda: create_provider(roost, uuid=c, name="c", parent_uuid=None)),
        # Three more, to keep the shape of the tree.
        (5, lambda: create_provider(roost, uuid=d, name="d", parent_uuid=c)),
        (
            4,
            lambda: update_provider(
                roost, uuid=d, name="e", parent_uuid=msgspec.UNSET, may_reparent=True
            ),
        ),
        (10, lambda: move(uid("a"))),
        (9, lambda: move(None)),
        (8, lambda: delete_provider(roost, uuid=d)),
    ]
    for count, verb in verbs:
        assert counter.of(verb) == count + FEED


def test_traits_and_aggregates(roost: Roost, counter: Counter) -> None:
    build(roost)
    ensure_trait(roost, name="CUSTOM_A")
    traits = {"CUSTOM_A", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"}

    def put_traits(generation: int) -> Any:
        return replace_traits(
            roost, provider_uuid=uid("b"), traits=traits, expected_generation=generation
        )

    def put_aggregates(generation: int | None, count: int) -> Any:
        return replace_aggregates(
            roost,
            provider_uuid=uid("b"),
            aggregates=[uid(f"aggregate{number}") for number in range(count)],
            expected_generation=generation,
        )

    assert counter.of(lambda: put_traits(1)) == 5 + FEED
    # The same again writes nothing.
    assert counter.of(lambda: put_traits(2)) == 3
    # New aggregates are added.
    assert counter.of(lambda: put_aggregates(2, 20)) == 7 + FEED
    assert counter.of(lambda: put_aggregates(None, 10)) == 5 + FEED


def test_reshape(roost: Roost, counter: Counter) -> None:
    build(roost)
    create_provider(roost, uuid=uid("c"), name="c", parent_uuid=uid("a"))
    inventories = [stock("a", 2), stock("b", 1, *CLASSES), stock("c", 0, *CLASSES)]
    consumers = [change("first", 1, "b", "c"), change("new", None, "c")]
    count = counter.of(lambda: reshape(roost, inventories=inventories, consumers=consumers))
    assert count == 12 + FEED


def test_reads(roost: Roost, counter: Counter) -> None:
    build(roost)
    for read in (
        lambda: read_consumer(roost, consumer_uuid=uid("first")),
        lambda: read_provider_consumers(roost, provider_uuid=uid("a")),
        lambda: read_project_usages(roost, project_id="project"),
    ):
        assert counter.of(read) == 1


def test_catching_up(roost: Roost, counter: Counter, database_url: str) -> None:
    build(roost)
    store = roost.store
    position, _ = store.load()
    # Without changes: one tiny read, and on SQLite, once that is known, none.
    assert counter.of(lambda: store.changes_since(position)) == 1
    again = counter.of(lambda: store.changes_since(position))
    assert again == (0 if database_url.startswith("sqlite") else 1)
    # The process remembers its own records: after a hundred claims it reads only the writers.
    for number in range(100):
        replace_allocations(roost, changes=[change(f"c{number % 7}", number // 7 or None, "b")])
    assert counter.of(lambda: store.changes_since(position)) == 1
    # One more read for the records of other processes.
    other = Store.open(database_url)
    allocations = Counter(other)
    assert allocations.of(lambda: other.changes_since(position)) == 2
    # Providers to read again need a snapshot: the writers and records again, and rows.
    replace_inventories(roost, change=stock("a", 2, *CLASSES))
    assert allocations.of(lambda: other.changes_since(position)) == 2 + 2 + 5
    other.dispose()


@pytest.mark.parametrize("count", [1, 20])
def test_placing_any_number_of_consumers(
    roost: Roost, counter: Counter, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A write may also delete expired keys.
    monkeypatch.setattr(idempotency, "TRIM_INTERVAL", 10**9)
    build(roost)

    def request_of(name: str, key: IdempotencyKey | None = None) -> PlacementRequest:
        consumers = (
            NewConsumer(
                uuid=uid(f"{name} {number}"),
                project_id="project",
                user_id="user",
                consumer_type="INSTANCE",
            )
            for number in range(count)
        )
        query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),))
        return PlacementRequest(query=query, consumers=tuple(consumers), key=key)

    # The index is loaded.
    place(roost, request=request_of("first"))
    plain = counter.of(lambda: place(roost, request=request_of("plain")))
    key = IdempotencyKey(key_digest="0" * 64, body_digest="1" * 64)
    keyed = counter.of(lambda: place(roost, request=request_of("keyed", key)))
    # consumers; generations, consumers, allocations.
    assert plain == 4 + FEED
    # Looking for an answer, before and within the transaction; and storing it.
    assert keyed == plain + 3
    assert counter.of(lambda: place(roost, request=request_of("keyed", key))) == 1
