"""Looking ahead: can the slots that are left still find a provider each?

Slots are matched with providers so that a provider fills no more of them than isolation, or what it
has free, allows. Such a matching is necessary, not sufficient. It ends hopeless searches early,
such as one for nine devices on a host that has eight.
"""

from collections.abc import Sequence

from roost.search.constraints import DifferentProviders, JointCapacity
from roost.search.index.columns import Integers
from roost.search.request_constraints import RequestConstraints


def rest_is_possible(
    constraints: RequestConstraints,
    order: Sequence[int],
    options: Sequence[Integers],
    way: Sequence[int],
) -> bool:
    """Whether a partial way can be completed, as far as competition for providers goes.

    Slots are filled in the given `order`; `options` and `way` are in the same.
    """
    return all(
        _isolation_is_possible(each, order, options, way)
        for each in constraints.different_providers
    ) and _capacity_is_possible(constraints.joint_capacities, order, options, way)


def _isolation_is_possible(
    constraint: DifferentProviders,
    order: Sequence[int],
    options: Sequence[Integers],
    way: Sequence[int],
) -> bool:
    """Whether the slots that are left find a provider that none of the filled ones has."""
    depths = [depth for depth, number in enumerate(order) if number in constraint.slots]
    filled = {way[depth] for depth in depths if depth < len(way)}
    rest = [depth for depth in depths if depth >= len(way)]
    slots_max = {
        row: 0 if row in filled else 1 for depth in rest for row in options[depth].tolist()
    }
    return _all_matched(rest, options, slots_max)


def _capacity_is_possible(
    constraints: Sequence[JointCapacity],
    order: Sequence[int],
    options: Sequence[Integers],
    way: Sequence[int],
) -> bool:
    """Whether the slots that are left find providers with enough free."""
    rest = [
        depth
        for depth in range(len(way), len(order))
        if any(order[depth] in each.slots for each in constraints)
    ]
    slots_max = {row: len(rest) for depth in rest for row in options[depth].tolist()}
    for each in constraints:
        asking = [depth for depth in rest if order[depth] in each.slots]
        amounts = sorted(each.amounts[order[depth]] for depth in asking)
        taken: dict[int, int] = {}
        for row, number in zip(way, order, strict=False):
            taken[row] = taken.get(row, 0) + each.amounts.get(number, 0)
        room: dict[int, int] = {}
        for depth in asking:
            rows = options[depth]
            room.update(zip(rows.tolist(), each.room.of_rows(rows).tolist(), strict=True))
        for row, left in room.items():
            # The smallest amounts first: an upper bound of how many the provider can serve.
            left -= taken.get(row, 0)
            count = 0
            for amount in amounts:
                if amount > left:
                    break
                left -= amount
                count += 1
            slots_max[row] = min(slots_max[row], len(rest) - len(asking) + count)
    return _all_matched(rest, options, slots_max)


def _all_matched(
    rest: Sequence[int], options: Sequence[Integers], slots_max: dict[int, int]
) -> bool:
    """Kuhn's algorithm, with `slots_max` slots for each provider."""
    matched: dict[int, list[int]] = {}

    def assign(depth: int, visited: set[int]) -> bool:
        for row in options[depth].tolist():
            if row in visited or not slots_max[row]:
                continue
            visited.add(row)
            serving = matched.setdefault(row, [])
            if len(serving) < slots_max[row]:
                serving.append(depth)
                return True
            for number, other in enumerate(serving):
                if assign(other, visited):
                    serving[number] = depth
                    return True
        return False

    return all(assign(depth, set()) for depth in rest)
