"""The certificates of public authorities are read once in a test run.

Every HTTP client reads them, even one that never uses TLS. That takes more processor time than most
tests do otherwise.
"""

import functools
import os
import ssl
from typing import Any

import certifi

# Names another file of public authorities, which clients read instead of certifi's.
VARIABLE = "SSL_CERT_FILE"


def read_once() -> None:
    """From now on, clients of this process that trust the public authorities share a context."""
    create = ssl.create_default_context
    share = functools.cache(create)
    public = [{"cafile": path} for path in (certifi.where(), os.environ.get(VARIABLE)) if path]

    def create_default_context(*arguments: Any, **options: Any) -> ssl.SSLContext:
        if not arguments and options in public:
            return share(**options)
        return create(*arguments, **options)

    ssl.create_default_context = create_default_context
