"""Examples of requests and their answers, in the order in which a service would give these answers.

`scripts/api-examples` sends the requests in `examples.json` to a service, and stores its answers
there.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import msgspec

from roost.model import Value

FILE = "examples.json"

# In examples, suffixes begin so.
_SUFFIXED = re.compile("[a-z_]+_[A-Z]")


class Example(Value, frozen=True, kw_only=True, omit_defaults=True):
    """One request, in the newest version, and the answer that a service gave."""

    key: str  # its name in the document
    summary: str
    operation: str  # method and path, as in the table of routes
    path: Mapping[str, str] = {}
    query: Mapping[str, Any] = {}  # a parameter that is repeated has a list
    body: Any = None  # None: no body
    abridged: bool = False  # lists and objects in the answer are not shown to their ends
    status: int = 0
    answer: Any = None  # None: no body

    @property
    def target(self) -> str:
        """The path, with its parameters filled in."""
        _, _, path = self.operation.partition(" ")
        return re.sub(r"\{(\w+)\}", lambda match: self.path[match[1]], path)


@functools.cache
def examples() -> tuple[Example, ...]:
    text = (resources.files(__package__) / FILE).read_bytes()
    return msgspec.json.decode(text, type=tuple[Example, ...])


def of_operation(method: str, path: str) -> list[Example]:
    return [example for example in examples() if example.operation == f"{method} {path}"]


def shown_answers(shown: Iterable[Example]) -> dict[str, Any]:
    return _shown((example, example.answer) for example in shown)


def shown_bodies(shown: Iterable[Example]) -> dict[str, Any]:
    return _shown((example, example.body) for example in shown if example.body is not None)


def shown_values(shown: Iterable[Example], parameter: Mapping[str, Any]) -> dict[str, Any]:
    """The values of one parameter of the document."""
    values = ((example, _value(example, parameter)) for example in shown)
    return _shown((example, value) for example, value in values if value)


def _value(example: Example, parameter: Mapping[str, Any]) -> Any:
    if parameter["in"] == "path":
        return example.path[parameter["name"]]
    if not parameter.get("explode"):
        return example.query.get(parameter["name"])
    # One parameter stands for all that have a suffix.
    return {name: value for name, value in example.query.items() if _SUFFIXED.match(name)}


def _shown(values: Iterable[tuple[Example, Any]]) -> dict[str, Any]:
    found = {example.key: {"summary": example.summary, "value": value} for example, value in values}
    return {"examples": found} if found else {}
