"""What a reshape moves, in a sentence."""

from collections import Counter
from collections.abc import Iterable

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape.holdings import Place, held_places

# Of what a sentence lists. A tree may have hundreds of providers.
SHOWN_MAX = 8


def listed(things: Iterable[str]) -> str:
    """The first of them, and how many there are besides."""
    found = list(things)
    shown = found[:SHOWN_MAX]
    if len(found) > SHOWN_MAX:
        shown.append(f"{len(found) - SHOWN_MAX} more")
    return ", ".join(shown) or "nothing"


def summarize(
    before: ProviderTree, after: ProviderTree, held: Allocations, moved: Allocations
) -> str:
    """How many consumers move, and how much of what they give up and get."""
    lost: Counter[Place] = Counter()
    gained: Counter[Place] = Counter()
    consumers = 0
    for consumer, record in held.items():
        old = Counter(dict(held_places(record)))
        new = Counter(dict(held_places(moved[consumer])))
        consumers += old != new
        lost += old - new
        gained += new - old
    who = "1 consumer gives" if consumers == 1 else f"{consumers} consumers give"
    said = f"{who} up {_list(lost, before, after)}"
    return f"{said} for {_list(gained, before, after)}" if gained else said


def _list(places: Counter[Place], before: ProviderTree, after: ProviderTree) -> str:
    return listed(
        f"{amount} {place.resource_class} of {_name(place.provider, before, after)}"
        for place, amount in places.most_common()
    )


def _name(uuid: str, before: ProviderTree, after: ProviderTree) -> str:
    for tree in (after, before):
        if tree.exists(uuid):
            return tree.data(uuid).name
    return uuid
