"""POST /allocation_candidates means the same as GET; and cursors of pages."""

from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace as evolve

from roost.api.handlers.candidates import CACHED_LENGTH_MAX, read_query
from roost.api.http_error import HttpError
from roost.api.parsing import candidate_query
from roost.api.parsing.candidate_query import parameters_of
from roost.api.parsing.tokens import encode_cursor
from roost.api.versions import VERSION_MAX, Version
from roost.query import CandidateQuery, Cursor, Order
from tests.support.names import uid
from tests.support.queries import parse_candidates

UUID = uid("somebody")


def parse_body(body: dict[str, Any]) -> CandidateQuery:
    return candidate_query.parse_parameters(parameters_of(body), VERSION_MAX, extended=True)


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ([("resources", "VCPU:1")], {"groups": {"": {"resources": {"VCPU": 1}}}}),
        ([("resources", "VCPU:1")], {"groups": {"": {"resources": {"VCPU": 1.0}}}}),
        (
            [
                ("resources", "VCPU:1,MEMORY_MB:2"),
                ("required", "in:A,B"),
                ("required", "!C"),
                ("in_subtree", UUID),
                ("resources_A", "VCPU:1"),
                ("member_of_A", UUID),
                ("in_tree_A", UUID),
                ("can_split_A", "VCPU"),
                ("can_split", "MEMORY_MB"),
                ("required_B", "T"),
                ("same_subtree", "_B,!_A"),
                ("isolate", "_A,_B"),
                ("root_required", "in:A,B"),
                ("root_member_of", f"!in:{UUID}"),
                ("limit", "7"),
                ("order", "random:3"),
            ],
            {
                "groups": {
                    "": {
                        "resources": {"VCPU": 1, "MEMORY_MB": 2},
                        "required": ["in:A,B", "!C"],
                        "in_subtree": UUID,
                    },
                    "_A": {
                        "resources": {"VCPU": 1},
                        "member_of": [UUID],
                        "in_tree": UUID,
                        "can_split": "VCPU",
                    },
                    "_B": {"required": ["T"]},
                },
                "same_subtree": ["_B,!_A"],
                "isolate": ["_A,_B"],
                "can_split": "MEMORY_MB",
                "root_required": ["in:A,B"],
                "root_member_of": [f"!in:{UUID}"],
                "limit": 7,
                "order": "random:3",
            },
        ),
    ],
)
def test_a_body_means_the_same_as_a_query_string(
    query: list[tuple[str, str]], body: dict[str, Any]
) -> None:
    assert parse_body(body) == parse_candidates(urlencode(query))


CURSOR = Cursor(turn=3, rank=-0.1, root=UUID)


def test_a_cursor_continues_its_request() -> None:
    first = parse_candidates("resources=VCPU:1&order=random&limit=5")
    assert first.order is not None
    token = encode_cursor(first, CURSOR)
    second = parse_candidates(f"resources=VCPU:1&order=random&limit=9&after={token}")
    assert second == evolve(first, limit=9, after=CURSOR)


@pytest.mark.parametrize(
    "other",
    [
        "resources=VCPU:2&order=random",
        "resources=VCPU:1&order=pack",
        "resources=VCPU:1&order=random:4",
    ],
)
def test_a_cursor_of_another_request_is_refused(other: str) -> None:
    query = parse_candidates("resources=VCPU:1&order=random:3")
    with pytest.raises(HttpError, match="another request"):
        parse_candidates(f"{other}&after={encode_cursor(query, CURSOR)}")


def test_a_random_order_without_a_seed_draws_one() -> None:
    seeds = {parse_candidates("resources=VCPU:1&order=random").order for _ in range(5)}
    assert len(seeds) > 1
    query = parse_candidates("resources=VCPU:1&order=root")
    assert query.order == Order(by="root")


@pytest.mark.parametrize("text", ["resources=VCPU:1", "resources=VCPU:1&color=red"])
def test_without_extensions_nothing_changes(text: str) -> None:
    """Not even the messages of errors, which quote the names of all parameters."""

    def result(version: Version) -> object:
        try:
            return parse_candidates(text, version)
        except HttpError as error:
            return str(error)

    assert result(VERSION_MAX) == result(Version(1, 38))


def test_what_is_asked_again_is_read_once() -> None:
    text = "resources=VCPU:1&limit=7"
    assert read_query(text, VERSION_MAX)[0] is read_query(text, VERSION_MAX)[0]
    assert read_query(text, Version(1, 28))[0] != read_query(text, VERSION_MAX)[0]


def test_a_long_query_string_is_not_kept() -> None:
    text = "resources=VCPU:1&required=" + ",".join(["HW_CPU_X86_AVX"] * (CACHED_LENGTH_MAX // 10))
    one, other = (read_query(text, VERSION_MAX)[0] for _ in range(2))
    assert one == other
    assert one is not other


def test_a_seed_is_drawn_for_each_request() -> None:
    drawn = {read_query("resources=VCPU:1&order=random", VERSION_MAX)[0].order for _ in range(9)}
    assert len(drawn) == 9
