"""The certificates of public authorities are read once in a test run.

Every HTTP client reads them, even one that never uses TLS. That takes more processor time than most
tests do otherwise.
"""

import functools
import ssl
from typing import Any

import certifi


def read_once() -> None:
    """From now on, clients of this process that trust the public authorities share a context."""
    create = ssl.create_default_context
    public: dict[str, Any] = {"cafile": certifi.where()}
    create_public = functools.cache(functools.partial(create, **public))

    def create_default_context(*arguments: Any, **options: Any) -> ssl.SSLContext:
        if not arguments and options == public:
            return create_public()
        return create(*arguments, **options)

    ssl.create_default_context = create_default_context
