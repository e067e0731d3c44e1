"""Requests for events that are refused."""

from tests.generated.refusal import Refusal, refusal


def _events(title: str, query: str, *words: str, status: int = 400) -> Refusal:
    return refusal(f"events: {title}", f"GET /events?{query}", *words, status=status)


REFUSED_EVENTS = (
    _events(
        "an unknown parameter",
        "colour=red",
        "unknown parameter 'colour'; expected one of after, kind",
    ),
    _events("no position", "after=", "after", "not empty"),
    _events("a position that is no base64", "after=%25%25", "'after' is no position", "%%"),
    _events("a position of something else", "after=eyJhIjoxfQ", "'after' is no position"),
    _events("a position below 0", "after=kZIB_w", "'after' is no position"),
    _events("a position that is cut off", "after=kZI", "'after' is no position"),
    _events(
        "a position that is too long",
        f"after={'k' * 20_000}",
        "after",
        "20000 characters, expected at most 16384",
    ),
    _events("two positions", "after=kA&after=kQ", "after", "only once"),
    _events("a position of another database", "after=kZLNMDkH", "no longer known", status=410),
    _events(
        "a wait that is no number",
        "after=kA&wait=soon",
        "wait",
        "'soon', expected a number of seconds",
    ),
    _events("a long wait", "after=kA&wait=26", "wait", "'26', expected a number of seconds"),
    _events("a negative wait", "after=kA&wait=-1", "wait", "'-1', expected a number of seconds"),
    _events(
        "a fraction of a wait", "after=kA&wait=1.5", "wait", "'1.5', expected a number of seconds"
    ),
    _events("two waits", "after=kA&wait=1&wait=2", "wait", "only once"),
    _events("a tree that is no UUID", "after=kA&tree=nope", "tree", "'nope', expected a UUID"),
    _events("an unknown kind", "after=kA&kind=weather", "kind", "'weather', expected one of"),
    _events(
        "an unknown kind among others",
        "after=kA&kind=traits&kind=weather&kind=traits",
        "kind",
        "'weather'",
        "allocations",
    ),
)
