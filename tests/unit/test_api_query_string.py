"""Query strings: the meaning of each parameter by version, and the messages of refusals."""

import pytest

from roost.api.handlers import provider_list
from roost.api.http_error import HttpError
from roost.api.parsing import query_string
from roost.api.schemas.providers import listing
from roost.api.versions import VERSION_MAX, Version
from roost.query import AggregateRule, CandidateQuery, ProviderQuery, RequestGroup, TraitRule
from tests.support.queries import parse_candidates

A = "11111111-1111-1111-1111-111111111111"
B = "22222222-2222-2222-2222-222222222222"
VCPU = "resources=VCPU:1"
CONFLICTING = "Conflicting required and forbidden traits found in the following traits keys:"


def parse(text: str, minor: int = VERSION_MAX.minor) -> CandidateQuery:
    return parse_candidates(text, Version(1, minor))


def refusal_of(text: str, minor: int = VERSION_MAX.minor) -> HttpError:
    with pytest.raises(HttpError) as caught:
        parse(text, minor)
    assert caught.value.status == 400
    return caught.value


def parse_providers(text: str, version: Version) -> ProviderQuery:
    return provider_list.parse_query(query_string.parse(text, listing(version)), version)


def refusal_of_providers(text: str, minor: int = VERSION_MAX.minor) -> str:
    with pytest.raises(HttpError) as caught:
        parse_providers(text, Version(1, minor))
    assert caught.value.status == 400
    return caught.value.message


# ---------------------------------------------------------------------------------------------
# What the parameters mean


def test_the_parameters_of_one_group() -> None:
    query = parse(f"{VCPU},MEMORY_MB:512&required=A,!B&member_of=in:{A},{B}&in_tree={A}&limit=3")
    group = RequestGroup(
        resources={"VCPU": 1, "MEMORY_MB": 512},
        traits=TraitRule(required=(frozenset("A"),), forbidden=frozenset("B")),
        aggregates=AggregateRule(required=(frozenset({A, B}),)),
        in_tree=A,
    )
    assert query == CandidateQuery(groups=(group,), limit=3)


def test_groups_are_sorted_by_suffix_with_the_unsuffixed_first() -> None:
    query = parse(f"resources_B=VCPU:2&resources1=VGPU:1&required1=T&{VCPU}&group_policy=isolate")
    assert [group.suffix for group in query.groups] == ["", "_B", "1"]
    assert query.groups[2].traits == TraitRule(required=(frozenset("T"),))
    assert query.isolate


def test_required_may_be_repeated_and_have_alternatives() -> None:
    query = parse(f"{VCPU}&required=in:A,B&required=C,!D&required=C")
    assert query.groups[0].traits == TraitRule(
        required=(frozenset("AB"), frozenset("C")), forbidden=frozenset("D")
    )


def test_white_space_around_values_is_ignored() -> None:
    folded = parse("resources1=VCPU:1 &required1=A,B &same_subtree=1 ")
    assert folded == parse("resources1=VCPU:1&required1=A,B&same_subtree=1")


def test_before_1_39_the_last_required_counts() -> None:
    assert parse(f"{VCPU}&required=A&required=B", 38).groups[0].traits.required == (frozenset("B"),)


def test_forbidden_aggregates() -> None:
    rule = parse(f"{VCPU}&member_of=!in:{A},{B}&member_of={A}").groups[0].aggregates
    assert rule == AggregateRule(required=(frozenset({A}),), forbidden=frozenset({A, B}))


def test_uuids_are_accepted_in_any_spelling() -> None:
    spelling = A.replace("-", "").upper()
    query = parse(f"{VCPU}&in_tree={spelling}&member_of={spelling}")
    assert query.groups[0].in_tree == A
    assert query.groups[0].aggregates.required == (frozenset({A}),)


def test_same_subtree_and_a_group_without_resources() -> None:
    query = parse("resources1=VCPU:1&required2=T&same_subtree=1,2,1&group_policy=none")
    assert query.same_subtree == (frozenset("12"),)
    assert query.groups[1].resources == {}


def test_root_required() -> None:
    query = parse(f"{VCPU}&root_required=A,!B")
    assert query.root_traits == TraitRule(required=(frozenset("A"),), forbidden=frozenset("B"))


@pytest.mark.parametrize(("minor", "nested_aware"), [(28, False), (29, True)])
def test_versions_become_fields_of_the_query(minor: int, nested_aware: bool) -> None:
    assert parse(VCPU, minor).nested_aware is nested_aware


def test_alternatives_that_are_forbidden_in_part_are_no_conflict() -> None:
    query = parse(f"{VCPU}&required=in:A,B&required=!A")
    assert query.groups[0].traits == TraitRule(
        required=(frozenset("AB"),), forbidden=frozenset("A")
    )


@pytest.mark.parametrize("rule", ["required=A", f"member_of={A}", f"in_tree={A}"])
def test_an_extended_request_may_have_an_unsuffixed_group_without_resources(rule: str) -> None:
    refused = "param: bad group(s) - ['']."
    assert refusal_of(f"resources1=VCPU:1&{rule}").message.endswith(refused)
    query = parse(f"resources1=VCPU:1&{rule}&order=root")
    assert [group.anywhere for group in query.groups] == [True, False]
    # A group with a suffix still belongs into a `same_subtree`.
    stray = refusal_of(f"resources1=VCPU:1&{rule}&required2=A&order=root")
    assert stray.message.endswith("param: bad group(s) - ['2'].")


def test_repeated_limit_and_policy_take_the_first() -> None:
    text = "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate&group_policy=none"
    query = parse(f"{text}&limit=10&limit=1")
    assert query.isolate
    assert query.limit == 10


def test_a_huge_limit_is_no_limit() -> None:
    assert parse(f"{VCPU}&limit={'9' * 5000}").limit is None


# ---------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("text", "minor", "message"),
    [
        ("", 10, "Invalid query string parameters: 'resources' is a required property"),
        ("", 25, "At least one request group (`resources` or `resources{$S}`) is required."),
        (f"{VCPU}&limit=5", 15, "Invalid query string parameters: Additional properties"),
        (f"{VCPU}&limit=0", 39, "Invalid query string parameters: '0' does not match"),
        (f"{VCPU}&limit=cow&limit=1", 39, "Invalid query string parameters: 'cow' does not"),
        (f"{VCPU}&limit=1%0a", 39, "Invalid query string parameters: '1\\n' does not match"),
        ("resources=", 39, "Badly formed resources parameter. Expected resources query string"),
        ("resources=VCPU", 39, "Badly formed resources parameter."),
        ("resources=VCPU:1:2", 39, "Badly formed resources parameter."),
        ("resources=VCPU:1,", 39, "Badly formed resources parameter."),
        ("resources=VCPU:1,VCPU:2", 39, "Badly formed resources parameter. VCPU is requested"),
        ("resources=VCPU:x", 39, "Requested resource VCPU expected positive integer amount."),
        ("resources=VCPU:%2B1", 39, "Requested resource VCPU expected positive integer amount."),
        ("resources=VCPU:1_0", 39, "Requested resource VCPU expected positive integer amount."),
        ("resources=VCPU:%D9%A1", 39, "Requested resource VCPU expected positive integer"),
        ("resources=VCPU:0", 39, "Requested resource VCPU requires amount >= 1. Got: 0."),
        ("resources=VCPU:-2", 39, "Requested resource VCPU requires amount >= 1. Got: -2."),
        (f"resources=VCPU:{2**63}", 39, "Requested resource VCPU is too large."),
        (f"resources=VCPU:{'9' * 5000}", 39, "Requested resource VCPU is too large."),
        (f"{VCPU}&required=", 17, "Invalid query string parameters: Expected 'required' parameter"),
        (f"{VCPU}&required=!A", 17, "Invalid query string parameters: Expected 'required'"),
        (f"{VCPU}&required=!!A", 39, "Invalid query string parameters: Expected 'required'"),
        (f"{VCPU}&required=in:A", 38, "Invalid query string parameters: The format 'in:HW_CPU_X86"),
        (f"{VCPU}&required=in:A,!B", 39, "Invalid query string parameters: The format 'in:HW_CPU"),
        (f"{VCPU}&required=in:", 39, "Invalid query string parameters: Expected 'required'"),
        (f"{VCPU}&required=A,!A", 39, f"{CONFLICTING} required: (A)"),
        (f"{VCPU}&required=B,A,!A,!B", 22, f"{CONFLICTING} required: (A), required: (B)"),
        (f"{VCPU}&required=in:B,A&required=!A,!B", 39, f"{CONFLICTING} required: (A, B)"),
        (
            "resources=VCPU:1&required=A,!A&resources1=VCPU:1&required1=in:C,D&required1=!C,!D,!E",
            39,
            f"{CONFLICTING} required1: (C, D), required: (A)",
        ),
        (f"{VCPU}&member_of=x", 39, "Invalid query string parameters: Expected 'member_of'"),
        (f"{VCPU}&member_of=in:", 39, "Invalid query string parameters: Expected 'member_of'"),
        (f"{VCPU}&member_of={A},{B}", 39, "Multiple values for 'member_of' must be prefixed"),
        (f"{VCPU}&member_of={A}&member_of={B}", 23, "Multiple member_of parameters are not"),
        (f"{VCPU}&member_of=!{A}", 31, "Forbidden member_of parameters are not supported"),
        (f"{VCPU}&in_tree=x", 31, "Invalid query string parameters: Expected 'in_tree' parameter"),
        (f"{VCPU}&required1=A", 25, "All traits parameters must be associated with resources."),
        (f"{VCPU}&member_of1={A}", 25, "All member_of parameters must be associated with"),
        (f"{VCPU}&in_tree1={A}", 31, "All request groups must specify resources."),
        ("resources01=VCPU:1", 25, "Invalid query string parameters: 'resources01' does not match"),
        ("resources1=VCPU:1&resources2=VCPU:1", 25, 'The "group_policy" parameter is required'),
        (f"{VCPU}&group_policy=x", 25, "Invalid query string parameters: 'x' is not one of"),
        (f"{VCPU}&{VCPU}", 39, "Query parameter 'resources' may be specified only once."),
        (f"{VCPU}&x=%00", 39, "Invalid query string parameters: a NUL character is not allowed"),
        (f"{VCPU}&required=%ff", 39, "Invalid query string parameters: 'utf-8' codec can't decode"),
    ],
)
def test_invalid_queries_are_refused(text: str, minor: int, message: str) -> None:
    assert refusal_of(text, minor).message.startswith(message)


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        ("", "There must be at least one resources", "placement.query.missing_value"),
        ("same_subtree=1", "There must be at least one resources", "placement.query.missing_value"),
        (
            f"{VCPU}&required1=A",
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            "param: bad group(s) - ['1'].",
            "placement.query.bad_value",
        ),
        (
            "resources1=VCPU:1&required=A",
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            "param: bad group(s) - [''].",
            "placement.query.bad_value",
        ),
        (
            "resources1=VCPU:1&same_subtree=1,,1",
            "Empty string (unsuffixed group) can not be specified in `same_subtree`",
            "placement.query.bad_value",
        ),
        (
            "resources1=VCPU:1&same_subtree=2",
            "Real suffixes should be specified in `same_subtree`: ['2'] not found in ['1'].",
            "placement.query.bad_value",
        ),
        (
            f"{VCPU}&root_required=A,!A",
            "Conflicting required and forbidden traits found in root_required: A",
            "placement.query.bad_value",
        ),
        (
            f"{VCPU}&root_required=in:B,A&root_required=!A,!B",
            "Conflicting required and forbidden traits found in root_required: A, B",
            "placement.query.bad_value",
        ),
        (
            f"{VCPU}&root_required=A&root_required=A",
            "Query parameter 'root_required' may be specified only once.",
            "placement.query.duplicate_key",
        ),
    ],
)
def test_invalid_queries_are_refused_with_a_code(text: str, message: str, code: str) -> None:
    refusal = refusal_of(text)
    assert refusal.message.startswith(message)
    assert refusal.code == code


# ---------------------------------------------------------------------------------------------
# Lists of providers


def test_the_parameters_of_a_provider_list() -> None:
    text = f"name=%e2%98%83&uuid={A}&in_tree={B}&resources=VCPU:2&required=A&member_of={B}"
    query = parse_providers(text, VERSION_MAX)
    assert query.name == "☃"
    assert query.uuid == A
    assert query.in_tree == B
    assert query.resources == {"VCPU": 2}
    assert query.traits == TraitRule(required=(frozenset("A"),))
    assert query.aggregates == AggregateRule(required=(frozenset({B}),))


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("spam=1", 39),
        ("uuid=spam", 39),
        (f"member_of={A}", 2),
        (VCPU, 3),
        (f"in_tree={A}", 13),
        ("required=A", 17),
    ],
)
def test_invalid_parameters_of_a_provider_list_are_refused(text: str, minor: int) -> None:
    assert refusal_of_providers(text, minor).startswith("Invalid query string parameters: ")


def test_raw_bytes_in_a_query_string_are_utf_8() -> None:
    raw = "name=☃".encode().decode("latin-1")
    assert query_string.split(raw) == {"name": ["☃"]}
