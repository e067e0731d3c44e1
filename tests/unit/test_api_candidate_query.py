"""POST /allocation_candidates reads as GET does."""

from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace as evolve

from roost.api.http_error import HttpError
from roost.api.parsing import candidate_query
from roost.api.parsing.candidate_query import parameters_of
from roost.api.parsing.tokens import encode_cursor
from roost.api.versions import VERSION_MAX, Version
from roost.query import CandidateQuery, Cursor, Order
from tests.support.names import uid

UUID = uid("somebody")


def posted(body: dict[str, Any]) -> CandidateQuery:
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
def test_a_body_is_a_query(query: list[tuple[str, str]], body: dict[str, Any]) -> None:
    assert posted(body) == candidate_query.parse(urlencode(query), VERSION_MAX)


POSITION = Cursor(turn=3, rank=-0.1, root=UUID)


def test_a_page_is_found_again() -> None:
    first = candidate_query.parse("resources=VCPU:1&order=random&limit=5", VERSION_MAX)
    assert first.order is not None
    token = encode_cursor(first, POSITION)
    second = candidate_query.parse(
        f"resources=VCPU:1&order=random&limit=9&after={token}", VERSION_MAX
    )
    assert second == evolve(first, limit=9, after=POSITION)


@pytest.mark.parametrize(
    "other",
    [
        "resources=VCPU:2&order=random",
        "resources=VCPU:1&order=pack",
        "resources=VCPU:1&order=random:4",
    ],
)
def test_a_page_of_another_request(other: str) -> None:
    query = candidate_query.parse("resources=VCPU:1&order=random:3", VERSION_MAX)
    with pytest.raises(HttpError, match="another request"):
        candidate_query.parse(f"{other}&after={encode_cursor(query, POSITION)}", VERSION_MAX)


def test_without_a_seed_one_is_drawn() -> None:
    seeds = {
        candidate_query.parse("resources=VCPU:1&order=random", VERSION_MAX).order for _ in range(5)
    }
    assert len(seeds) > 1
    query = candidate_query.parse("resources=VCPU:1&order=root", VERSION_MAX)
    assert query.order == Order(by="root")


@pytest.mark.parametrize("text", ["resources=VCPU:1", "resources=VCPU:1&color=red"])
def test_without_extensions_nothing_is_new(text: str) -> None:
    """Not even the words of a refusal, which quote the names that there are."""

    def told(version: Version) -> object:
        try:
            return candidate_query.parse(text, version)
        except HttpError as error:
            return str(error)

    assert told(VERSION_MAX) == told(Version(1, 38))
