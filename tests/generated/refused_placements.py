"""Placements that are refused."""

from typing import Any

from tests.generated.refusal import Refusal, refusal
from tests.generated.small_world import CONSUMER_1, CONSUMER_NEW, PROJECT, USER

_OWNER = {"project_id": PROJECT, "user_id": USER, "consumer_type": "INSTANCE"}
_VCPU = "resources=VCPU:1"


def _placement(title: str, *words: str, status: int = 400, **changes: Any) -> Refusal:
    """A placement of one new consumer with other fields; None removes a field."""
    body = {"query": _VCPU, "consumers": {CONSUMER_NEW: _OWNER}, **changes}
    body = {name: value for name, value in body.items() if value is not None}
    return refusal(f"placement: {title}", "POST /placements", *words, status=status, body=body)


def _consumer(title: str, *words: str, **changes: Any) -> Refusal:
    fields = {name: value for name, value in {**_OWNER, **changes}.items() if value is not None}
    return _placement(title, *words, consumers={CONSUMER_NEW: fields})


def _query(title: str, query: Any, *words: str) -> Refusal:
    return _placement(f"query: {title}", *words, query=query)


REFUSED_PLACEMENTS = (
    _placement("no query", "'query' is a required property", query=None),
    _placement("no consumers", "'consumers' is a required property", consumers=None),
    _placement("an unknown field", "'colour' was unexpected", colour="red"),
    _placement("consumers that are none", "consumers", "non-empty", consumers={}),
    _placement("consumers as a list", "consumers", "is not of type 'object'", consumers=[]),
    _placement("not a UUID", "'nope' does not match", consumers={"nope": _OWNER}),
    _placement("dashes", "consumer_uuid", "-" * 36, "UUID", consumers={"-" * 36: _OWNER}),
    _placement(
        "a consumer in two spellings",
        CONSUMER_NEW,
        "given twice",
        consumers={CONSUMER_NEW: _OWNER, CONSUMER_NEW.upper(): _OWNER},
    ),
    _placement(
        "too many consumers",
        "consumers",
        "too many properties",
        consumers={f"{number:08x}{CONSUMER_NEW[8:]}": _OWNER for number in range(257)},
    ),
    _consumer("no project", "'project_id' is a required property", project_id=None),
    _consumer("no user", "'user_id' is a required property", user_id=None),
    _consumer("no type", "'consumer_type' is a required property", consumer_type=None),
    _consumer(
        "a type in small letters", "consumer_type", "'vm' does not match", consumer_type="vm"
    ),
    _consumer("a project that is too long", "project_id", "is too long", project_id="p" * 256),
    _consumer("a generation", "'consumer_generation' was unexpected", consumer_generation=0),
    _placement("an unknown order", "order", "'best' does not match", order="best"),
    _placement("two orders", "order", "twice", order="pack", query=f"{_VCPU}&order=pack"),
    _placement("an unknown spread", "spread", "'rack' is not one of ['root']", spread="rack"),
    _placement("an empty key", "idempotency_key", "non-empty", idempotency_key=""),
    _placement("a long key", "idempotency_key", "is too long", idempotency_key="k" * 256),
    _placement("a key that is no text", "idempotency_key", "not of type", idempotency_key=1),
    _query("empty", "", "query", "non-empty"),
    _query("a number", 1, "query", "is not of type 'string', 'object'"),
    _query("an unknown parameter", f"{_VCPU}&colour=red", "'colour'"),
    _query("not only ASCII", "resources=VCPU:1&größe=1", "'größe'"),
    _query("no such class", "resources=CUSTOM_NOPE:1", "No such resource class CUSTOM_NOPE"),
    _query("no such trait", f"{_VCPU}&required=CUSTOM_NOPE", "No such trait", "CUSTOM_NOPE"),
    _query("no resources", "required=HW_CPU_X86_VMX", "at least one resources"),
    _query("a page", f"{_VCPU}&order=pack&after=x", "'after'"),
    _query("no amount", "resources=VCPU", "Badly formed resources", "VCPU"),
    _query("an object without groups", {"limit": 1}, "'groups' is a required property"),
    _query("an amount of 0", {"groups": {"": {"resources": {"VCPU": 0}}}}, "less than the minimum"),
    _query("an empty group", {"groups": {"": {}}}, "non-empty"),
    _placement(
        "more than there is",
        "nothing has room",
        status=409,
        query="resources=VCPU:1000000",
    ),
    _placement(
        "a consumer that holds something",
        "consumer generation conflict",
        status=409,
        consumers={CONSUMER_1: _OWNER},
    ),
)
