"""Bodies that no schema can describe get a 400 that says what is wrong."""

import pytest

from roost.api.http_error import HttpError
from roost.api.parsing import bodies
from roost.api.parsing.inventories import parse_inventory, parse_providers
from roost.api.schemas import inventories, resource_classes
from roost.api.versions import Version
from roost.errors import InvalidInventory

ANYTHING: dict[str, object] = {}


def refusal_of(body: bytes) -> str:
    with pytest.raises(HttpError) as caught:
        bodies.read(body, ANYTHING)
    assert caught.value.status == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Malformed JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"foo": }', "Malformed JSON: Expecting value: line 1 column 9 (char 8)"),
        (b"\xff", "Malformed JSON: 'utf-8' codec can't decode byte 0xff in position 0"),
        (b'{"a": 1, "a": 2}', "Malformed JSON: the key 'a' is given twice"),
        (b'{"a\\n": 1}', "Malformed JSON: the key 'a\\n' ends in a newline"),
        (b"[NaN]", "Malformed JSON: NaN is not a number"),
        (b"[-Infinity]", "Malformed JSON: -Infinity is not a number"),
        (b"[1e999]", "Malformed JSON: the number 1e999 is too large"),
        (b"[9223372036854775808]", "Malformed JSON: the number 9223372036854775808 is too large"),
        (b"[" + b"9" * 10_000 + b"]", "Malformed JSON: the number 999"),
        (b'["\\u0000"]', "Malformed JSON: a string contains a NUL character"),
        (b'{"\\ud800": 1}', "Malformed JSON: a string contains half a surrogate pair"),
        (b"[" * 40 + b"]" * 40, "Malformed JSON: nested too deeply"),
        (b"[" * 20_000 + b"]" * 20_000, "Malformed JSON: nested too deeply"),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "Malformed JSON: nested too deeply"),
    ],
)
def test_malformed_json_is_refused(body: bytes, message: str) -> None:
    assert refusal_of(body).startswith(message)


def test_unusual_but_valid_json_is_read() -> None:
    body = b'{"a": [1, 1.5, -3, null, "\\u00e9\\ud83d\\ude00"], "b": 9223372036854775807}'
    value = bodies.read(body, ANYTHING)
    assert value == {"a": [1, 1.5, -3, None, "é\U0001f600"], "b": 2**63 - 1}


def test_many_small_objects_are_not_deep() -> None:
    body = b"[" + b",".join([b'{"a": {}}'] * 1000) + b"]"
    assert len(bodies.decode(body)) == 1000


def test_schema_errors_have_the_wording_of_jsonschema() -> None:
    with pytest.raises(HttpError) as caught:
        bodies.read(b'{"resource_class": "DISK_GB", "total": 0}', inventories.POST)
    assert caught.value.message == (
        "JSON does not validate: 0 is less than the minimum of 1\n\n"
        "Failed validating 'minimum' in schema['properties']['total']:\n"
        "    {'type': 'integer', 'maximum': 2147483647, 'minimum': 1}\n\n"
        "On instance['total']:\n    0"
    )


def test_a_name_must_not_end_in_a_newline() -> None:
    with pytest.raises(HttpError, match="does not match"):
        bodies.read(b'{"name": "CUSTOM_A\\n"}', resource_classes.BODY)


def test_a_missing_resource_is_reported_before_an_invalid_body() -> None:
    def missing() -> None:
        raise HttpError(404)

    for body in (b"{", b"[]"):
        with pytest.raises(HttpError) as caught:
            bodies.read(body, {"type": "object"}, check_exists=missing)
        assert caught.value.status == 404
    # With a valid body the check does not run.
    assert bodies.read(b"{}", {"type": "object"}, check_exists=missing) == {}


@pytest.mark.parametrize(("value", "number"), [(1, 1), (1.0, 1), (-2.0, -2)])
def test_whole_numbers_become_integers(value: float, number: int) -> None:
    assert bodies.to_integer(value) == number
    assert type(bodies.to_integer(value)) is int


def test_whole_numbers_that_are_too_large_are_refused() -> None:
    with pytest.raises(HttpError, match="too large"):
        bodies.to_integer(1e30)


# ---------------------------------------------------------------------------------------------
# Capacity

PROVIDER = "aaaaaaaa-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("fields", "capacity"),
    [
        ({"total": 8, "allocation_ratio": -1}, -8),
        ({"total": 8, "reserved": 9}, -1),
        ({"total": 8, "allocation_ratio": -0.1}, 0),
        ({"total": 8, "allocation_ratio": 0}, 0),
        ({"total": 8, "reserved": 8}, 0),
        ({"total": 8, "reserved": 9, "allocation_ratio": 0.1}, 0),
        ({"total": 8, "reserved": 9, "allocation_ratio": -1}, 1),
    ],
)
def test_capacity_is_positive_and_from_1_26_may_be_zero(
    fields: dict[str, float], capacity: int
) -> None:
    def parse(minor: int) -> int:
        return parse_inventory(fields, "VCPU", PROVIDER, Version(1, minor)).capacity

    if capacity > 0:
        assert parse(25) == capacity
    else:
        with pytest.raises(InvalidInventory, match=r"reserved value is greater than or equal to"):
            parse(25)
    if capacity >= 0:
        assert parse(26) == parse(39) == capacity
    else:
        for minor in (26, 39):
            with pytest.raises(InvalidInventory, match=r"reserved value is greater than total\."):
                parse(minor)
    # As in Placement, a reshape moves inventories as they are.
    body = {"inventories": {"VCPU": fields}, "resource_provider_generation": 0}
    (change,) = parse_providers({PROVIDER: body}, as_stored=str)
    assert change.inventories["VCPU"].capacity == capacity
