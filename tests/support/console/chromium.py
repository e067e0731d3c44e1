"""Debian's Chromium, driven by Playwright."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

from tests.support.database_servers import missing

ARGUMENTS = (
    # The sandbox does not work for root, as whom CI runs; the pages are roost's own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    # Nothing but the servers of the tests exists: no name is looked up.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


# The one without windows starts a page three times as fast.
PROGRAMS = ("chromium-headless-shell", "chromium")


def find() -> str | None:
    """The program; a test is skipped without it, and fails in CI."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing("chromium", PROGRAMS[0])
    return program


@contextlib.contextmanager
def launch() -> Iterator[Browser]:
    """A browser for the duration of the context.

    Meanwhile this thread counts as one that runs an event loop, so asyncio.run() fails.
    """
    program = find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()
