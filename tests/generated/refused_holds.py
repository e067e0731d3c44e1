"""Holds that are refused."""

from typing import Any

from tests.generated.refusal import Refusal, refusal
from tests.generated.small_world import CN1, CONSUMER_NEW, NOBODY


def _hold(title: str, *words: str, **changes: Any) -> Refusal:
    """A hold with other fields; None removes a field."""
    body = {"tree": CN1, "seconds": 1, **changes}
    body = {name: value for name, value in body.items() if value is not None}
    return refusal(f"hold: {title}", "POST /holds", *words, body=body)


def _seconds(title: str, text: bytes, *words: str) -> Refusal:
    body = b'{"tree": "%s", "seconds": %s}' % (CN1.encode(), text)
    return refusal(f"hold: {title}", "POST /holds", "seconds", *words, body=body)


REFUSED_HOLDS = (
    _hold("no tree", "the field 'tree' is missing", tree=None),
    _hold("no seconds", "the field 'seconds' is missing", seconds=None),
    _hold("an unknown field", "unknown field 'colour'", colour="red"),
    _hold("a misspelt field", "did you mean 'seconds'?", second=1),
    _hold("a tree that is no UUID", "tree: 'x', expected a UUID", tree="x"),
    _hold("an unknown tree", "tree: No resource provider", NOBODY, tree=NOBODY),
    _hold("seconds that are a text", "seconds: '1', expected a number", seconds="1"),
    _hold("seconds that are true", "seconds", "expected a number", seconds=True),
    _hold("no time at all", "seconds: 0, expected more than 0", seconds=0),
    _hold("a time below zero", "seconds: -1, expected more than 0", seconds=-1),
    _hold("a very long time", "seconds: 3601, expected at most 3600", seconds=3601),
    _seconds("a time beyond all bounds", b"1e300", "expected at most 3600"),
    _seconds("an infinite time", b"1e999", "finite number"),
    _seconds("no number", b"NaN", "finite number"),
    refusal("hold: a list", "POST /holds", "expected an object", body=[]),
    refusal("hold: no body", "POST /holds", "Malformed JSON", body=b""),
    refusal("hold: text", "POST /holds", body=b"x", content_type=b"text/plain", status=415),
    refusal("hold: an older version", "POST /holds", body={}, version="1.38", status=404),
    refusal("hold: another method", "GET /holds", "not allowed", status=405),
    refusal("hold: one that never was", f"DELETE /holds/{CONSUMER_NEW}", "ended", status=404),
    refusal("hold: no id", "DELETE /holds/x%2Fy", status=404),
    refusal(
        "hold: the end in an older version",
        f"DELETE /holds/{CONSUMER_NEW}",
        status=404,
        version="1.38",
    ),
)
