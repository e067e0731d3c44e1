"""How many connections a worker accepts."""

import resource
from contextlib import suppress

# How many connections a process accepts. Most only wait: for events, or for the next request.
# The server takes no more until one ends.
CONNECTIONS_MAX = 16384
# The open files that are left for everything else: the database, the log, the metrics.
OTHER_FILES_MAX = 256


def allow_open_files() -> None:
    """Let this process have as many open files, and so connections, as the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_max() -> int:
    """How many connections this process accepts, with as many open files as it may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    return min(CONNECTIONS_MAX, max(soft - OTHER_FILES_MAX, soft // 2))
