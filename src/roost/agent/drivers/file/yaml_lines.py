"""Loading YAML together with the line number of every value, for error messages."""

from collections.abc import Iterator
from typing import Any

import yaml  # type: ignore[import-untyped]

# The path to a value: keys of mappings and positions in lists.
KeyPath = tuple[str | int, ...]

# Aliases can make a small file expand to more than fits into memory.
NODES_MAX = 200_000

# What a key may be: a string, or `<<`, which merges another mapping.
_KEY_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")


class BadYaml(Exception):
    """The text is not YAML, or uses a feature that is not accepted here."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def load(text: str) -> tuple[Any, dict[KeyPath, int]]:
    """The data, and the line of each value; in a mapping, the line of its key."""
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
        # A date such as 2024-99-99: YAML recognizes it as a date, which Python then rejects.
        raise BadYaml(1, str(error)) from error


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of a value, or of the nearest value that contains it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def dotted(path: KeyPath) -> str:
    """A path as people write it: providers[0].inventories.DISK_GB."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".") or "the file"


def _walk(top: yaml.Node) -> Iterator[tuple[KeyPath, int]]:
    pending: list[tuple[KeyPath, yaml.Node, int, frozenset[int]]] = [((), top, 1, frozenset())]
    seen = 0
    while pending:
        path, node, line, ancestors = pending.pop()
        seen += 1
        if id(node) in ancestors or seen > NODES_MAX:
            raise BadYaml(line, f"{dotted(path)} contains itself, or is too large")
        yield path, line
        inside = ancestors | {id(node)}
        if isinstance(node, yaml.SequenceNode):
            for position, item in enumerate(node.value):
                pending.append(((*path, position), item, item.start_mark.line + 1, inside))
        if isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.tag not in _KEY_TAGS:
                    raise BadYaml(line, f"{dotted(path)} has a key that is not a string")
                if key.value in keys:
                    raise BadYaml(line, f"{dotted((*path, key.value))} appears twice")
                keys.add(key.value)
                pending.append(((*path, key.value), value, line, inside))
