"""Looking ahead: can the slots that are left still find a provider each?

A matching of slots to providers in which a provider fills no more slots than isolate, or what it
has left, allows. Necessary, not sufficient: it ends hopeless searches early, such as nine devices
asked of a host that has eight.
"""

from collections.abc import Sequence

from roost.search.constraints import Rules
from roost.search.index.columns import Integers
from roost.search.match import Slot


def rest_is_possible(
    rules: Rules, slots: Sequence[Slot], options: Sequence[Integers], way: Sequence[int]
) -> bool:
    """Whether a partial way can be completed, as far as competition for providers goes."""
    if not all(_isolated_is_possible(rules, slots, options, way, each) for each in rules.isolated):
        return False
    rest = [depth for depth in range(len(way), len(slots)) if _competes(rules, slots[depth])]
    if not rest:
        return True
    if rules.isolate:
        filled = {row for row, slot in zip(way, slots, strict=False) if slot.group.one_provider}
        places = {
            row: 0 if row in filled else 1 for depth in rest for row in options[depth].tolist()
        }
    else:
        places = _places_by_room(rules, slots, options, way, rest)
    return _all_matched(rest, options, places)


def _isolated_is_possible(
    rules: Rules,
    slots: Sequence[Slot],
    options: Sequence[Integers],
    way: Sequence[int],
    numbers: frozenset[int],
) -> bool:
    """Whether the slots of one `isolate` that are left find providers of their own."""
    members = [rules.slots[number] for number in numbers]
    rest = [depth for depth in range(len(way), len(slots)) if slots[depth] in members]
    filled = {row for row, slot in zip(way, slots, strict=False) if slot in members}
    places = {row: 0 if row in filled else 1 for depth in rest for row in options[depth].tolist()}
    return _all_matched(rest, options, places)


def _competes(rules: Rules, slot: Slot) -> bool:
    if rules.isolate:
        return slot.group.one_provider
    return not rules.contended.isdisjoint(slot.demands)


def _places_by_room(
    rules: Rules,
    slots: Sequence[Slot],
    options: Sequence[Integers],
    way: Sequence[int],
    rest: Sequence[int],
) -> dict[int, int]:
    """For each provider an upper bound of how many of the slots in `rest` it can fill."""
    places = {row: len(rest) for depth in rest for row in options[depth].tolist()}
    for class_id in rules.contended:
        asking = [depth for depth in rest if class_id in slots[depth].demands]
        amounts = sorted(slots[depth].demands[class_id] for depth in asking)
        taken: dict[int, int] = {}
        for row, slot in zip(way, slots, strict=False):
            taken[row] = taken.get(row, 0) + slot.demands.get(class_id, 0)
        room: dict[int, int] = {}
        for depth in asking:
            rows = options[depth]
            room.update(zip(rows.tolist(), rules.room(class_id, rows).tolist(), strict=True))
        for row, left in room.items():
            left -= taken.get(row, 0)
            count = 0
            for amount in amounts:
                if amount > left:
                    break
                left -= amount
                count += 1
            places[row] = min(places[row], len(rest) - len(asking) + count)
    return places


def _all_matched(rest: Sequence[int], options: Sequence[Integers], places: dict[int, int]) -> bool:
    """Kuhn's algorithm, with several places for each provider."""
    holders: dict[int, list[int]] = {}

    def assign(depth: int, visited: set[int]) -> bool:
        for row in options[depth].tolist():
            if row in visited or not places[row]:
                continue
            visited.add(row)
            holding = holders.setdefault(row, [])
            if len(holding) < places[row]:
                holding.append(depth)
                return True
            for position, holder in enumerate(holding):
                if assign(holder, visited):
                    holding[position] = depth
                    return True
        return False

    return all(assign(depth, set()) for depth in rest)
