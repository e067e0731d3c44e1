"""Lists of consumers that are refused."""

import base64

from tests.generated.refusal import Refusal, refusal
from tests.generated.small_world import CN1, NOBODY


def _list(title: str, query: str, *words: str, status: int = 400, **options: str) -> Refusal:
    line = f"GET /allocations?{query}"
    return refusal(f"allocations: {title}", line, *words, status=status, **options)


def _moment(title: str, text: str) -> Refusal:
    got = text.replace("%2B", "+")
    expected = "'changed_before'", "ISO 8601", "2026-01-02T03:04:05Z", "%2B", f"Got: {got}"
    return _list(title, f"changed_before={text}", *expected)


_TOKEN = base64.urlsafe_b64encode(b'["0123456789abcdef",7]').decode().rstrip("=")

REFUSED_ALLOCATION_LIST = (
    _list(
        "an unknown parameter", "colour=red", "unknown parameter 'colour'; expected one of after"
    ),
    _list("a provider that is no UUID", "resource_provider=x", "'x', expected a UUID"),
    _list("two providers without in:", f"resource_provider={CN1},{CN1}", "as in:UUID,UUID"),
    _list("no providers", "resource_provider=in:", "resource_provider: '', expected a UUID"),
    _list("a list of one that is no UUID", f"resource_provider=in:{CN1},x", "'x', expected a UUID"),
    _list("providers to leave out", f"resource_provider=!in:{CN1}", "expected a UUID"),
    _list(
        "very many providers",
        f"resource_provider=in:{','.join([CN1] * 1001)}",
        "'resource_provider' has 1001 entries, expected at most 1000",
    ),
    _list("an unknown one of two", f"resource_provider=in:{CN1},{NOBODY}", NOBODY, "No resource"),
    _list("an unknown provider", f"resource_provider={NOBODY}", NOBODY, "No resource provider"),
    _list("a tree that is no UUID", "tree=x", "'x', expected a UUID"),
    _list("an unknown tree", f"tree={NOBODY}", NOBODY, "No resource provider"),
    _list("a class that is no name", "resource_class=vcpu", "'vcpu', expected", "capital letters"),
    _list("a parameter in the plural", "projects_id=p", "did you mean 'project_id'?"),
    _list("a class in the plural", "resource_class=VCPUS", "did you mean VCPU?"),
    _list("an unknown class", "resource_class=CUSTOM_NONE", "No such resource class CUSTOM_NONE"),
    _list("no class", "resource_class=", "resource_class: '', expected"),
    _list("no project", "project_id=", "project_id", "not empty"),
    _list(
        "a long project",
        f"project_id={'x' * 256}",
        "project_id: 256 characters, expected at most 255",
    ),
    _list("a long user", f"user_id={'x' * 256}", "user_id: 256 characters"),
    _list(
        "a type that is no name", "consumer_type=server", "'server', expected", "capital letters"
    ),
    _list("no limit", "limit=", "limit", "an integer from 1 on"),
    _list("a limit of zero", "limit=0", "limit", "'0', expected an integer from 1 on"),
    _list("a limit below zero", "limit=-1", "limit", "'-1', expected an integer"),
    _list("a token that nobody gave", "after=x", "'after' is not what an answer gave", "Got: x"),
    _list("a token of another list", f"after={_TOKEN}", "'after' was given for another request"),
    _list("a long token", f"after={'x' * 1025}", "after: 1025 characters, expected at most 1024"),
    _moment("no time at all", "yesterday"),
    _moment("a time without a zone", "2026-01-02T03:04:05"),
    _moment("a date", "2026-01-02"),
    _moment("a time that is none", "2026-02-30T03:04:05Z"),
    _moment("a time before all others", "0001-01-01T00:00:00%2B12:00"),
    _list("a very long time", f"changed_before={'2' * 65}", "changed_before: 65 characters"),
    *(
        _list(f"{name} twice", f"{name}={value}&{name}={value}", f"'{name}'", "only once")
        for name, value in (
            ("resource_provider", CN1),
            ("tree", CN1),
            ("resource_class", "VCPU"),
            ("project_id", "p"),
            ("user_id", "u"),
            ("consumer_type", "INSTANCE"),
            ("changed_before", "2026-01-02T03:04:05Z"),
            ("limit", "1"),
            ("after", "x"),
        )
    ),
    _list("an older version", "", "not allowed for this resource", status=405, version="1.38"),
    _list("the oldest version", "limit=0", "not allowed", status=405, version="1.0"),
)
