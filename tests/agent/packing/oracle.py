"""The best packing of a small problem by trying everything, and what makes a packing valid."""

import itertools
from typing import NamedTuple

from roost.model import fits


class Best(NamedTuple):
    """How good a packing can be; the first field decides."""

    torn: int
    split: int
    moved: int


def branches_of_classes(offers, branches):
    """Class -> the branches that offer it."""
    return {name: {branches[each] for each in providers} for name, providers in offers.items()}


def is_whole(held, offered, branches):
    """The definition: class -> provider -> amount, with what is fixed."""
    where = {}
    for name, pieces in held.items():
        providers = [provider for provider, amount in pieces.items() if amount]
        if len(providers) > 1:
            return False
        for provider in providers:
            where[name] = branches[provider]
    for one, other in itertools.combinations(where, 2):
        is_linked = any(each in offered[other] for each in offered[one] - {None})
        is_apart = where[one] != where[other] and None not in (where[one], where[other])
        if is_linked and is_apart:
            return False
    return True


def merged(one, other):
    """Class -> provider -> amount, of both together."""
    return {
        name: {
            each: one.get(name, {}).get(each, 0) + other.get(name, {}).get(each, 0)
            for each in {**one.get(name, {}), **other.get(name, {})}
        }
        for name in {**one, **other}
    }


def score(demand, pieces, offers, offered, branches):
    """What one consumer adds to the score of a packing."""
    return Best(
        not is_whole(merged(pieces, demand.fixed), offered, branches),
        sum(len([n for n in parts.values() if n]) > 1 for parts in pieces.values()),
        sum(
            held - min(held, pieces.get(name, {}).get(provider, 0))
            for name, providers in demand.current.items()
            for provider, held in providers.items()
            if provider in offers.get(name, {})
        ),
    )


def add(one, other):
    return Best(*(a + b for a, b in zip(one, other, strict=True)))


def splits(demand, name, offers):
    """All ways to put an amount of a class on the providers that offer it."""
    providers = sorted(offers.get(name, {}))
    amount = demand.amounts[name]
    for parts in itertools.product(range(amount + 1), repeat=len(providers)):
        if sum(parts) != amount:
            continue
        pieces = {each: n for each, n in zip(providers, parts, strict=True) if n}
        if all(takes(demand, name, each, n, offers[name][each]) for each, n in pieces.items()):
            yield pieces


def takes(demand, name, provider, amount, offer):
    """The service judges what a consumer holds on a provider in all."""
    fixed = demand.fixed.get(name, {}).get(provider, 0)
    return fits(offer.inventory, offer.used - fixed, fixed + amount)


def best(demands, offers, branches):
    """The score of the best packing; None if not everything fits."""
    slots = [(name, each) for name in sorted(offers) for each in sorted(offers[name])]
    states = {
        tuple(
            offers[name][each].inventory.capacity - offers[name][each].used for name, each in slots
        ): Best(0, 0, 0)
    }
    offered = branches_of_classes(offers, branches)
    for demand in demands:
        names = sorted(demand.amounts)
        # Of all choices that take the same, the best.
        choices = {}
        for chosen in itertools.product(*(splits(demand, name, offers) for name in names)):
            pieces = dict(zip(names, chosen, strict=True))
            taken = tuple(pieces.get(name, {}).get(each, 0) for name, each in slots)
            choices[taken] = score(demand, pieces, offers, offered, branches)
        following = {}
        for free, reached in states.items():
            for taken, more in choices.items():
                left = tuple(a - b for a, b in zip(free, taken, strict=True))
                if min(left, default=0) < 0:
                    continue
                total = add(reached, more)
                if left not in following or total < following[left]:
                    following[left] = total
        states = following
    return min(states.values(), default=None)


def check(packing, demands, offers, branches):
    """A packing places everything, within capacities and units, and says who is torn."""
    used = {(name, each): offer.used for name, by in offers.items() for each, offer in by.items()}
    for demand in demands:
        pieces = packing.pieces[demand.consumer]
        placed = {name: sum(parts.values()) for name, parts in pieces.items()}
        assert placed == {name: n for name, n in demand.amounts.items() if n}
        for name, parts in pieces.items():
            for provider, amount in parts.items():
                assert amount > 0
                assert takes(demand, name, provider, amount, offers[name][provider])
                used[name, provider] += amount
    for (name, provider), total in used.items():
        offer = offers[name][provider]
        assert total <= max(offer.inventory.capacity, offer.used)
    offered = branches_of_classes(offers, branches)
    reached = Best(0, 0, 0)
    torn = []
    for demand in demands:
        more = score(demand, packing.pieces[demand.consumer], offers, offered, branches)
        reached = add(reached, more)
        if more.torn:
            torn.append(demand.consumer)
    assert list(packing.torn) == torn
    return reached
