"""Reads docs/reference/beyond.md: sections of requests, each with the answer that it must have.

    ```http
    POST /allocation_candidates
    {"groups": {"": {"resources": {"VCPU": 1}}}}
    ```
    ```json
    {"allocation_requests": ["..."], "...": "..."}
    ```

A request is a method and a path, which lines that begin with `?` or `&` continue, and perhaps a
body. `{name}` stands for the UUID of that name, in requests and in answers, and `<next>` for the
value of the key `next` in the previous answer, or of any other key. After a request comes the
answer that it must have; without one, it must succeed. The first line of an answer may be a
status other than 200, as `HTTP 400`. In an answer `"..."` is anything: as a value, as the rest of
a list, as a key the rest of an object, and at the end of a text the rest of it. The order of a
list counts. A `text` block is a drawing, and the `cloud` block is the cloud of all examples, in the
notation of the scenarios.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.names import uid
from tests.support.pages import blocks

ANYTHING = "..."
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "beyond.md"

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_NAME = re.compile(r"\{(\w[\w-]*)\}")


class Step(NamedTuple):
    """One request, and the answer that it must have."""

    method: str
    target: str
    body: Any  # None: no body
    status: int | None  # None: any success
    answer: Any  # ANYTHING: not compared


class Section(NamedTuple):
    title: str
    steps: tuple[Step, ...]


def cloud(text: str) -> list[str]:
    """The lines of the one `cloud` block."""
    (found,) = (block for block in blocks(text) if block.kind == "cloud")
    return [line for line in found.text.splitlines() if line.strip()]


def sections(text: str) -> list[Section]:
    _, *parts = _SECTION.split(text)
    found = [
        Section(title, tuple(steps(part)))
        for title, part in zip(parts[::2], parts[1::2], strict=True)
    ]
    return [section for section in found if section.steps]


def steps(text: str) -> Iterator[Step]:
    request: Step | None = None
    for block in blocks(text):
        if block.kind == "http":
            if request is not None:
                yield request
            request = _request(block.text)
        elif block.kind == "json":
            assert request is not None, f"an answer without a request: {block.text}"
            yield _answered(request, block.text)
            request = None
        else:
            assert block.kind in ("cloud", "text", "console"), f"what is a {block.kind} block?"
    if request is not None:
        yield request


def _request(block: str) -> Step:
    first, *lines = _with_uuids(block).strip().splitlines()
    while lines and lines[0].lstrip()[:1] in ("?", "&"):
        first += lines.pop(0).strip()
    method, target = first.split()
    body = "\n".join(lines).strip()
    return Step(method, target, json.loads(body) if body else None, None, ANYTHING)


def _answered(request: Step, block: str) -> Step:
    text, status = _with_uuids(block).strip(), 200
    if text.startswith("HTTP "):
        line, _, text = text.partition("\n")
        status = int(line.removeprefix("HTTP "))
    return request._replace(status=status, answer=json.loads(text) if text else ANYTHING)


def _with_uuids(text: str) -> str:
    return _NAME.sub(lambda match: uid(match[1]), text)


# ---------------------------------------------------------------------------------------------
# Comparing an answer with the page


def matches(expected: Any, found: Any) -> bool:
    if expected == ANYTHING:
        return True
    if isinstance(expected, dict) and isinstance(found, dict):
        named = {key: value for key, value in expected.items() if key != ANYTHING}
        return (
            named.keys() <= found.keys()
            and (ANYTHING in expected or len(named) == len(found))
            and all(matches(value, found[key]) for key, value in named.items())
        )
    if isinstance(expected, list) and isinstance(found, list):
        if expected[-1:] == [ANYTHING]:
            expected, found = expected[:-1], found[: len(expected) - 1]
        return len(expected) == len(found) and all(map(matches, expected, found))
    if isinstance(expected, str) and isinstance(found, str) and expected.endswith(ANYTHING):
        return found.startswith(expected.removesuffix(ANYTHING))
    return bool(expected == found)
