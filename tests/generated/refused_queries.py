"""Queries and headers that are refused with words that name the parameter and what was expected."""

from tests.generated.refusal import candidates, refusal

CANDIDATE_REFUSALS = (
    candidates("unknown parameter", "resources=VCPU:1&color=red", "'color'"),
    candidates("unknown class", "resources=NOPE:1", "resources", "No such resource class NOPE"),
    candidates("class in lower case", "resources=vcpu:1", "resources", "resource class vcpu"),
    candidates(
        "unknown trait", "resources=VCPU:1&required=CUSTOM_NOPE", "No such trait", "CUSTOM_NOPE"
    ),
    candidates("no amount", "resources=VCPU", "resources", "form", "Got: VCPU."),
    candidates("empty resources", "resources=", "resources", "form", "empty"),
    candidates("nothing", "resources=VCPU:0", "VCPU", "amount >= 1", "Got: 0"),
    candidates("a negative amount", "resources=VCPU:-1", "VCPU", "amount >= 1", "Got: -1"),
    candidates("a fractional amount", "resources=VCPU:1.5", "VCPU", "positive integer", "1.5"),
    candidates("a signed amount", "resources=VCPU:%2B1", "VCPU", "positive integer", "Got: +1"),
    candidates("an amount with an underscore", "resources=VCPU:1_0", "VCPU", "positive integer"),
    candidates("digits of another script", "resources=VCPU:%D9%A3", "VCPU", "positive integer"),
    candidates("an amount beyond 64 bit", f"resources=VCPU:{2**63}", "VCPU", "too large"),
    candidates("an amount of many digits", f"resources=VCPU:{'9' * 5000}", "VCPU", "too large"),
    candidates("a class twice", "resources=VCPU:1,VCPU:2", "resources", "VCPU", "more than once"),
    candidates("resources twice", "resources=VCPU:1&resources=VCPU:1", "'resources'", "only once"),
    candidates("not a UUID to be in", "resources=VCPU:1&in_tree=nope", "'in_tree'", "uuid", "nope"),
    candidates(
        "an aggregate that is no UUID",
        "resources=VCPU:1&member_of=nope",
        "'member_of'",
        "valid UUID",
        "nope",
    ),
    candidates("an empty trait", "resources=VCPU:1&required=", "'required'", "form", "empty trait"),
    candidates("forbidden twice", "resources=VCPU:1&required=!!CUSTOM_GOLD", "'required'", "form"),
    candidates("a limit of nothing", "resources=VCPU:1&limit=0", "limit", "'0' does not match"),
    candidates("a negative limit", "resources=VCPU:1&limit=-1", "limit", "'-1' does not match"),
    candidates("a bad limit first", "resources=VCPU:1&limit=x&limit=1", "limit", "'x' does not"),
    candidates("a bad limit last", "resources=VCPU:1&limit=1&limit=x", "limit", "'x' does not"),
    candidates("white space around a limit", "resources=VCPU:1&limit=%201", "limit", "does not"),
    candidates(
        "an unknown policy",
        "resources=VCPU:1&group_policy=some",
        "group_policy",
        "'some' is not one of ['none', 'isolate']",
    ),
    candidates("no policy", "resources1=VCPU:1&resources2=VCPU:1", '"group_policy"', "required"),
    candidates(
        "a group without resources",
        "resources=VCPU:1&required1=CUSTOM_GOLD",
        "same_subtree",
        "['1']",
    ),
    candidates(
        "a group without resources before 1.36",
        "resources=VCPU:1&required1=CUSTOM_GOLD",
        "required1",
        "associated with resources",
        version="1.35",
    ),
    candidates("no resources", "required=CUSTOM_GOLD", "at least one resources"),
    candidates(
        "a suffix of 65 characters",
        f"resources{'a' * 65}=VCPU:1",
        f"'resources{'a' * 65}'",
        "{1,64}",
    ),
    candidates("a suffix with a blank", "resources%20a=VCPU:1", "'resources a'", "[a-zA-Z0-9_-]"),
    candidates("a suffix with a newline", "resources1%0A=VCPU:1", r"'resources1\n'", "newline"),
    candidates("a unicode suffix", "resources%C3%A9=VCPU:1", "'resourcesé'", "[a-zA-Z0-9_-]"),
    candidates(
        "a subtree of an unknown group", "resources1=VCPU:1&same_subtree=2", "same_subtree", "['2']"
    ),
    candidates("NUL in a value", "resources=VCPU:1%00", "'resources'", "NUL"),
    candidates("NUL in a name", "resources%00=VCPU:1", "resources", "NUL"),
    candidates("not UTF-8 in a value", "limit=1&resources=%FF", "'resources'", "UTF-8"),
    candidates("not UTF-8 in a name", "resources%FF=VCPU:1", "'resources%FF'", "UTF-8"),
)

OTHER_REFUSALS = (
    refusal("usages: not UTF-8", "GET /usages?project_id=%FF", "'project_id'", "UTF-8"),
    refusal("usages: half a pair", "GET /usages?project_id=%ED%A0%80", "'project_id'", "UTF-8"),
    refusal("usages: NUL", "GET /usages?project_id=%00", "'project_id'", "NUL"),
    refusal("usages: no project", "GET /usages", "'project_id' is a required property"),
    refusal(
        "usages: a project twice",
        "GET /usages?project_id=a&project_id=b",
        "'project_id'",
        "only once",
    ),
    refusal(
        "usages: a type that is none",
        "GET /usages?project_id=a&consumer_type=allfoo",
        "consumer_type",
        "'allfoo' does not match",
    ),
    refusal(
        "usages: a project that is too long",
        f"GET /usages?project_id={'a' * 256}",
        "project_id",
        "is too long",
        "255",
    ),
    refusal("a method that the path does not have", "PATCH /traits", "PATCH", status=405),
    refusal("a method that nobody has", "FOO /traits", "method"),
    refusal("a method that only the framework has", "WEBSOCKET /traits"),
    refusal(
        "a version that is none", "GET /traits", "invalid version string: nope", version="nope"
    ),
    refusal(
        "a version of many digits",
        "GET /traits",
        "invalid version string",
        version=f"1.{'9' * 5000}",
    ),
    refusal(
        "a version that is not there yet",
        "GET /traits",
        "Unacceptable version header: 1.40",
        status=406,
        version="1.40",
    ),
    refusal("a path that ends in a slash", "GET /traits/", status=404),
)

REFUSED_QUERIES = (*CANDIDATE_REFUSALS, *OTHER_REFUSALS)
