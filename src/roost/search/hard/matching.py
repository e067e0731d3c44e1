"""Whether slots that must all differ find a row each."""

from collections.abc import Sequence

from roost.search.budget import Budget
from roost.search.hard.slot_kinds import bits_of


def can_match(slots: Sequence[int], budget: Budget) -> bool:
    """Whether each slot, given by its options as bits, finds a row of its own: Kuhn's algorithm."""
    slot_of: dict[int, int] = {}
    taken = unvisited = 0  # rows

    def assign(slot: int) -> bool:
        nonlocal taken, unvisited
        # Nobody has to make way for it if a row is free. Then the search does not go deep.
        free = slots[slot] & ~taken
        if free:
            place = next(bits_of(free))
            taken |= 1 << place
            slot_of[place] = slot
            return True
        budget.step()
        while options := slots[slot] & unvisited:
            place = next(bits_of(options))
            unvisited ^= 1 << place
            if assign(slot_of[place]):
                slot_of[place] = slot
                return True
        return False

    for slot in range(len(slots)):
        unvisited = taken
        if not assign(slot):
            return False
    return True
