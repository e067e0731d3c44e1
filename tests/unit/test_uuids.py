"""Spellings of UUIDs."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.uuids import canonical_uuid, consumer_spellings, is_uuid

A = "a1b2c3d4-e5f6-4a7b-8c9d-e0f1a2b3c4d5"


@pytest.mark.parametrize(
    "spelling",
    [
        A,
        A.upper(),
        A.replace("-", ""),
        f"{A.replace('-', '')}----",
        f"{{{A}}}",
        f"urn:uuid:{A}",
        f"urn:uuid:{{{A.upper()}}}",
    ],
)
def test_spellings_of_one_uuid(spelling: str) -> None:
    assert is_uuid(spelling)
    assert canonical_uuid(spelling) == A


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rack",
        A[:-1],
        f"{A}0",
        f"g{A[1:]}",
        f" {A}",
        f"{A}\n",
        "-" * 36,
        "\u0661" * 32,
        "0x" + "1" * 30,
    ],
)
def test_anything_else_stays_as_it_is(text: str) -> None:
    assert not is_uuid(text)
    assert canonical_uuid(text) == text


@pytest.mark.parametrize("value", [None, 7, [A]])
def test_only_a_text_is_a_uuid(value: object) -> None:
    assert not is_uuid(value)


@given(st.uuids())
def test_python_agrees(value: uuid.UUID) -> None:
    assert canonical_uuid(str(value).upper()) == canonical_uuid(value.hex) == str(value)
    assert canonical_uuid(value.urn) == str(value)


def test_a_canonical_uuid_is_not_copied() -> None:
    assert canonical_uuid(A) is A


def test_a_consumer_is_looked_for_as_it_was_named_first() -> None:
    mixed = A[:18].upper() + A[18:]
    assert consumer_spellings(A) == (A, A.upper())
    assert consumer_spellings(A.upper()) == (A.upper(), A)
    assert consumer_spellings(mixed) == (mixed, A, A.upper())
    assert consumer_spellings("1" * 36) == ("1" * 36,)
