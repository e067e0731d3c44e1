"""UUIDs as clients spell them, and as they are stored."""

import re
import uuid

_CHARACTERS = re.compile(r"[0-9a-fA-F-]+")


def is_uuid(value: object) -> bool:
    """Whether a text is a UUID, with or without dashes."""
    # The constructor also takes braces and URNs, which the API does not.
    if not isinstance(value, str) or not _CHARACTERS.fullmatch(value):
        return False
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def canonical_uuid(value: str) -> str:
    """A UUID in the spelling in which it is stored; any other text as it is."""
    return str(uuid.UUID(value)) if is_uuid(value) else value
