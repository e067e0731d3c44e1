"""A reshape is visible as a whole or not at all, whatever runs beside it."""

import threading
from collections.abc import Callable
from functools import partial

from roost.errors import Conflict
from roost.model import Inventory, InventoryChange
from roost.operations.inventories import read_inventories
from roost.operations.reshaper import reshape
from roost.operations.usages import read_usages
from roost.service.service import Roost
from tests.concurrency.races import add_provider, claim, put, refusals, run_concurrently, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def move_all(roost: Roost, source: str, target: str, consumers: dict[str, int]) -> None:
    """Move the VCPU inventory of `source`, and the allocations of its consumers, to `target`."""
    generations = {
        name: read_inventories(roost, provider_uuid=uid(name)).generation
        for name in (source, target)
    }
    reshape(
        roost,
        inventories=[
            InventoryChange(
                provider_uuid=uid(source), inventories={}, expected_generation=generations[source]
            ),
            InventoryChange(
                provider_uuid=uid(target),
                inventories={"VCPU": Inventory(total=20)},
                expected_generation=generations[target],
            ),
        ],
        consumers=[
            claim(name, {target: {"VCPU": 1}}, expected_generation=generation)
            for name, generation in consumers.items()
        ],
    )


def test_a_reshape_moves_all_claims_or_is_refused(open_roost: OpenRoost) -> None:
    """A claim that comes first makes the reshape fail; a claim that comes later is refused."""
    first, second = open_roost(), open_roost()
    for round_ in range(6):
        source, target = f"source{round_}", f"target{round_}"
        add_provider(first, source, VCPU=20)
        add_provider(first, target)
        held = f"held{round_}"
        put(first, claim(held, {source: {"VCPU": 1}}))
        claims = [
            partial(put, second, claim(f"new{round_}-{number}", {source: {"VCPU": 1}}))
            for number in range(4)
        ]
        results = run_concurrently([partial(move_all, first, source, target, {held: 1}), *claims])
        claimed = results[1:].count(None)
        assert all(isinstance(refusal, Conflict) for refusal in refusals(results))
        if results[0] is None:
            # The reshape went first, and left no inventory to claim from.
            assert claimed == 0
            assert used(first, source, "VCPU") == 0
            assert used(first, target, "VCPU") == 1
        else:
            assert used(first, source, "VCPU") == 1 + claimed
            assert used(first, target, "VCPU") == 0


def test_readers_never_see_half_a_reshape(open_roost: OpenRoost) -> None:
    writer, reader = open_roost(), open_roost()
    add_provider(writer, "left", VCPU=20)
    add_provider(writer, "right")
    consumers = {f"consumer{number}": 1 for number in range(5)}
    put(writer, *(claim(name, {"left": {"VCPU": 1}}) for name in consumers))
    done = threading.Event()
    seen: set[tuple[int, int]] = set()

    def read() -> None:
        while not done.is_set():
            index = reader.current_index()
            rows = [index.row_of_uuid[uid(name)] for name in ("left", "right")]
            left, right = (
                sum(inventory.used for inventory in index.inventories(row)) for row in rows
            )
            seen.add((left, right))

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for round_ in range(10):
            source, target = ("left", "right") if round_ % 2 == 0 else ("right", "left")
            move_all(writer, source, target, consumers)
            consumers = {name: generation + 1 for name, generation in consumers.items()}
    finally:
        done.set()
        thread.join()
    assert seen <= {(5, 0), (0, 5)}
    assert read_usages(reader, provider_uuid=uid("left")).usages == {"VCPU": 5}
