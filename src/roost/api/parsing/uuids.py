"""UUIDs of providers as clients spell them, and as they are stored."""

from collections import Counter
from collections.abc import Callable, Iterable

from roost.api.http_error import HttpError

# The stored spelling of a provider's UUID; one that the database does not find, as it is.
AsStored = Callable[[str], str]


def provider_uuids(spellings: Iterable[str], as_stored: AsStored) -> dict[str, str]:
    """The stored UUID of each spelling; two spellings of one provider are refused.

    JSON takes them for two keys, so without this check the entry of one would replace the other.
    """
    stored = {spelling: as_stored(spelling) for spelling in spellings}
    if len(set(stored.values())) < len(stored):
        (twice, _), *_ = Counter(stored.values()).most_common(1)
        raise HttpError(400, f"The resource provider {twice} is given twice")
    return stored
