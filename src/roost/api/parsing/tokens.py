"""Bytes as texts that a client hands back, and need not understand: they fit into a URL."""

import base64


def write_token(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_token(text: str) -> bytes:
    """What was written; a ValueError for a text that is none of these."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
