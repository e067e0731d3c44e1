"""What a driver says of where the resources of a consumer are, in amounts."""

from collections.abc import Mapping
from typing import Any

from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape.holdings import ReshapeImpossible, held_places


def read_answer(
    tree: ProviderTree,
    consumer: str,
    record: dict[str, Any],
    resource_class: str,
    current: Mapping[str, int],
    answer: str | Mapping[str, int],
) -> dict[str, int]:
    """Provider -> amount, from the driver's answer about one class of a consumer.

    `record` is what the consumer holds, and `current` the part of it that is to move, by provider.
    Raises ReshapeImpossible if the answer does not agree with the tree or with what is held.
    """
    amount = sum(current.values())
    pieces = {answer: amount} if isinstance(answer, str) else answer
    wanted: dict[str, int] = {}
    for provider, piece in pieces.items():
        said = f"the driver says that {piece} {resource_class} of consumer {consumer} are on"
        if not tree.exists(provider):
            raise ReshapeImpossible(f"{said} {provider}, which is not in the tree.")
        data = tree.data(provider)
        if resource_class not in data.inventory:
            raise ReshapeImpossible(f"{said} {data.name}, which offers none.")
        wanted[data.uuid] = wanted.get(data.uuid, 0) + piece
    if sum(wanted.values()) != amount:
        # It may have counted in what stays where it is.
        for place, staying in held_places(record):
            if place.resource_class == resource_class and place.provider not in current:
                wanted[place.provider] = wanted.get(place.provider, 0) - staying
    if sum(wanted.values()) != amount or min(wanted.values()) < 0:
        raise ReshapeImpossible(
            f"the driver says that consumer {consumer} has {sum(pieces.values())} "
            f"{resource_class} on {', '.join(pieces)}, but it holds {amount} that have to move."
        )
    return wanted
