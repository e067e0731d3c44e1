"""A browser, servers with clouds, and pages that fail a test if anything goes wrong in them.

A test that asks for a page is a test of a real `roost serve` in a real browser:

    def test_it_greets(open_page, empty):
        page = open_page(empty.console)
        expect(page.get_by_role("heading", name="Cloud")).to_be_visible()
"""

import contextlib
import re
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.support.console import accessibility, chromium, clouds, pictures
from tests.support.console.server import ConsoleServer
from tests.support.console.watch import Watch
from tests.support.roost_server import command

# The machine may be busy with other tests.
SECONDS_MAX = 20

expect.set_options(timeout=SECONDS_MAX * 1000)


# ---------------------------------------------------------------------------------------------
# The browser


# Not for the whole session: while it runs, other tests cannot use asyncio.run().
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium.launch() as running:
        yield running


@pytest.fixture
def watch() -> Watch:
    """What goes wrong in the pages of this test; `watch.allow(pattern)` expects some of it."""
    return Watch()


class OpenPage(Protocol):
    def __call__(self, url: str | None = None, **options: Any) -> Page: ...


@pytest.fixture
def open_page(browser: Browser, watch: Watch) -> Iterator[OpenPage]:
    """Open pages, each in a context of its own; options are those of Playwright's new_context."""
    with contextlib.ExitStack() as stack:

        def open_one(url: str | None = None, **options: Any) -> Page:
            options = {"viewport": pictures.WIDE, "reduced_motion": "reduce", **options}
            context = stack.enter_context(browser.new_context(**options))
            context.set_default_timeout(SECONDS_MAX * 1000)
            page = context.new_page()
            watch.add(page)
            if url is not None:
                page.goto(url)
            return page

        yield open_one


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """An empty page."""
    return open_page()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that passed fails if something went wrong in its pages."""
    watch = getattr(item, "funcargs", {}).get("watch")
    try:
        result = yield
    except Exception:
        if watch is not None:
            item.add_report_section("call", "browser", "\n".join(look_at_failure(item, watch)))
        raise
    if watch is not None:
        watch.check()
    return result


def look_at_failure(item: pytest.Item, watch: Watch) -> Iterator[str]:
    """What a person would look at first: where the pages were, how they looked, what they said."""
    name = re.sub(r"\W+", "-", item.name)[:80]
    for number, page in enumerate(watch.pages):
        if not page.is_closed():
            path = pictures.folder() / f"failed-{name}-{number}.png"
            with contextlib.suppress(Error):
                page.screenshot(path=path, timeout=5_000)
                yield f"{page.url}: {path}"
    yield from watch.problems


@pytest.fixture
def axe() -> Callable[[Page], list[str]]:
    """What axe-core finds in a page that is serious or critical: `assert axe(page) == []`."""
    return accessibility.serious_violations


@pytest.fixture
def take_pictures() -> Callable[[Page, str], list[Path]]:
    """Screenshots of a page, light, dark and narrow: `take_pictures(page, "cloud")`."""
    return pictures.take


# ---------------------------------------------------------------------------------------------
# Servers


class Serve(Protocol):
    def __call__(self, *, like: ConsoleServer | None = None, **options: Any) -> ConsoleServer: ...


@pytest.fixture(scope="package")
def console_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return lambda name: tmp_path_factory.mktemp(name)


@pytest.fixture(scope="package")
def empty(console_folder: Callable[[str], Path]) -> Iterator[ConsoleServer]:
    """A service with nothing in it. Tests only read; one that writes takes `serve`."""
    with ConsoleServer(console_folder("empty")) as server:
        yield server


@pytest.fixture(scope="package")
def shapes(console_folder: Callable[[str], Path]) -> Iterator[ConsoleServer]:
    """A service with all the shapes of a cloud. Tests only read."""
    with ConsoleServer(console_folder("shapes")) as server:
        with server.client() as client:
            clouds.load_shapes(client)
        yield server


@pytest.fixture(scope="package")
def demo(console_folder: Callable[[str], Path]) -> Iterator[ConsoleServer]:
    """A service with the data centre of `roost demo`. Tests only read."""
    with ConsoleServer(console_folder("demo")) as server:
        demonstrate = command("demo", "--url", server.url, "--token", "admin")
        subprocess.run(demonstrate, capture_output=True, check=True)
        yield server


@pytest.fixture(scope="package")
def hostile(console_folder: Callable[[str], Path]) -> Iterator[ConsoleServer]:
    """A service whose providers, projects and users have hostile names. Tests only read."""
    with ConsoleServer(console_folder("hostile")) as server:
        with server.client() as client:
            clouds.load_hostile_names(client)
        yield server


@pytest.fixture(scope="package")
def large(console_folder: Callable[[str], Path]) -> Iterator[ConsoleServer]:
    """A service with 10,000 hosts of seven providers each. Tests only read."""
    folder = console_folder("large")
    clouds.write_large(folder)
    with ConsoleServer(folder) as server:
        yield server


@pytest.fixture
def serve(console_folder: Callable[[str], Path]) -> Iterator[Serve]:
    """Start a service for this test alone; options are those of ConsoleServer.

    It is empty, or has a copy of what another service has: `serve(like=shapes)`.
    """
    with contextlib.ExitStack() as stack:

        def start(*, like: ConsoleServer | None = None, **options: Any) -> ConsoleServer:
            server = ConsoleServer(console_folder("own"), **options)
            if like is not None:
                like.copy_database(server.database)
            return stack.enter_context(server)

        yield start


@pytest.fixture
def cloud(serve: Serve, shapes: ConsoleServer) -> Iterator[tuple[ConsoleServer, httpx.Client]]:
    """A service for this test alone, with all the shapes, and another client of it."""
    server = serve(like=shapes)
    with server.client() as client:
        yield server, client
