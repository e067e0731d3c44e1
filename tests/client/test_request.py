"""Requests for candidates: written with methods, read from text, and sent."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.api.parsing import candidate_query
from roost.api.parsing.validation import validate
from roost.api.schemas import candidates as schema
from roost.api.schemas import explain as explain_schema
from roost.api.versions import VERSION_MAX
from roost.client import Client, ClientError, InvalidRequest, Request
from roost.client.parameters import SUFFIXED, WHOLE
from roost.client.requests.candidates import QUERY_LENGTH_MAX
from tests.support.names import uid
from tests.support.queries import parse_candidates

RACK, HOST = uid("rack"), uid("host")

EVERYTHING = (
    Request()
    .resources(VCPU=2, MEMORY_MB=4096)
    .resources({"CUSTOM_GOLD": 1})
    .required("HW_CPU_X86_AVX2", "!CUSTOM_OLD", "in:CUSTOM_A,CUSTOM_B")
    .member_of(RACK, f"!{HOST}")
    .in_tree(HOST)
    .in_subtree(HOST)
    .group(
        "_NET",
        {"CUSTOM_VF": 2},
        SRIOV_NET_VF=1,
        required=["CUSTOM_PHYSNET", "!CUSTOM_SLOW"],
        member_of=RACK,
        in_tree=HOST,
        in_subtree=HOST,
        can_split="CUSTOM_VF",
    )
    .group("_CPU", PCPU=1, required="CUSTOM_FAST")
    .same_subtree("_CPU", "_NET")
    .same_subtree("_CPU", "!_NET")
    .isolate("_CPU", "_NET")
    .can_split("VCPU", "MEMORY_MB")
    .root_required("COMPUTE_NODE", "in:CUSTOM_A,CUSTOM_B")
    .root_member_of(f"in:{RACK},{HOST}")
    .order("random:5")
    .limit(7)
)
QUERY = {
    "resources": ["VCPU:2,MEMORY_MB:4096,CUSTOM_GOLD:1"],
    "required": ["HW_CPU_X86_AVX2,!CUSTOM_OLD", "in:CUSTOM_A,CUSTOM_B"],
    "member_of": [RACK, f"!{HOST}"],
    "in_tree": [HOST],
    "in_subtree": [HOST],
    "resources_NET": ["CUSTOM_VF:2,SRIOV_NET_VF:1"],
    "required_NET": ["CUSTOM_PHYSNET,!CUSTOM_SLOW"],
    "member_of_NET": [RACK],
    "in_tree_NET": [HOST],
    "in_subtree_NET": [HOST],
    "can_split_NET": ["CUSTOM_VF"],
    "resources_CPU": ["PCPU:1"],
    "required_CPU": ["CUSTOM_FAST"],
    "same_subtree": ["_CPU,_NET", "_CPU,!_NET"],
    "isolate": ["_CPU,_NET"],
    "can_split": ["VCPU,MEMORY_MB"],
    "root_required": ["COMPUTE_NODE", "in:CUSTOM_A,CUSTOM_B"],
    "root_member_of": [f"in:{RACK},{HOST}"],
    "order": ["random:5"],
    "limit": ["7"],
}


def test_the_names_are_those_of_the_service() -> None:
    assert set(WHOLE) == schema.EXTENDED["properties"].keys()
    patterns = {f"^{name}({schema.SUFFIX_NAME})?$" for name in SUFFIXED}
    assert patterns == schema.EXTENDED["patternProperties"].keys()
    assert explain_schema.QUERY["properties"].keys() - set(WHOLE) == {"tree"}


def test_a_request_is_written_with_methods() -> None:
    assert EVERYTHING.query() == QUERY
    assert Request.of(QUERY).query() == QUERY
    assert Request().resources(VCPU=1).limit(5).limit(6).query()["limit"] == ["6"]
    assert str(Request().resources(VCPU=1).required("!A")) == "resources=VCPU:1&required=!A"


def test_a_request_does_not_change() -> None:
    request = Request().resources(VCPU=1)
    request.required("A").group("_A", VCPU=1)
    assert request == Request().resources(VCPU=1)
    assert len({request, Request().resources(VCPU=1)}) == 1
    assert eval(repr(EVERYTHING)) == EVERYTHING


def test_the_body_means_what_the_query_string_means() -> None:
    """Both are read by the service itself."""
    body = EVERYTHING.body()
    validate(body, schema.POST, "{}")
    parameters = candidate_query.parameters_of(body)
    assert parameters == EVERYTHING.query()
    # Without the rule that cannot be met.
    possible = Request.of({**QUERY, "same_subtree": "_CPU,_NET"})
    by_body = candidate_query.parse_parameters(
        candidate_query.parameters_of(possible.body()), VERSION_MAX, extended=True
    )
    assert by_body == parse_candidates(str(possible))


values = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.sampled_from(WHOLE) | st.builds(
    "".join, st.tuples(st.sampled_from(SUFFIXED), st.from_regex(r"\A[a-zA-Z0-9_-]{0,9}\Z"))
)


@given(st.lists(st.tuples(names, values)))
def test_text_and_request_are_the_same(pairs: list[tuple[str, str]]) -> None:
    request = Request(parameters=tuple(pairs))
    assert Request.parse(str(request)) == request
    assert Request.parse(f"http://host:1/path?{request}") == request


@pytest.mark.parametrize(
    "text",
    [
        "resources=VCPU:1&required=A",
        "?resources=VCPU%3A1&required=A",
        "  /allocation_candidates?resources=VCPU:1&required=A\n",
        "https://placement.example.org/placement/allocation_candidates?resources=VCPU:1&required=A",
        'GET /allocation_candidates?resources=VCPU:1&required=A HTTP/1.1" 200 1234',
        '"GET /placement/allocation_candidates?resources=VCPU:1&required=A"',
        "resources=VCPU:1\n    &required=A",
    ],
)
def test_a_request_is_read_from_a_log(text: str) -> None:
    assert Request.parse(text) == Request().resources(VCPU=1).required("A")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("resource=VCPU:1", "unknown parameter 'resource'; did you mean 'resources'?"),
        ({"resource": "VCPU:1"}, "unknown parameter 'resource'; did you mean 'resources'?"),
        ("reqired_NET=A", "unknown parameter 'reqired_NET'; did you mean 'required_NET'?"),
        ("resources=VCPU:1&groups=2", "unknown parameter 'groups'"),
        ("VCPU:1", "not a query like resources=VCPU:1&required=TRAIT: 'VCPU:1'"),
        ("resources=%FF", "not a query like resources=VCPU:1&required=TRAIT: 'resources=%FF'"),
        ("resources=VCPU:1&required_~=A", "'_~' is no suffix of a group"),
        ("tree=7", "unknown parameter 'tree'"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(
    given: str | Mapping[str, str], message: str
) -> None:
    client = Client("http://scripted", transport=httpx.MockTransport(lambda _: pytest.fail("sent")))
    for send in (client.candidates, client.all_candidates, client.capacity, client.place):
        with pytest.raises(InvalidRequest) as invalid:
            send(given)  # type: ignore[operator]
        assert message in str(invalid.value)
        assert isinstance(invalid.value, ClientError | ValueError)


@pytest.mark.parametrize("value", [None, True, [1, 2], 1.5], ids=repr)
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"'limit' has .* where a text is expected"):
        Request.of({"limit": value})


def test_a_suffix_that_no_group_may_have_is_refused() -> None:
    for suffix in ("", "_ä", "a" * 65, "_A\n"):
        with pytest.raises(InvalidRequest, match="no suffix of a group"):
            Request().group(suffix, VCPU=1)


class Recorded:
    """What a client sent."""

    def __init__(self, **answer: Any) -> None:
        self.requests: list[httpx.Request] = []
        self._answer = answer

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/":
            return httpx.Response(200, json={"versions": [{"max_version": "1.39"}]})
        self.requests.append(request)
        return httpx.Response(200, json=self._answer)


def test_what_is_too_long_for_a_url_goes_into_a_body() -> None:
    recorded = Recorded(count=1, trees=[], complete=True)
    client = Client("http://scripted", transport=httpx.MockTransport(recorded))
    request = Request().resources(VCPU=1)
    while request.length_in_url <= QUERY_LENGTH_MAX:
        shorter = request
        request = request.required(f"in:CUSTOM_{len(str(request))},A")
    client.capacity(shorter)
    client.capacity(request)
    short, long = recorded.requests
    assert (short.method, long.method) == ("GET", "POST")
    assert len(short.url.raw_path) < 8000
    assert short.url.params.get_list("required") == shorter.query()["required"]
    assert httpx.Response(200, content=long.content).json() == request.body()


@pytest.mark.parametrize(
    "values",
    [
        {"limit": "x"},
        {"resources": "VCPU"},
        {"resources": "VCPU:1,VCPU:2"},
        {"order": ["a", "b"]},
    ],
    ids=str,
)
def test_what_a_body_cannot_say_is_refused(values: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=f"'{next(iter(values))}'"):
        Request.of(values).body()
