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
    _placement("no query", "the field 'query' is missing", query=None),
    _placement("no consumers", "the field 'consumers' is missing", consumers=None),
    _placement(
        "an unknown field", "unknown field 'colour'; expected one of consumers", colour="red"
    ),
    _placement("consumers that are none", "consumers", "at least 1 entry", consumers={}),
    _placement("consumers as a list", "consumers", "expected an object", consumers=[]),
    _placement("not a UUID", "'nope'; expected a UUID", consumers={"nope": _OWNER}),
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
        "10001 entries, expected at most 10000",
        consumers={f"{number:08x}{CONSUMER_NEW[8:]}": _OWNER for number in range(10_001)},
    ),
    _consumer("no project", "the field 'project_id' is missing", project_id=None),
    _consumer("no user", "the field 'user_id' is missing", user_id=None),
    _consumer("no type", "the field 'consumer_type' is missing", consumer_type=None),
    _consumer(
        "a type in small letters",
        "consumer_type",
        "'vm', expected capital letters",
        consumer_type="vm",
    ),
    _consumer("a project that is too long", "project_id", "256 characters", project_id="p" * 256),
    _consumer("a generation", "unknown field 'consumer_generation'", consumer_generation=0),
    _placement("an unknown order", "order", "'best', expected pack, spread", order="best"),
    _placement("two orders", "order", "twice", order="pack", query=f"{_VCPU}&order=pack"),
    _placement("an unknown spread", "spread", "'rack', expected root", spread="rack"),
    _placement("an empty key", "idempotency_key", "not empty", idempotency_key=""),
    _placement("a long key", "idempotency_key", "256 characters", idempotency_key="k" * 256),
    _placement("a key that is no text", "idempotency_key", "expected a string", idempotency_key=1),
    _query("empty", "", "query", "not empty"),
    _query("a number", 1, "query", "expected a string or an object"),
    _query("an unknown parameter", f"{_VCPU}&colour=red", "'colour'"),
    _query("not only ASCII", "resources=VCPU:1&größe=1", "'größe'"),
    _query("no such class", "resources=CUSTOM_NOPE:1", "No such resource class CUSTOM_NOPE"),
    _query("no such trait", f"{_VCPU}&required=CUSTOM_NOPE", "No such trait", "CUSTOM_NOPE"),
    _query("no resources", "required=HW_CPU_X86_VMX", "at least one resources"),
    _query("a page", f"{_VCPU}&order=pack&after=x", "'after'"),
    _query("no amount", "resources=VCPU", "Badly formed resources", "VCPU"),
    _query("an object without groups", {"limit": 1}, "query: the field 'groups' is missing"),
    _query("an amount of 0", {"groups": {"": {"resources": {"VCPU": 0}}}}, "expected at least 1"),
    _query("an empty group", {"groups": {"": {}}}, "at least 1 entry"),
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
