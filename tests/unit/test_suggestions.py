"""What a mistyped name probably meant."""

import random
from difflib import SequenceMatcher

import os_traits  # type: ignore[import-untyped]
import pytest

from roost.suggestions import COMPARED_MAX, KNOWN_MAX, NAME_LENGTH_MAX, nearest, unknown

FIXED = ("limit", "group_policy", "root_required", "same_subtree", "order", "after", "isolate")
SUFFIXED = ("resources", "required", "member_of", "in_tree", "in_subtree", "can_split")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("resource", "resources"),
        ("Resources", "resources"),
        ("resorces_NET", "resources_NET"),
        ("resource1", "resources1"),
        ("require_GPU-0", "required_GPU-0"),
        ("memberof_A", "member_of_A"),
        ("member_off", "member_of"),
        ("in_tre", "in_tree"),
        ("insubtree_A", "in_subtree_A"),
        ("cansplit", "can_split"),
        ("limt", "limit"),
        ("limits", "limit"),
        ("grouppolicy", "group_policy"),
        ("rootrequired", "root_required"),
        ("same_subtre", "same_subtree"),
        ("color", None),
        ("x", None),
        ("", None),
        ("resource" + "s" * NAME_LENGTH_MAX, None),
    ],
)
def test_the_nearest_parameter(typed: str, meant: str | None) -> None:
    assert nearest(typed, FIXED, suffixed=SUFFIXED) == meant


def test_a_long_suffix_makes_no_name_alike() -> None:
    # 20 of 29 characters are equal, all of them in the suffix.
    suffix = "_A_VERY_LONG_SUFFIX_"
    assert nearest("colours" + suffix, FIXED, suffixed=SUFFIXED) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("HW_CPU_X86_AVX3", "HW_CPU_X86_AVX2"),  # as near as AVX, and as long
        ("CUSTOM_GOLD", None),
        ("hw_cpu_x86_avx", "HW_CPU_X86_AVX"),
    ],
)
def test_the_nearest_trait(typed: str, meant: str | None) -> None:
    known = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE", "COMPUTE_NODE"]
    assert nearest(typed, known) == meant


def test_a_letter_that_is_missing_is_found_among_all_traits() -> None:
    known = os_traits.get_traits()
    missed = [
        name for name in known if (found := nearest(name[:9] + name[10:], known)) != name and found
    ]
    # Some differ in one letter only, as HW_CPU_X86_SSE41 and HW_CPU_X86_SSE42.
    assert len(missed) < len(known) / 20


def test_names_of_the_same_letters_take_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only some of them are compared letter by letter, which takes a millisecond for each."""
    compared = []
    ratio = SequenceMatcher.ratio
    monkeypatch.setattr(SequenceMatcher, "ratio", lambda self: compared.append(self) or ratio(self))
    letters = "AB" * (NAME_LENGTH_MAX // 2)
    known = ["".join(random.Random(seed).sample(letters, len(letters))) for seed in range(500)]
    nearest(letters, known)
    assert 0 < len(compared) <= COMPARED_MAX


def test_only_so_many_names_are_compared() -> None:
    known = (f"CUSTOM_{number}" for number in range(KNOWN_MAX + 1000))
    assert nearest("CUSTOM_12x", known) is not None
    assert next(known) == f"CUSTOM_{KNOWN_MAX}"


def test_the_sentence() -> None:
    assert unknown("parameter", "resource", FIXED, suffixed=SUFFIXED) == (
        "unknown parameter 'resource'; did you mean 'resources'?"
    )
    assert unknown("field", "colour", ["name", "uuid"]) == (
        "unknown field 'colour'; expected one of name, uuid"
    )
    assert unknown("field", "colour", []) == "unknown field 'colour'"
    assert len(unknown("field", "x" * 10_000, ["name", "uuid"])) < 400
