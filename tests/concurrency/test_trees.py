"""Trees under concurrent change stay trees."""

import random
from collections.abc import Callable
from functools import partial

from sqlalchemy import select

from roost.errors import InvalidParent
from roost.operations.providers import create_provider, delete_provider, update_provider
from roost.service.service import Roost
from roost.store.schema import resource_providers
from tests.concurrency.races import add_provider, refusals, run_concurrently
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def reparent(roost: Roost, name: str, parent: str | None) -> None:
    parent_uuid = None if parent is None else uid(parent)
    update_provider(roost, uuid=uid(name), name=name, parent_uuid=parent_uuid, may_reparent=True)


def check_trees(roost: Roost) -> None:
    """Assert that the parents of every provider lead to the root in its row."""
    with roost.store.engine.connect() as connection:
        rows = {row.id: row for row in connection.execute(select(resource_providers))}
    for row in rows.values():
        top, steps = row, 0
        while top.parent_provider_id is not None:
            top, steps = rows[top.parent_provider_id], steps + 1
            assert steps <= len(rows), f"a loop around {row.name}"
        assert row.root_provider_id == top.id, f"{row.name} names a wrong root"


def test_two_moves_never_make_a_cycle(open_roost: OpenRoost) -> None:
    """A below B and B below A, at once: one of them is refused."""
    first, second = open_roost(), open_roost()
    for number in range(12):
        left, right = f"left{number}", f"right{number}"
        add_provider(first, left)
        add_provider(first, right)
        add_provider(first, f"child{number}", parent=right)
        results = run_concurrently(
            [
                partial(reparent, first, left, f"child{number}"),
                partial(reparent, second, right, left),
            ]
        )
        assert [type(refusal) for refusal in refusals(results)] == [InvalidParent]
        check_trees(first)


def test_random_moves_leave_valid_trees(open_roost: OpenRoost) -> None:
    services = open_roost(), open_roost()
    names = [f"node{number}" for number in range(8)]
    for name in names:
        add_provider(services[0], name)
    chance = random.Random(5)
    for _ in range(6):
        moves = [
            partial(
                reparent,
                services[number % 2],
                chance.choice(names),
                chance.choice([*names, None]),
            )
            for number in range(8)
        ]
        results = run_concurrently(moves)
        assert {type(refusal) for refusal in refusals(results)} <= {InvalidParent}
        check_trees(services[0])


def test_a_child_created_during_a_move_has_the_new_root(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    add_provider(first, "old")
    add_provider(first, "new")
    add_provider(first, "middle", parent="old")
    for number in range(12):
        target = "new" if number % 2 == 0 else "old"
        child = f"child{number}"
        results = run_concurrently(
            [
                partial(reparent, first, "middle", target),
                partial(
                    create_provider,
                    second,
                    uuid=uid(child),
                    name=child,
                    parent_uuid=uid("middle"),
                ),
            ]
        )
        assert refusals(results) == []
        check_trees(first)


def test_a_child_is_created_or_its_parent_deleted_but_not_both(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    for number in range(12):
        parent, child = f"parent{number}", f"child{number}"
        add_provider(first, parent)
        results = run_concurrently(
            [
                partial(delete_provider, first, uuid=uid(parent)),
                partial(
                    create_provider, second, uuid=uid(child), name=child, parent_uuid=uid(parent)
                ),
            ]
        )
        assert len(refusals(results)) == 1
        check_trees(first)
