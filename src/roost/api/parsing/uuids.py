"""UUIDs as clients spell them, and as they are stored."""

import re
import uuid
from collections import Counter
from collections.abc import Iterable

from roost.api.http_error import HttpError

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


def canonical_provider_uuids(spellings: Iterable[str]) -> dict[str, str]:
    """The canonical UUID of each spelling; two spellings of one UUID are refused.

    JSON takes them for two keys, so without this check the entry of one would replace the other.
    """
    canonical = {spelling: canonical_uuid(spelling) for spelling in spellings}
    if len(set(canonical.values())) < len(canonical):
        (twice, _), *_ = Counter(canonical.values()).most_common(1)
        raise HttpError(400, f"The resource provider {twice} is given twice")
    return canonical
