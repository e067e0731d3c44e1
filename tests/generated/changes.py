"""Mutations of texts and JSON values: each changes one place."""

import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.generated import hostile
from tests.generated.odd_json import Members

Draw = Callable[[st.SearchStrategy[Any]], Any]

# The path to a part of a value: the position of an item or a member at each level.
Place = tuple[int, ...]

# A value may be mutated several times. Without a limit, a list that is repeated a thousand times in
# each of three mutations would use up the memory of the machine.
LIST_LENGTH_MAX = 10_000
TEXT_LENGTH_MAX = 100_000

_SEPARATORS = re.compile(r"([,:!_-])")


@st.composite
def changed_text(draw: Draw, text: str) -> str:
    """Another text, or this one with one part changed."""
    parts = _SEPARATORS.split(text)
    position = draw(st.integers(0, len(parts) - 1))
    match draw(st.sampled_from(("all", "part", "insert", "drop", "repeat", "case", "many"))):
        case "all":
            return draw(hostile.texts)
        case "part":
            parts[position] = draw(hostile.texts)
        case "insert":
            parts.insert(position, draw(hostile.texts))
        case "drop":
            del parts[position]
        case "repeat":
            parts += [",", *parts]
        case "case":
            return text.swapcase()
        case "many":
            return ",".join([text] * draw(st.sampled_from((3, 50, 300))))[:TEXT_LENGTH_MAX]
    return "".join(parts)


def places(value: Any, at: Place = ()) -> list[Place]:
    """The paths of all parts of a value, the value itself included."""
    if isinstance(value, dict):
        value = list(value.values())
    elif isinstance(value, Members):
        value = [item for _, item in value]
    if not isinstance(value, list):
        return [at]
    inside = [place for number, item in enumerate(value) for place in places(item, (*at, number))]
    return [at, *inside]


def changed(value: Any, place: Place, change: Callable[[Any], Any]) -> Any:
    """A copy of the value with one part changed."""
    if not place:
        return change(value)
    first, *rest = place
    if isinstance(value, dict):
        value = Members(value.items())
    if isinstance(value, Members):
        key, item = value[first]
        new = (key, changed(item, tuple(rest), change))
        return Members([*value[:first], new, *value[first + 1 :]])
    return [*value[:first], changed(value[first], tuple(rest), change), *value[first + 1 :]]


@st.composite
def changed_value(draw: Draw, value: Any) -> Any:
    """Another value, or this one with one part changed."""
    if draw(st.integers(0, 3)) == 0:
        return draw(hostile.values)
    if isinstance(value, dict):
        value = Members(value.items())
    if isinstance(value, Members):
        return draw(changed_members(value))
    if isinstance(value, list):
        return draw(changed_list(value))
    if isinstance(value, str):
        return draw(changed_text(value))
    if isinstance(value, int | float):
        return draw(hostile.numbers)
    return draw(hostile.scalars)


@st.composite
def changed_members(draw: Draw, members: Members) -> Members:
    """An object in which a member is added, removed, repeated or renamed."""
    extra = (draw(hostile.texts), draw(hostile.values))
    if not members:
        return Members([extra])
    position = draw(st.integers(0, len(members) - 1))
    key, value = members[position]
    others = members[:position] + members[position + 1 :]
    match draw(st.sampled_from(("add", "drop", "rename", "repeat", "differ"))):
        case "drop":
            return Members(others)
        case "rename":
            return Members([*others, (draw(changed_text(key)), value)])
        case "repeat":
            return Members([*members, (key, value)])
        case "differ":
            return Members([*members, (key, draw(hostile.values))])
    return Members([*members, extra])


@st.composite
def changed_list(draw: Draw, items: list[Any]) -> list[Any]:
    """A list in which an item is added or removed, or a list that is much longer."""
    match draw(st.sampled_from(("add", "drop", "repeat", "many"))):
        case "drop":
            return items[1:]
        case "repeat":
            return items * 2
        case "many":
            return (items * 1000)[:LIST_LENGTH_MAX]
    return [*items, draw(hostile.values)]
