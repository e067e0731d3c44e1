"""How many consumers are written at once, and what came of each."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

from roost.client import BadRequest, Client, Conflict, Consumer
from roost.model import Value

# One request writes so many consumers, all of them or none.
CHUNK = 100

Item = TypeVar("Item")


class Result(StrEnum):
    """What came of one consumer."""

    # Of giving back:
    RELEASED = "released"
    GONE = "gone"  # it holds nothing any more
    KNOWN = "known"  # nova knows it by now
    CHANGED = "changed"  # somebody wrote it after the audit saw it
    # Of putting back:
    RESTORED = "restored"
    THERE = "there"  # it holds what the record says, so there is nothing to do
    DIFFERENT = "different"  # it exists, and holds something else
    # Of both:
    REFUSED = "refused"  # by the service: a provider is gone or full, for example


class Outcome(Value, frozen=True, kw_only=True):
    """What came of one consumer, and why."""

    uuid: str
    result: Result
    reason: str = ""  # what the service said


class Written(NamedTuple):
    """Consumers that one request wrote; or one consumer, and why it was refused."""

    consumers: Sequence[Consumer]
    refusal: Conflict | BadRequest | None


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), CHUNK):
        yield items[begin : begin + CHUNK]


def write(client: Client, consumers: Sequence[Consumer]) -> Iterator[Written]:
    """Write consumers together. If that is refused, write each half, down to the one at fault."""
    try:
        client.set_consumers(consumers)
    except (Conflict, BadRequest) as error:
        if len(consumers) == 1:
            yield Written(consumers, error)
            return
        half = len(consumers) // 2
        yield from write(client, consumers[:half])
        yield from write(client, consumers[half:])
    else:
        yield Written(consumers, None)
