"""UUIDs of what tests refer to by name."""

import uuid


def uid(name: str) -> str:
    """The UUID that belongs to a name, always the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
