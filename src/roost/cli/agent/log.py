"""What the agent logs, on stderr."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from roost.cli.output import printable
from roost.cli.progress_view import CommandProgress

LOGGER = "roost.agent"


class _LineHandler(logging.Handler):
    """Lines between which a bar may be drawn."""

    def __init__(self, progress: CommandProgress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        first, *traceback = self.format(record).splitlines()
        with self._progress.printing():
            click.echo("\n".join([f"roost: {printable(first)}", *traceback]), err=True)


@contextmanager
def log_lines(progress: CommandProgress, *, is_quiet: bool, debug: bool) -> Iterator[None]:
    """Shows what the agent logs while the block runs; if it is quiet, only warnings.

    With `debug` it shows the tracebacks of failures, too.
    """
    level = logging.DEBUG if debug else logging.WARNING if is_quiet else logging.INFO
    logger, handler = logging.getLogger(LOGGER), _LineHandler(progress)
    before = (logger.level, logger.propagate)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def log_to_stderr(*, debug: bool) -> None:
    """For a process that runs on: lines with times."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if debug:
        logging.getLogger(LOGGER).setLevel(logging.DEBUG)
