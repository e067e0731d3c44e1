"""How clients spell UUIDs, and which spellings mean the same one.

Placement stores the UUID of a provider in one spelling, the canonical one: lower case, with dashes.
Aggregates, and some consumers, it stores as a client spelled them. What is stored keeps its
spelling, for clients read it back, but aggregates are compared by the canonical one.
"""

import re
from collections.abc import Iterable

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGITS = re.compile(r"[0-9a-fA-F]{32}")
_CONSUMER_KEY = re.compile(r"[0-9a-fA-F-]{36}")


def is_uuid(value: object) -> bool:
    """Whether a text spells a UUID: in any case, with dashes or without, in braces, as a URN."""
    if not isinstance(value, str):
        return False
    # Most are in the canonical spelling.
    return bool(_CANONICAL.fullmatch(value) or _DIGITS.fullmatch(_bare(value)))


def canonical_uuid(text: str) -> str:
    """A UUID in its canonical spelling; any other text as it is."""
    if _CANONICAL.fullmatch(text):
        return text
    digits = _bare(text).lower()
    if not _DIGITS.fullmatch(digits):
        return text
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def canonical_uuids(texts: Iterable[str]) -> frozenset[str]:
    """These UUIDs in canonical spelling, each once."""
    return frozenset(map(canonical_uuid, texts))


def _bare(text: str) -> str:
    return text.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")


def is_consumer_key(text: str) -> bool:
    """Whether a consumer may be stored under this text: Placement checks no more than this."""
    return _CONSUMER_KEY.fullmatch(text) is not None


SPELLINGS_MAX = 3


def consumer_spellings(text: str) -> tuple[str, ...]:
    """The spellings under which a consumer that a client names like this may be stored.

    At most `SPELLINGS_MAX`, the likeliest one first. Programs write UUIDs in lower case or in upper
    case; a consumer that is stored in any other way is found by exactly that spelling only.
    """
    canonical = canonical_uuid(text)
    return tuple(dict.fromkeys((text, canonical, canonical.upper())))
