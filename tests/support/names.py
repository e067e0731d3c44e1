"""Names for things that the service knows by UUID."""

import uuid


def uid(name: str) -> str:
    """A UUID that stays the same for a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
