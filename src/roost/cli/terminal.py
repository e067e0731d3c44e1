"""Where commands print."""

import sys

from rich.console import Console

# Nobody reads it at once: a line is as long as it is.
WIDTH_ELSEWHERE = 10_000


def wrapping_console() -> Console:
    """Lines are broken where a terminal ends; in a file or a pipe they stay whole."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_ELSEWHERE)
