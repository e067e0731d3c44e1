"""JSON beyond what Python values express: repeated keys, and tokens that are not JSON."""

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Token:
    """Text that is written into the JSON document unquoted."""

    text: str


class Members(list[tuple[str, Any]]):
    """An object as a list of members, in which a key may occur twice."""


def write(value: Any, *, ascii_only: bool = True) -> str:
    if isinstance(value, Token):
        return value.text
    if isinstance(value, dict):
        value = Members(value.items())
    if isinstance(value, Members):
        members = (
            f"{write(str(key), ascii_only=ascii_only)}: {write(item, ascii_only=ascii_only)}"
            for key, item in value
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write(item, ascii_only=ascii_only) for item in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)
