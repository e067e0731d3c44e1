"""Bodies that are refused with words that name the field and say what was expected."""

from tests.generated.refusal import JSON, claim, consumer, inventory, provider, refusal, vcpu
from tests.generated.small_world import CN1, CN2, CONSUMER_NEW, GENERATIONS, SPARE, consumer_body

_DEEP = 20_000
_VCPU_1 = '{"VCPU": {"total": 1}}'

JSON_REFUSALS = (
    provider("malformed JSON", b'{"name": }', "Malformed JSON", "line 1 column 10"),
    provider("an empty body", b"", "None", JSON.decode(), status=415, content_type=None),
    provider("no JSON in the body", b"", "Malformed JSON", "Expecting value"),
    provider("not UTF-8", b'{"name": "\xff"}', "Malformed JSON", "utf-8", "0xff"),
    provider("a body that is a list", [], "[] is not of type 'object'"),
    provider("a body that is a text", "name", "'name' is not of type 'object'"),
    provider("a body that is null", b"null", "None is not of type 'object'"),
    provider("a body that is a number", b"1", "1 is not of type 'object'"),
    provider("an empty object", {}, "'name' is a required property"),
    provider("an unknown field", {"name": "a", "color": 1}, "'color' was unexpected"),
    provider("a key twice, once huge", b'{"name": 1e999, "name": 1}', "1e999", "too large"),
    provider("a huge number, then no JSON", b'{"name": 1e999, ', "1e999", "too large"),
    provider("a key twice", b'{"name": "a", "name": "b"}', "Malformed JSON", "'name'", "twice"),
    provider(
        "wrong content type",
        b"{}",
        "text/plain",
        JSON.decode(),
        status=415,
        content_type=b"text/plain",
    ),
    provider("no content type", b"{}", "content-type header required", content_type=None),
    provider("NUL", {"name": "a\0b"}, "name", "NUL"),
    provider("a lone surrogate", {"name": "a\ud800"}, "name", "surrogate"),
    provider("a lone surrogate in a key", {"a\ud800": 1}, "\\ud800", "surrogate"),
    provider("NUL in a key", {"a\0": 1}, "\\x00", "NUL"),
    provider("nested too deep", b"[" * _DEEP + b"]" * _DEEP, "nested too deeply", "32"),
    provider("objects nested too deep", b'{"name":' * _DEEP + b"1" + b"}" * _DEEP, "nested", "32"),
    provider(
        "nested a little too deep", b'{"name": ' + b"[" * 40 + b"]" * 40 + b"}", "nested", "32"
    ),
)

PROVIDER_REFUSALS = (
    provider("a name that is too long", {"name": "a" * 201}, "name", "is too long", "200"),
    provider("a unicode name that is too long", {"name": "é" * 201}, "name", "is too long", "200"),
    provider("an empty name", {"name": ""}, "create failed because: name is required"),
    provider("a name that is no text", {"name": 1}, "name", "is not of type 'string'"),
    provider("not a UUID", {"name": "a", "uuid": "nope"}, "uuid", "'nope' is not a 'uuid'"),
    provider("a UUID with a newline", {"name": "a", "uuid": f"{CN1}\n"}, "uuid", "not a 'uuid'"),
    provider(
        "a parent that is not a UUID",
        {"name": "a", "parent_provider_uuid": "nope"},
        "parent_provider_uuid",
        "'nope'",
    ),
    refusal("provider: no such path", "GET /resource_providers/nope", "nope", status=404),
    refusal("provider: NUL in the path", f"GET /resource_providers/{CN1}%00", status=404),
    refusal("provider: not UTF-8 in the path", "GET /resource_providers/%ff", status=404),
    refusal("providers: unknown parameter", "GET /resource_providers?color=red", "'color' was un"),
    refusal("providers: not a UUID", "GET /resource_providers?uuid=nope", "uuid", "not a 'uuid'"),
    refusal(
        "providers: a UUID without dashes",
        f"GET /resource_providers?in_tree={CN1.replace('-', '')}",
        "in_tree",
        "does not match",
    ),
    refusal(
        "aggregates: a UUID that is too long to be stored",
        f"PUT /resource_providers/{CN1}/aggregates",
        "aggregates",
        "is too long",
        body={"resource_provider_generation": 0, "aggregates": [f"urn:uuid:{CN1}"]},
    ),
    refusal(
        "provider: a parent in another spelling",
        "POST /resource_providers",
        "parent provider UUID does not exist",
        body={"name": "a", "parent_provider_uuid": f"{{{CN1}}}"},
    ),
    refusal(
        "providers: unknown trait",
        "GET /resource_providers?required=CUSTOM_NOPE",
        "required",
        "CUSTOM_NOPE",
    ),
    refusal(
        "providers: unknown class",
        "GET /resource_providers?resources=NOPE:1",
        "resources",
        "No such resource class NOPE",
    ),
    refusal(
        "providers: aggregate that is no UUID",
        "GET /resource_providers?member_of=nope",
        "member_of",
        "valid UUID",
        "nope",
    ),
    refusal(
        "traits of a provider: unknown",
        f"PUT /resource_providers/{SPARE}/traits",
        "No such trait",
        "CUSTOM_NOPE",
        body={"traits": ["CUSTOM_NOPE"], "resource_provider_generation": 0},
    ),
    refusal(
        "traits of a provider: too long",
        f"PUT /resource_providers/{SPARE}/traits",
        "traits",
        "is too long",
        "255",
        body={"traits": ["A" * 256], "resource_provider_generation": 0},
    ),
    refusal(
        "aggregates of a provider: not a UUID",
        f"PUT /resource_providers/{SPARE}/aggregates",
        "aggregates",
        "'nope' is not a 'uuid'",
        body={"aggregates": ["nope"], "resource_provider_generation": 0},
    ),
    refusal(
        "aggregates of a provider: a huge generation",
        f"PUT /resource_providers/{SPARE}/aggregates",
        "resource_provider_generation",
        "large",
        body={"aggregates": [], "resource_provider_generation": 2**63},
    ),
    refusal(
        "aggregates of a provider: a huge whole generation",
        f"PUT /resource_providers/{SPARE}/aggregates",
        "resource_provider_generation",
        "1e+30",
        body={"aggregates": [], "resource_provider_generation": 1e30},
    ),
)

INVENTORY_REFUSALS = (
    vcpu("a negative total", "total", "-1", "-1 is less than the minimum of 1"),
    vcpu("a total of nothing", "total", "0", "0 is less than the minimum of 1"),
    vcpu("a total beyond 31 bit", "total", str(2**31), "greater than the maximum of 2147483647"),
    vcpu("a total beyond 64 bit", "total", str(2**64), str(2**64), "too large"),
    vcpu("a total of very many digits", "total", "9" * 10_000, "999", "too large"),
    vcpu("a whole total that is huge", "total", "1e30", "1e+30"),
    vcpu("a fractional total", "total", "1.5", "1.5 is not of type 'integer'"),
    vcpu("a total that is a text", "total", '"8"', "'8' is not of type 'integer'"),
    vcpu("a total that is true", "total", "true", "True is not of type 'integer'"),
    vcpu("a total that is null", "total", "null", "None is not of type 'integer'"),
    vcpu("a negative reserve", "reserved", "-1", "-1 is less than the minimum of 0"),
    vcpu("a max_unit beyond 31 bit", "max_unit", str(2**31), "maximum of 2147483647"),
    vcpu("a step of nothing", "step_size", "0", "0 is less than the minimum of 1"),
    vcpu("a ratio that is NaN", "allocation_ratio", "NaN", "NaN is not a number"),
    vcpu("a ratio that is infinite", "allocation_ratio", "Infinity", "not a number"),
    vcpu("a ratio that is minus infinite", "allocation_ratio", "-Infinity", "not a number"),
    vcpu("a ratio that overflows", "allocation_ratio", "1e999", "1e999", "too large"),
    vcpu("a ratio that no database holds", "allocation_ratio", "3.5e38", "greater than the max"),
    vcpu("a negative ratio that no database holds", "allocation_ratio", "-1e300", "less than"),
    inventory("a key that is no class", _VCPU_1.replace("VCPU", "vcpu"), "'vcpu' does not match"),
    inventory("a key with a newline", _VCPU_1.replace("VCPU", r"VCPU\n"), r"'VCPU\n'", "newline"),
    inventory("an empty key", _VCPU_1.replace("VCPU", ""), "'' does not match"),
    inventory("a unicode key", _VCPU_1.replace("VCPU", "VCPÜ"), "'VCPÜ' does not match"),
    inventory("a value that is no object", '{"VCPU": 5}', "VCPU", "5 is not of type 'object'"),
    inventory("an unknown class", _VCPU_1.replace("VCPU", "CUSTOM_NOPE"), "CUSTOM_NOPE"),
    inventory("a class twice", '{"VCPU": {"total": 1}, "VCPU": {"total": 2}}', "'VCPU'", "twice"),
    inventory("inventories that are a list", "[]", "inventories", "[] is not of type 'object'"),
    refusal(
        "inventory: a class in a path that ends in a newline",
        f"PUT /resource_providers/{CN2}/inventories/VCPU%0A",
        "VCPU",
        status=404,
        body={"total": 1, "resource_provider_generation": GENERATIONS[CN2]},
    ),
)

NAME_REFUSALS = (
    refusal(
        "class: no custom prefix",
        "POST /resource_classes",
        "name",
        "'NOPE' does not match",
        "CUSTOM_",
        body={"name": "NOPE"},
    ),
    refusal(
        "class: too long",
        "POST /resource_classes",
        "name",
        "is too long",
        "255",
        body={"name": "CUSTOM_" + "A" * 249},
    ),
    refusal(
        "class: a newline at the end",
        "POST /resource_classes",
        "name",
        "does not match",
        body={"name": "CUSTOM_A\n"},
    ),
    refusal(
        "class: a newline at the end of the path",
        "PUT /resource_classes/CUSTOM_A%0A",
        "name",
        "does not match",
    ),
    refusal("class: NUL", "POST /resource_classes", "name", "NUL", body={"name": "CUSTOM_A\0"}),
    refusal(
        "class: unicode",
        "POST /resource_classes",
        "name",
        "does not match",
        body={"name": "CUSTOM_É"},
    ),
    refusal(
        "class: unicode in the path",
        "PUT /resource_classes/CUSTOM_%C3%89",
        "name",
        "does not match",
    ),
    refusal(
        "class: half a pair in the path",
        "PUT /resource_classes/CUSTOM_%ED%A0%80",
        "name",
        "does not match",
    ),
    refusal(
        "class: escaped in the path",
        "PUT /resource_classes/CUSTOM_%5Cu0041",
        "name",
        "does not match",
    ),
    refusal(
        "class: too long in the path",
        f"PUT /resource_classes/CUSTOM_{'A' * 249}",
        "name",
        "is too long",
        "255",
    ),
    refusal("trait: no custom prefix", "PUT /traits/NOPE", "trait is invalid", "CUSTOM_"),
    refusal("trait: too long", f"PUT /traits/CUSTOM_{'A' * 249}", "no longer than 255"),
    refusal("trait: a newline at the end", "PUT /traits/CUSTOM_A%0A", "trait is invalid"),
    refusal("trait: unicode", "PUT /traits/CUSTOM_%C3%89", "trait is invalid", "CUSTOM_"),
    refusal("traits: an unknown operator", "GET /traits?name=foo:bar", "name", "in|startswith"),
    refusal("traits: neither true nor false", "GET /traits?associated=maybe", "associated", "true"),
    refusal("traits: unknown parameter", "GET /traits?color=red", "'color' was unexpected"),
)

CLAIM_REFUSALS = (
    claim("nothing", '{"VCPU": 0}', "VCPU", "0 is less than the minimum of 1"),
    claim("a negative amount", '{"VCPU": -1}', "VCPU", "-1 is less than the minimum of 1"),
    claim("a fractional amount", '{"VCPU": 1.5}', "VCPU", "1.5 is not of type 'integer'"),
    claim("an amount that is true", '{"VCPU": true}', "VCPU", "True is not of type 'integer'"),
    claim("an amount that is a text", '{"VCPU": "1"}', "VCPU", "'1' is not of type 'integer'"),
    claim("an amount beyond 31 bit", '{"VCPU": 2147483648}', "VCPU", CN2, status=409),
    claim("an amount of 63 bit", f'{{"VCPU": {2**63 - 1}}}', "VCPU", CN2, status=409),
    claim("an amount beyond 64 bit", f'{{"VCPU": {2**63}}}', "VCPU", str(2**63), "too large"),
    claim("a huge whole amount", '{"VCPU": 1e30}', "VCPU", "1e+30 is not of type 'integer'"),
    claim("an infinite amount", '{"VCPU": 1e999}', "VCPU", "1e999", "too large"),
    claim("no resources", "{}", "resources", CN2),
    claim("an unknown class", '{"CUSTOM_NOPE": 1}', "CUSTOM_NOPE"),
    claim("a class that is none", '{"vcpu": 1}', "'vcpu' does not match"),
    claim("a class twice", '{"VCPU": 1, "VCPU": 1}', "'VCPU'", "twice"),
    claim("resources that are a list", '["VCPU"]', "resources", "is not of type 'object'"),
    consumer("an empty project", "project_id", "should be non-empty", project_id=""),
    consumer(
        "a project that is too long", "project_id", "is too long", "255", project_id="a" * 256
    ),
    consumer("NUL in the project", "project_id", "NUL", project_id="a\0"),
    consumer("a lone surrogate in the user", "user_id", "surrogate", user_id="\udc00"),
    consumer("a type in lower case", "consumer_type", "'a' does not match", consumer_type="a"),
    consumer("a huge generation", "consumer_generation", "too large", consumer_generation=2**64),
    consumer(
        "a generation that is a text",
        "consumer_generation",
        "'1' is not of type",
        consumer_generation="1",
    ),
    consumer(
        "a provider that is not a UUID",
        "'nope' does not match",
        allocations={"nope": {"resources": {"VCPU": 1}}},
    ),
    consumer(
        "a provider that does not exist",
        "-" * 36,
        allocations={"-" * 36: {"resources": {"VCPU": 1}}},
    ),
    refusal(
        "consumer: not a UUID",
        "PUT /allocations/nope",
        "consumer_uuid",
        "nope",
        "UUID",
        body=consumer_body(CONSUMER_NEW),
    ),
    refusal(
        "consumers: not a UUID",
        "POST /allocations",
        "'nope' does not match",
        body={"nope": consumer_body(CONSUMER_NEW)},
    ),
    refusal("consumers: none", "POST /allocations", "{}", "non-empty", body={}),
    refusal(
        "reshaper: none",
        "POST /reshaper",
        "inventories",
        "non-empty",
        body={"inventories": {}, "allocations": {}},
    ),
)

# Two spellings of one UUID name the same provider on MariaDB. Elsewhere only one of them exists.
_TWICE = {
    CN2: {"resources": {"VCPU": 1}},
    CN2.upper(): {"resources": {"MEMORY_MB": 512}},
}
_INVENTORIES = {
    "inventories": {"VCPU": {"total": 1}},
    "resource_provider_generation": GENERATIONS[SPARE],
}

SPELLING_REFUSALS = (
    consumer("a provider twice", "resource provider", CN2[1:], allocations=_TWICE),
    refusal(
        "consumer: a provider twice in a list",
        f"PUT /allocations/{CONSUMER_NEW}",
        "resource provider",
        CN2[1:],
        body={
            "allocations": [
                {"resource_provider": {"uuid": uuid}, **held} for uuid, held in _TWICE.items()
            ]
        },
        version="1.0",
    ),
    refusal(
        "consumers: a provider twice",
        "POST /allocations",
        "resource provider",
        CN2[1:],
        body={CONSUMER_NEW: consumer_body(CONSUMER_NEW, allocations=_TWICE)},
    ),
    refusal(
        "consumers: a consumer twice",
        "POST /allocations",
        f"consumer {CONSUMER_NEW} is given twice",
        body={
            CONSUMER_NEW: consumer_body(CONSUMER_NEW),
            CONSUMER_NEW.upper(): consumer_body(CONSUMER_NEW),
        },
    ),
    refusal(
        "reshaper: a provider twice in inventories",
        "POST /reshaper",
        SPARE[1:],
        body={"inventories": {SPARE: _INVENTORIES, SPARE.upper(): _INVENTORIES}, "allocations": {}},
    ),
    refusal(
        "reshaper: a provider twice in allocations",
        "POST /reshaper",
        "resource provider",
        CN2[1:],
        body={
            "inventories": {SPARE: _INVENTORIES},
            "allocations": {CONSUMER_NEW: consumer_body(CONSUMER_NEW, allocations=_TWICE)},
        },
    ),
)

REFUSED_BODIES = (
    *JSON_REFUSALS,
    *PROVIDER_REFUSALS,
    *INVENTORY_REFUSALS,
    *NAME_REFUSALS,
    *CLAIM_REFUSALS,
    *SPELLING_REFUSALS,
)
