"""The examples of the document are requests that a running service answers so."""

import copy
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from roost.api.openapi.examples import Example, examples
from roost.api.versions import VERSION_MAX
from tests.openapi.player import Player, abridged, content, is_as_shown
from tests.support import answer_schemas
from tests.support.answer_schemas import check_value, document
from tests.support.roost_server import RoostServer

PATHS = document(VERSION_MAX)["paths"]


def name(example: Example) -> str:
    return f"{example.operation} {example.key}"


def operation(example: Example) -> dict[str, Any]:
    method, _, path = example.operation.partition(" ")
    return dict(PATHS[path][method.lower()])


def body_schema(example: Example) -> dict[str, Any]:
    (described,) = operation(example)["requestBody"]["content"].values()
    return dict(described["schema"])


def answer_schema(example: Example) -> dict[str, Any]:
    responses = operation(example)["responses"]
    if str(example.status) not in responses:
        responses = {
            str(example.status): document(VERSION_MAX)["components"]["responses"]["refused"]
        }
    described = responses[str(example.status)]["content"]
    return dict(next(iter(described.values()))["schema"])


def parameters(example: Example) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in operation(example)["parameters"] if "name" in each}


def test_every_operation_has_an_example() -> None:
    shown = {example.operation for example in examples()}
    known = {f"{method.upper()} {path}" for path, methods in PATHS.items() for method in methods}
    assert shown == known


def test_examples_of_an_operation_have_different_names() -> None:
    assert len({name(example) for example in examples()}) == len(examples())


WITH_BODY = [example for example in examples() if example.body is not None]
WITH_ANSWER = [example for example in examples() if example.answer is not None]
WITH_PARAMETERS = [example for example in examples() if example.path or example.query]


@pytest.mark.parametrize("example", WITH_BODY, ids=name)
def test_a_body_matches_its_schema(example: Example) -> None:
    check_value(VERSION_MAX, body_schema(example), example.body)


@pytest.mark.parametrize("example", WITH_ANSWER, ids=name)
def test_an_answer_matches_its_schema(example: Example) -> None:
    check_value(VERSION_MAX, answer_schema(example), example.answer)


@pytest.mark.parametrize("example", WITH_PARAMETERS, ids=name)
def test_parameters_match_their_schemas(example: Example) -> None:
    described = parameters(example)
    for parameter in described.values():
        for shown in parameter.get("examples", {}).values():
            check_value(VERSION_MAX, parameter["schema"], shown["value"])
    suffixed = described.get("groups", {}).get("examples", {})
    sent = {*example.path, *example.query}
    assert sent - set(suffixed.get(example.key, {"value": ()})["value"]) <= described.keys()


# ---------------------------------------------------------------------------------------------
# A schema says something


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field and every entry of an answer."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in entries:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from places(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], entry: Any) -> Any:
    result = copy.deepcopy(value)
    at = result
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = entry
    return result


OBJECTS = [
    example for example in WITH_ANSWER if isinstance(example.answer, dict) and not example.abridged
]


@pytest.mark.parametrize("example", OBJECTS, ids=name)
def test_a_wrong_answer_does_not_match(example: Example) -> None:
    """Whatever part of an answer has another type, and whatever is there too much, is noticed."""
    schema = answer_schema(example)
    for path in places(example.answer):
        # No field of any answer is a list of numbers.
        with pytest.raises(ValueError, match="validat"):
            check_value(VERSION_MAX, schema, changed(example.answer, path, [0.5]))
    with pytest.raises(ValueError, match="validat"):
        check_value(VERSION_MAX, schema, {**example.answer, "surprise": 1})


# What an answer has only if the request asks for it, or if there is more.
OPTIONAL = {("GET /summary", "aggregates"), ("POST /allocation_candidates", "next")}


@pytest.mark.parametrize("example", OBJECTS, ids=name)
def test_an_answer_without_a_field_does_not_match(example: Example) -> None:
    schema = answer_schema(example)
    for field in example.answer:
        shorter = {key: value for key, value in example.answer.items() if key != field}
        if (example.operation, field) in OPTIONAL:
            continue
        with pytest.raises(ValueError, match="required"):
            check_value(VERSION_MAX, schema, shorter)


# ---------------------------------------------------------------------------------------------
# A service says so


@pytest.mark.process
def test_a_service_answers_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("examples")
    with (
        RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server,
        httpx.Client(base_url=server.url, timeout=30, event_hooks=answer_schemas.HOOKS) as client,
    ):
        player = Player(client)
        for example in examples():
            response = player.play(example)
            assert response.status_code == example.status, (name(example), response.text)
            found = content(response)
            is_same = is_as_shown(example.answer, found, is_abridged=example.abridged)
            assert is_same, (name(example), found)


def test_only_what_a_service_chooses_may_differ() -> None:
    assert is_as_shown({"id": "a", "name": "x"}, {"id": "b", "name": "x"})
    assert not is_as_shown({"id": "a", "name": "x"}, {"id": "a", "name": "y"})
    assert not is_as_shown({"id": "a"}, {"id": 1})
    assert not is_as_shown({"a": 1}, {"a": 1, "b": 2})
    assert is_as_shown({"a": [1]}, {"a": [1, 2], "b": 2}, is_abridged=True)
    assert not is_as_shown({"a": [2]}, {"a": [1, 2]}, is_abridged=True)
    assert abridged({"a": {"b": {"c": 1}}, "d": [1, 2, 3]}) == {"a": {"b": {}}, "d": [1, 2]}
