"""How many statements each operation takes, which is the same on every database.

BEGIN, COMMIT and guards are not counted; the change record and the writer's row are.
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
from roost.operations.claiming.claim import write_batch
from roost.operations.inventories import (
    add_inventory,
    delete_inventories,
    read_inventories,
    replace_inventories,
    update_inventory,
)
from roost.operations.placing.candidates import IdempotencyKey, PlacementRequest
from roost.operations.placing.placements import place
from roost.operations.providers import create_provider, delete_provider, update_provider
from roost.operations.reshaper import reshape
from roost.operations.resource_classes import ensure_resource_class
from roost.operations.traits import ensure_trait, replace_traits
from roost.operations.usages import read_project_usages
from roost.query import CandidateQuery, RequestGroup
from roost.service import service
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection.statements import STATEMENT_END
from roost.store.store import Store
from roost.store.tables import idempotency
from tests.support.names import uid
from tests.support.sent_statements import listen

FEED = 2  # the change record, and the writer's row


class StatementCounter:
    """Counts the statements of a store."""

    def __init__(self, store: Store) -> None:
        self.statements: list[str] = []
        self.round_trips = 0  # messages of statements, and of COMMIT, without those of the poll
        self.dialect = store.engine.dialect.name
        # Its statements bypass the engine.
        self._poll = store._feed._poll
        for engine in (store.engine, store._database.reader):
            listen(engine, self._count)
            event.listen(engine, "commit", self._count_commit)

    def _count_commit(self, *_: Any) -> None:
        self.round_trips += 1

    def _count(self, statement: str) -> None:
        self.round_trips += 1
        self.statements += [
            each
            for each in statement.split(STATEMENT_END)
            if not each.startswith(("BEGIN", "START TRANSACTION", "COMMIT", "SET ", "IF ", "END"))
        ]

    def count(self, action: Callable[[], Any]) -> int:
        self.statements.clear()
        self.round_trips = 0
        polled = self._poll.statement_count
        action()
        return len(self.statements) + self._poll.statement_count - polled


@pytest.fixture
def roost(synchronised_url: str) -> Iterator[Roost]:
    store = Store.open(synchronised_url)
    opened = Roost(store, Settings())
    yield opened
    opened.close()


@pytest.fixture
def counter(roost: Roost) -> StatementCounter:
    return StatementCounter(roost.store)


def consumer_change(consumer: str, generation: int | None, *providers: str, amount: int = 1) -> Any:
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


def inventory_change(name: str, generation: int, *classes: str) -> InventoryChange:
    return InventoryChange(
        provider_uuid=uid(name),
        inventories={each: Inventory(total=100) for each in classes},
        expected_generation=generation,
    )


CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")


def add_providers(roost: Roost) -> None:
    create_provider(roost, uuid=uid("a"), name="a", parent_uuid=None)
    create_provider(roost, uuid=uid("b"), name="b", parent_uuid=uid("a"))
    for name in "ab":
        replace_inventories(roost, change=inventory_change(name, 0, *CLASSES))
    replace_allocations(roost, changes=[consumer_change("first", None, "a")])


def test_statements_of_allocations(roost: Roost, counter: StatementCounter) -> None:
    add_providers(roost)
    # consumer, providers, inventories and usage; generations, consumer, allocations. The project
    # and the user are known from an earlier claim.
    claim = [consumer_change("c0", None, "a", "b")]
    assert counter.count(lambda: replace_allocations(roost, changes=claim)) == 7 + FEED
    claim = [consumer_change("c1", None, "a", "b")]
    assert counter.count(lambda: replace_allocations(roost, changes=claim)) == 6 + FEED
    # One more deletes the old allocations.
    claim = [consumer_change("c1", 1, "a", "b", amount=2)]
    assert counter.count(lambda: replace_allocations(roost, changes=claim)) == 7 + FEED
    # Ten consumers take as many as one.
    claim = [consumer_change(f"many{number}", None, "a", "b") for number in range(10)]
    assert counter.count(lambda: replace_allocations(roost, changes=claim)) == 6 + FEED
    claim = [consumer_change(f"many{number}", 1, "a", "b", amount=2) for number in range(10)]
    assert counter.count(lambda: replace_allocations(roost, changes=claim)) == 7 + FEED
    # consumer, providers; generations, consumer, allocations.
    claim = [consumer_change("c1", 2)]
    assert counter.count(lambda: replace_allocations(roost, changes=claim)) == 5 + FEED
    one = uid("many1")
    assert counter.count(lambda: delete_allocations(roost, consumer_uuid=one)) == 3 + FEED
    # Refused: nothing is written, so nothing is recorded.
    counter.statements.clear()
    with pytest.raises(ConsumerGenerationConflict):
        replace_allocations(roost, changes=[consumer_change("many2", 7, "a")])
    assert len(counter.statements) == 1


def test_optimistic_writes_read_almost_nothing(
    roost: Roost, counter: StatementCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an index that has caught up, a write reads almost nothing from the tables."""
    monkeypatch.setattr(service, "RECENT_SECONDS_MAX", 3600)
    monkeypatch.setattr(service, "NOTICE_SECONDS", 3600)
    add_providers(roost)
    replace_allocations(roost, changes=[consumer_change("c0", None, "b")])

    def count_fresh(action: Callable[[], Any]) -> int:
        roost.current_index()
        return counter.count(action)

    # generations, consumer, allocations
    at_once = {"sqlite": 3 + FEED, "postgresql": 1, "mysql": 3 + FEED}[counter.dialect]
    claim = [consumer_change("c1", None, "a", "b")]
    assert count_fresh(lambda: replace_allocations(roost, changes=claim)) == at_once
    # The index applies the writes of its own process without a statement.
    for number in range(10):
        claim = [consumer_change(f"next{number}", None, "a", "b")]
        assert (
            counter.count(lambda claim=claim: replace_allocations(roost, changes=claim)) == at_once
        )
    # Claims that share a transaction take as many as one.
    batch = [[consumer_change(f"batch{number}", None, "a", "b")] for number in range(10)]
    assert count_fresh(lambda: write_batch(roost, batch)) == at_once
    # A large claim has a transaction as any other write. On SQLite, an INSERT has 64 rows.
    in_transaction = FEED + {"sqlite": 6, "postgresql": 1, "mysql": 3}[counter.dialect]
    many = [consumer_change(f"many{number}", None, "a", "b") for number in range(33)]
    assert count_fresh(lambda: replace_allocations(roost, changes=many)) == in_transaction
    # An existing consumer must be read, and its old allocations deleted.
    claim = [consumer_change("c1", 1, "a", "b", amount=2)]
    assert count_fresh(lambda: replace_allocations(roost, changes=claim)) == 5 + FEED
    # generation, inventories
    again = inventory_change("b", 25, *CLASSES)
    assert count_fresh(lambda: replace_inventories(roost, change=again)) == 2 + FEED
    assert_at_once(counter)
    one = Inventory(total=90)
    assert (
        count_fresh(
            lambda: update_inventory(
                roost,
                provider_uuid=uid("b"),
                resource_class="VCPU",
                inventory=one,
                expected_generation=26,
            )
        )
        == 2 + FEED
    )
    assert_at_once(counter)
    # generation, traits
    assert (
        count_fresh(
            lambda: replace_traits(
                roost,
                provider_uuid=uid("b"),
                traits={"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"},
                expected_generation=27,
            )
        )
        == 2 + FEED
    )
    assert_at_once(counter)
    # Another one is added, and both of before are removed.
    others = {"HW_CPU_X86_SSE"}
    assert (
        count_fresh(
            lambda: replace_traits(
                roost, provider_uuid=uid("b"), traits=others, expected_generation=28
            )
        )
        == 3 + FEED
    )
    assert_at_once(counter)

    def put_aggregates(generation: int) -> Any:
        return replace_aggregates(
            roost,
            provider_uuid=uid("b"),
            aggregates=[uid("rack")],
            expected_generation=generation,
        )

    # The first two times add it, and learn its id.
    put_aggregates(29)
    put_aggregates(30)
    # generation, the old ones, the new ones
    assert count_fresh(lambda: put_aggregates(31)) == 3 + FEED
    assert_at_once(counter)


def assert_at_once(counter: StatementCounter) -> None:
    """The last action was one round trip, where there is any, with everything up to COMMIT."""
    if counter.dialect != "sqlite":
        assert counter.round_trips == 1


def test_writes_do_not_wait_for_the_index_to_reread_other_providers(
    roost: Roost, counter: StatementCounter
) -> None:
    """A compute node reports its inventories whatever the process wrote for others before."""
    add_providers(roost)
    generations = {}
    for name in ("a", "b"):
        generations[name] = read_inventories(roost, provider_uuid=uid(name)).generation
    for name, generation in generations.items():
        again = inventory_change(name, generation, *CLASSES)
        # Neither write catches up: the client saw the generation that the index has.
        assert counter.count(lambda again=again: replace_inventories(roost, change=again)) == (
            2 + FEED
        )


def test_statements_of_inventories(roost: Roost, counter: StatementCounter) -> None:
    add_providers(roost)
    ensure_resource_class(roost, name="CUSTOM_A")
    one = Inventory(total=1)
    a, b = uid("a"), uid("b")
    assert counter.count(
        lambda: replace_inventories(roost, change=inventory_change("b", 1, *CLASSES))
    ) == (5 + FEED)
    # One more guards a custom class against being deleted meanwhile.
    more = inventory_change("b", 2, *CLASSES, "CUSTOM_A")
    assert counter.count(lambda: replace_inventories(roost, change=more)) == 6 + FEED
    operations: list[tuple[int, Callable[[], Any]]] = [
        (
            5,  # the class too: only the transaction can tell that a name is valid
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
    for statement_count, operation in operations:
        assert counter.count(operation) == statement_count + FEED


def test_statements_of_providers(roost: Roost, counter: StatementCounter) -> None:
    add_providers(roost)
    c, d = uid("c"), uid("d")

    def move(parent: str | None) -> None:
        update_provider(roost, uuid=d, name="d", parent_uuid=parent, may_reparent=True)

    operations: list[tuple[int, Callable[[], Any]]] = [
        (3, lambda: create_provider(roost, uuid=c, name="c", parent_uuid=None)),
        # More, to protect the shape of the tree.
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
    for statement_count, operation in operations:
        assert counter.count(operation) == statement_count + FEED


def test_statements_of_traits_and_aggregates(roost: Roost, counter: StatementCounter) -> None:
    add_providers(roost)
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

    assert counter.count(lambda: put_traits(1)) == 5 + FEED
    # The same again writes nothing.
    assert counter.count(lambda: put_traits(2)) == 3
    # New aggregates are added.
    assert counter.count(lambda: put_aggregates(2, 20)) == 7 + FEED
    assert counter.count(lambda: put_aggregates(None, 10)) == 5 + FEED


def test_statements_of_a_reshape(roost: Roost, counter: StatementCounter) -> None:
    add_providers(roost)
    create_provider(roost, uuid=uid("c"), name="c", parent_uuid=uid("a"))
    inventories = [
        inventory_change("a", 2),
        inventory_change("b", 1, *CLASSES),
        inventory_change("c", 0, *CLASSES),
    ]
    consumers = [consumer_change("first", 1, "b", "c"), consumer_change("new", None, "c")]
    count = counter.count(lambda: reshape(roost, inventories=inventories, consumers=consumers))
    assert count == 12 + FEED


def test_reads_take_one_statement(roost: Roost, counter: StatementCounter) -> None:
    add_providers(roost)
    for read in (
        lambda: read_consumer(roost, consumer_uuid=uid("first")),
        lambda: read_provider_consumers(roost, provider_uuid=uid("a")),
        lambda: read_project_usages(roost, project_id="project"),
    ):
        assert counter.count(read) == 1


def test_statements_of_catching_up(
    roost: Roost, counter: StatementCounter, synchronised_url: str
) -> None:
    add_providers(roost)
    store = roost.store
    position, _ = store.load()
    # Without changes: one small read, and on SQLite none from the second time on.
    assert counter.count(lambda: store.changes_since(position)) == 1
    again = counter.count(lambda: store.changes_since(position))
    assert again == (0 if synchronised_url.startswith("sqlite") else 1)
    # The process remembers its own records: after a hundred claims it reads only the writers.
    for number in range(100):
        replace_allocations(
            roost, changes=[consumer_change(f"c{number % 7}", number // 7 or None, "b")]
        )
    assert counter.count(lambda: store.changes_since(position)) == 1
    # One more read for the records of other processes.
    other = Store.open(synchronised_url)
    other_counter = StatementCounter(other)
    assert other_counter.count(lambda: other.changes_since(position)) == 2
    # A record has all that is new of inventories, traits and aggregates that were replaced.
    roost.catch_up()
    replace_inventories(roost, change=inventory_change("a", 2, *CLASSES))
    replace_traits(roost, provider_uuid=uid("a"), traits={"HW_NIC_SRIOV"}, expected_generation=3)
    replace_aggregates(
        roost, provider_uuid=uid("a"), aggregates=[uid("rack")], expected_generation=4
    )
    # One read more, because they are by the other writer of the process.
    more = 0 if synchronised_url.startswith("sqlite") else 1
    assert other_counter.count(lambda: other.changes_since(position)) == 2 + more
    assert counter.count(roost.catch_up) == 1
    # Providers to read again need a snapshot: the writers and records again, and rows.
    replace_inventories(roost, change=inventory_change("a", 5, *CLASSES, "PGPU"))
    assert other_counter.count(lambda: other.changes_since(position)) == 2 + more + 2 + 5
    other.dispose()


@pytest.mark.parametrize("count", [1, 20])
def test_placing_takes_as_many_statements_for_any_number_of_consumers(
    roost: Roost, counter: StatementCounter, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A write may also delete expired keys.
    monkeypatch.setattr(idempotency, "TRIM_INTERVAL", 10**9)
    add_providers(roost)

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

    # Loads the index.
    place(roost, request=request_of("first"))
    without_key = counter.count(lambda: place(roost, request=request_of("plain")))
    key = IdempotencyKey(key_digest="0" * 64, body_digest="1" * 64)
    with_key = counter.count(lambda: place(roost, request=request_of("keyed", key)))
    # The feed; generations, consumers, allocations.
    at_once = {"sqlite": 3 + FEED, "postgresql": 1, "mysql": 3 + FEED}[counter.dialect]
    assert without_key == 1 + at_once
    # In a transaction, with reading a stored answer, before and within it, and storing one.
    assert with_key == 1 + 3 + FEED + 3
    assert counter.count(lambda: place(roost, request=request_of("keyed", key))) == 1


def test_spellings_of_providers_take_no_statement(roost: Roost, counter: StatementCounter) -> None:
    """A body may name many, in upper case, which some databases find."""
    add_providers(roost)
    spellings = [uid(name).upper() for name in "ab"]
    assert roost.store.ignores_case == (roost.store.engine.dialect.name == "mysql")
    assert counter.count(lambda: [roost.as_stored(each) for each in spellings]) == 0
