"""The body of a placement, which may have ten thousand consumers.

Most of such a body is consumers, each with the same three fields. They are decoded straight into
values, and everything else is read like any other body. A body that this cannot decode, or that
might mean something else to a stricter reader, is read as a whole like any other: then it is
refused in the usual words, or it was merely unusual.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from roost.api.parsing import bodies
from roost.api.parsing.allocations import check_consumer_uuid, refuse_twice
from roost.api.schemas import Schema
from roost.api.schemas.allocations import TYPE_PATTERN
from roost.api.schemas.bounds import PLACED_CONSUMERS_MAX, VALUES_OF_CONSUMERS_MAX
from roost.model import NewConsumer

# With fewer consumers it takes longer to read the rest of the body separately.
CONSUMERS_FEW = 16

_CANONICAL_UUIDS = re.compile(r"(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12} )+")

_Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
_Type = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=TYPE_PATTERN)]


class _Consumer(msgspec.Struct, forbid_unknown_fields=True):
    project_id: _Identifier
    user_id: _Identifier
    consumer_type: _Type


class _Body(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A body whose consumers are decoded, and nothing else."""

    query: msgspec.Raw
    consumers: dict[str, _Consumer]
    order: msgspec.Raw = msgspec.Raw()
    spread: msgspec.Raw = msgspec.Raw()
    idempotency_key: msgspec.Raw = msgspec.Raw()


_DECODER = msgspec.json.Decoder(_Body)
_NAMES = [b'"%s"' % name.encode() for name in _Body.__struct_fields__]
_NAMES_OF_CONSUMER = [b'"%s"' % name.encode() for name in _Consumer.__struct_fields__]


def read(body: bytes, schema: Schema) -> tuple[Mapping[str, Any], tuple[NewConsumer, ...]]:
    """The body as it is sent, valid by the schema, and its consumers."""
    decoded = _decode(body)
    if decoded is None:
        whole = bodies.read(body, schema, values_max=VALUES_OF_CONSUMERS_MAX)
        for uuid in whole["consumers"]:
            check_consumer_uuid(uuid)
        refuse_twice(whole["consumers"])
        return whole, tuple(
            NewConsumer(uuid=uuid, **fields) for uuid, fields in whole["consumers"].items()
        )
    consumers = decoded.consumers
    decoded.consumers = dict([next(iter(consumers.items()))])
    rest = bodies.read(msgspec.json.encode(decoded), schema)
    return {**rest, "consumers": consumers}, tuple(
        [
            NewConsumer(
                uuid=uuid,
                project_id=each.project_id,
                user_id=each.user_id,
                consumer_type=each.consumer_type,
            )
            for uuid, each in consumers.items()
        ]
    )


def _decode(body: bytes) -> _Body | None:
    """A body with many consumers, if each of them and their number are certainly right."""
    # Without escapes a name is spelled in one way only, and nothing within a text looks like one.
    # In ASCII there is nothing that no database stores.
    if b"\\" in body or not body.isascii():
        return None
    counts = {body.count(name) for name in _NAMES_OF_CONSUMER}
    if len(counts) > 1 or not CONSUMERS_FEW <= (count := counts.pop()) <= PLACED_CONSUMERS_MAX:
        return None
    try:
        decoded = _DECODER.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    # The decoder keeps the last of several values of one name. Then there are more names than
    # values, because each consumer has each of its names.
    if len(decoded.consumers) < count or any(body.count(name) > 1 for name in _NAMES):
        return None
    # Two spellings of one UUID would be the same consumer, so there must be only one.
    keys = " ".join([*decoded.consumers, ""])
    return decoded if _CANONICAL_UUIDS.fullmatch(keys) else None
