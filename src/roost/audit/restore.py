"""Puts back what a record says was given back.

A consumer is written only where it does not exist. So running it again does no harm, and what
others have written meanwhile stays.
"""

from collections.abc import Iterator, Sequence

from roost.audit.record import RecordedConsumer
from roost.audit.writing import Outcome, Result, chunks, write
from roost.client import Client, Consumer
from roost.model import UNKNOWN_CONSUMER_TYPE
from roost.progress import Progress


def restore(
    client: Client, recorded: Sequence[RecordedConsumer], progress: Progress
) -> Iterator[Outcome]:
    """Write these consumers as they were; each of them whole, or not at all."""
    progress.stage("putting back", len(recorded))
    for chunk in chunks(recorded):
        missing = []
        for each in chunk:
            now = client.consumer(each.uuid)
            if now.generation is None:
                missing.append(each.as_new())
            else:
                yield _existing(now, each.as_new())
        # A request has types for all of its consumers or for none.
        for is_typed in (True, False):
            alike = [each for each in missing if _is_typed(each) is is_typed]
            if alike:
                yield from _write(client, alike)
        progress.advance(len(chunk))


def _is_typed(consumer: Consumer) -> bool:
    return consumer.consumer_type not in (None, UNKNOWN_CONSUMER_TYPE)


def _write(client: Client, consumers: Sequence[Consumer]) -> Iterator[Outcome]:
    for written, refusal in write(client, consumers):
        if refusal is None:
            for each in written:
                yield Outcome(uuid=each.uuid, result=Result.RESTORED)
            continue
        [consumer] = written
        # Somebody else may have written it since it was read.
        now = client.consumer(consumer.uuid)
        if now.generation is not None:
            yield _existing(now, consumer)
        else:
            yield Outcome(uuid=consumer.uuid, result=Result.REFUSED, reason=refusal.detail)


def _existing(now: Consumer, recorded: Consumer) -> Outcome:
    is_same = now.allocations == recorded.allocations
    return Outcome(uuid=now.uuid, result=Result.THERE if is_same else Result.DIFFERENT)
