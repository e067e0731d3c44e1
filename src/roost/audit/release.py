"""Gives back what orphans hold, and records it before.

Each consumer is read again right before. It is removed if it is as the audit saw it, and at that
generation: whoever wrote it since then owns it, and it is left alone.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from roost.audit.record import Record
from roost.audit.writing import Outcome, Result, chunks, write
from roost.client import Client, Conflict, Consumer
from roost.progress import Progress


def release(
    client: Client, orphans: Sequence[Consumer], record: Record, progress: Progress
) -> Iterator[Outcome]:
    """Remove all that these consumers hold, unless it changed after they were seen.

    Each outcome is in the record when it is returned.
    """
    progress.stage("giving back", len(orphans))
    for chunk in chunks(orphans):
        unchanged = []
        for seen in chunk:
            now = client.consumer(seen.uuid)
            # Not the generation alone: of a consumer that was made again it is the same.
            if now == seen:
                unchanged.append(now)
            else:
                result = Result.GONE if now.generation is None else Result.CHANGED
                yield Outcome(uuid=seen.uuid, result=result)
        if unchanged:
            record.planned(unchanged)
            yield from _remove(client, unchanged, record)
        progress.advance(len(chunk))


def _remove(client: Client, consumers: Sequence[Consumer], record: Record) -> Iterator[Outcome]:
    for written, refusal in write(client, [replace(each, allocations={}) for each in consumers]):
        if refusal is None:
            record.removed(written)
            for each in written:
                yield Outcome(uuid=each.uuid, result=Result.RELEASED)
            continue
        [consumer] = written
        record.kept(consumer, refusal.detail)
        result = Result.CHANGED if isinstance(refusal, Conflict) else Result.REFUSED
        yield Outcome(uuid=consumer.uuid, result=result, reason=refusal.detail)
