"""Wrong uses of the extensions: refused with words that name what is wrong."""

import base64
import json
from typing import Any

from tests.generated.refusal import candidates, refusal
from tests.generated.small_world import AGGREGATE_1, CN1, NOBODY

_A = "resources_A=VCPU:1"
_AB = "resources_A=VCPU:1&resources_B=VCPU:1"


def _token(*fields: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def body(
    title: str, value: Any, *words: str, path: str = "/allocation_candidates", **options: Any
) -> Any:
    return refusal(f"{path} by POST: {title}", f"POST {path}", *words, body=value, **options)


EXPLAIN = "/allocation_candidates/explain"


_GROUPS = {"": {"resources": {"VCPU": 1}}}

QUERIES = (
    candidates("isolate of nothing", f"{_A}&isolate=", "`isolate`", "Empty string"),
    candidates("isolate of one", f"{_AB}&isolate=_A", "`isolate`", "at least two", "Got: _A"),
    candidates("isolate of one twice", f"{_AB}&isolate=_A,_A", "`isolate`", "at least two"),
    candidates("isolate of a stranger", f"{_AB}&isolate=_A,_C", "`isolate`", "['_C'] not found"),
    candidates("isolate and a gap", f"{_AB}&isolate=_A,,_B", "`isolate`", "Empty string"),
    candidates(
        "isolate with a policy",
        f"{_AB}&isolate=_A,_B&group_policy=none",
        "`isolate`",
        "`group_policy`",
        "together",
    ),
    candidates("not with nobody", f"{_A}&same_subtree=!_A", "`same_subtree`", "without `!`", "!_A"),
    candidates("not oneself", f"{_A}&same_subtree=_A,!_A", "`same_subtree`", "['_A'] both"),
    candidates("not a stranger", f"{_A}&same_subtree=_A,!_C", "`same_subtree`", "['_C'] not found"),
    candidates("not an empty name", f"{_A}&same_subtree=_A,!", "`same_subtree`", "Empty string"),
    candidates("not twice over", f"{_AB}&same_subtree=_A,!!_B", "`same_subtree`", "['!_B']"),
    candidates(
        "resourceless, and only elsewhere",
        f"{_A}&required_B=CUSTOM_GOLD&same_subtree=_A,!_B",
        "same_subtree",
        "['_B']",
    ),
    candidates("not a subtree", f"{_A}&in_subtree_A=nope", "'in_subtree'", "uuid", "nope"),
    candidates(
        "two subtrees", f"{_A}&in_subtree_A={CN1}&in_subtree_A={CN1}", "'in_subtree_A'", "only once"
    ),
    candidates("a root in no aggregate", f"{_A}&root_member_of=", "'root_member_of'", "valid UUID"),
    candidates(
        "a root in a list", f"{_A}&root_member_of={AGGREGATE_1},{CN1}", "'root_member_of'", "'in:'"
    ),
    candidates("a root in a name", f"{_A}&root_member_of=in:nope", "'root_member_of'", "nope"),
    candidates("no trait of the root", f"{_A}&root_required=in:", "empty trait in: in:"),
    candidates("a bad choice of traits", f"{_A}&root_required=in:!CUSTOM_GOLD", "forbidden traits"),
    candidates("an unknown trait of the root", f"{_A}&root_required=in:NOPE", "No such trait"),
    candidates(
        "conflicting traits of the root",
        f"{_A}&root_required=in:CUSTOM_GOLD&root_required=!CUSTOM_GOLD",
        "root_required",
        "CUSTOM_GOLD",
    ),
    candidates("nothing to split", f"{_A}&can_split=", "`can_split`", "asked for", "['']"),
    candidates("no such class to split", f"{_A}&can_split=NOPE", "`can_split`", "['NOPE']"),
    candidates(
        "split what others ask", f"{_A}&can_split_A=DISK_GB", "`can_split_A`", "['DISK_GB']"
    ),
    candidates("split for nobody", f"{_A}&can_split_B=VCPU", "`can_split`", "['_B'] not found"),
    candidates("split twice", f"{_A}&can_split=VCPU&can_split=VCPU", "'can_split'", "only once"),
    candidates("an unknown order", f"{_A}&order=best", "order", "'best'", "expected pack, spread"),
    candidates("an order with a seed", f"{_A}&order=pack:1", "order", "'pack:1'", "expected pack"),
    candidates(
        "a seed that is none", f"{_A}&order=random:x", "order", "'random:x'", "expected pack"
    ),
    candidates("a huge seed", f"{_A}&order=random:{2**63}", "seed", "order", str(2**63)),
    candidates("two orders", f"{_A}&order=pack&order=root", "'order'", "only once"),
    candidates("a page without order", f"{_A}&after=abc", "'after'", "'order'"),
    candidates("an empty page", f"{_A}&order=root&after=", "after", "not empty"),
    candidates("a page that is none", f"{_A}&order=root&after=%C3%A9", "'after'", "'next'", "é"),
    candidates("no JSON for a page", f"{_A}&order=root&after=YWJj", "'after'", "'next'", "YWJj"),
    candidates(
        "a page of other fields", f"{_A}&order=root&after={_token(1, 2)}", "'after'", "'next'"
    ),
    candidates(
        "a page of strange numbers",
        f"{_A}&order=root&after={_token('x', -1, 0, 2**62, 0.5, CN1)}",
        "'after'",
        "'next'",
    ),
    candidates(
        "a page of another request",
        f"{_A}&order=root&after={_token('x', 1, 0, 1, 0.5, CN1)}",
        "'after'",
        "another request",
    ),
    *(
        candidates(f"{name} before 1.39", f"resources1=VCPU:1&{name}={value}", word, version="1.38")
        for name, value, word in (
            ("isolate", "1", "'isolate' does not match any"),
            ("in_subtree1", CN1, "'in_subtree1' does not match any"),
            ("root_member_of", AGGREGATE_1, "'root_member_of' does not match any"),
            ("can_split1", "VCPU", "'can_split1' does not match any"),
            ("order", "root", "'order' does not match any"),
            ("after", "x", "'after' does not match any"),
            ("root_required", "in:CUSTOM_GOLD", "only supported since microversion 1.39"),
            ("same_subtree", "1,!1", "['!1'] not found"),
        )
    ),
)

BODIES = (
    body("no groups", {}, "the field 'groups' is missing"),
    body("no group", {"groups": {}}, "groups: {}", "at least 1 entry"),
    body("a group of nothing", {"groups": {"": {}}}, "groups['']", "at least 1 entry"),
    body("nothing to take", {"groups": {"_A": {"in_tree": CN1}}}, "at least one resources"),
    body("a bad suffix", {"groups": {"é": {"resources": {"VCPU": 1}}}}, "'é'", "expected a suffix"),
    body(
        "an amount as a text",
        {"groups": {"": {"resources": {"VCPU": "1"}}}},
        "'1', expected an integer",
    ),
    body(
        "an unknown field",
        {"groups": _GROUPS, "color": 1},
        "unknown field 'color'; expected one of after, can_split",
    ),
    body(
        "a text for a list", {"groups": _GROUPS, "isolate": "_A,_B"}, "isolate", "expected a list"
    ),
    body("isolate of a stranger", {"groups": _GROUPS, "isolate": ["_A,_B"]}, "`isolate`", "_A"),
    body("a limit of nothing", {"groups": _GROUPS, "limit": 0}, "limit", "at least 1"),
    body("an unknown order", {"groups": _GROUPS, "order": "best"}, "order", "'best'"),
    body("an unknown class", {"groups": {"": {"resources": {"NOPE": 1}}}}, "resource class NOPE"),
    body(
        "a split of the group without a suffix",
        {"groups": {"": {"resources": {"VCPU": 1}, "can_split": "VCPU"}}},
        "'can_split'",
        "beside 'groups'",
    ),
    body("no tree", {"groups": _GROUPS, "tree": CN1}, "unknown field 'tree'"),
    body("a bad tree", {"groups": _GROUPS, "tree": "nope"}, "tree", "UUID", "nope", path=EXPLAIN),
    body(
        "two trees", {"groups": _GROUPS, "tree": [CN1]}, "tree", "expected a string", path=EXPLAIN
    ),
    body("an unknown tree", {"groups": _GROUPS, "tree": NOBODY}, "tree", NOBODY, path=EXPLAIN),
    body("no groups", {}, "the field 'groups' is missing", path=EXPLAIN),
    body("no groups", {}, "the field 'groups' is missing", path="/capacity"),
    body("a tree", {"groups": _GROUPS, "tree": CN1}, "unknown field 'tree'", path="/capacity"),
    body(
        "an unknown class", {"groups": {"": {"resources": {"NOPE": 1}}}}, "NOPE", path="/capacity"
    ),
    body("before 1.39", {"groups": _GROUPS}, "not allowed", status=405, version="1.38"),
)

REFUSED_EXTENSIONS = (*QUERIES, *BODIES)
