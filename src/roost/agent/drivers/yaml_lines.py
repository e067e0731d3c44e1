"""YAML that remembers on which line everything stands."""

from collections.abc import Iterator
from typing import Any

import yaml  # type: ignore[import-untyped]

# The way to a value: keys of mappings and places in lists.
Way = tuple[str | int, ...]

# Aliases can make a small file describe more than a machine holds.
NODES_MAX = 200_000

# What a key may be: a word, or `<<`, which takes in another mapping.
_WORDS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")


class BadYaml(Exception):
    """A text that is no YAML, or not the kind that we read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def load(text: str) -> tuple[Any, dict[Way, int]]:
    """The data, and the line of each value; for what is in a mapping, that of its key."""
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            lines = dict(_walk(node)) if node is not None else {}
            return (loader.construct_document(node) if node is not None else None), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadYaml(mark.line + 1 if mark else 1, str(error.problem or error.context)) from error
    except yaml.YAMLError as error:
        raise BadYaml(1, str(error)) from error
    except ValueError as error:
        # A date such as 2024-99-99, which YAML takes for a value of its own kind.
        raise BadYaml(1, str(error)) from error


def line_of(lines: dict[Way, int], way: Way) -> int:
    """The line of a value, or that of what it is in."""
    while way and way not in lines:
        way = way[:-1]
    return lines.get(way, 1)


def written(way: Way) -> str:
    """A way as people write it: providers[0].inventories.DISK_GB."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)
    return text.lstrip(".") or "the file"


def _walk(top: yaml.Node) -> Iterator[tuple[Way, int]]:
    ahead: list[tuple[Way, yaml.Node, int, frozenset[int]]] = [((), top, 1, frozenset())]
    seen = 0
    while ahead:
        way, node, line, above = ahead.pop()
        seen += 1
        if id(node) in above or seen > NODES_MAX:
            raise BadYaml(line, f"{written(way)} contains itself, or far too much")
        yield way, line
        inside = above | {id(node)}
        if isinstance(node, yaml.SequenceNode):
            for place, item in enumerate(node.value):
                ahead.append(((*way, place), item, item.start_mark.line + 1, inside))
        if isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.tag not in _WORDS:
                    raise BadYaml(line, f"{written(way)} has a key that is no word")
                if key.value in keys:
                    raise BadYaml(line, f"{written((*way, key.value))} is there twice")
                keys.add(key.value)
                ahead.append(((*way, key.value), value, line, inside))
