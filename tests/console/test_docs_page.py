"""/docs: the API, for whoever has no token yet."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
from playwright.sync_api import Page, expect

from roost import assembly
from roost.api.http.page_files import SECURITY_HEADERS
from roost.settings import Settings
from tests.console.conftest import OpenPage
from tests.console.static_files import DOCS, STATIC
from tests.support.console.server import ConsoleServer
from tests.support.console.watch import Watch
from tests.support.database_servers import free_port
from tests.support.roost_server import RoostServer

OPERATION = "docs?operation=GET /allocation_candidates"


# ---------------------------------------------------------------------------------------------
# What is served


def client_of(folder: Path, **settings: object) -> httpx.Client:
    application = assembly.build_application(
        settings=Settings(auth_strategy="noauth2", **settings),  # type: ignore[arg-type]
        database_url=f"sqlite:///{folder / 'roost.db'}",
        sync=True,
    )
    return httpx.Client(transport=httpx.WSGITransport(app=application), base_url="http://roost")


def test_the_page_needs_no_token_and_no_version(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        for headers in ({}, {"openstack-api-version": "placement 7.7", "accept": "image/png"}):
            answer = client.get("/docs?operation=x", headers=headers)
            assert answer.status_code == 200
            assert answer.content == DOCS.read_bytes()
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.headers.items() >= SECURITY_HEADERS.items()
        answer = client.get("/docs/static/docs.js")
        assert answer.content == (STATIC / "docs.js").read_bytes()
        assert answer.headers.items() >= SECURITY_HEADERS.items()


def test_a_slash_at_the_end_leads_to_the_page(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        answer = client.get("/docs/")
        assert (answer.status_code, answer.headers["location"]) == (307, "../docs")
        assert client.get("/docs/", follow_redirects=True).content == DOCS.read_bytes()


@pytest.mark.parametrize("path", ["/docs/x", "/docs/static/", "/docs/static/../docs.html"])
def test_nothing_else_is_there(tmp_path: Path, path: str) -> None:
    with client_of(tmp_path) as client:
        assert client.get(path).status_code == 404
        assert client.post("/docs").status_code == 405


def test_it_is_there_unless_pages_are_turned_off(tmp_path: Path) -> None:
    for console, status in ((None, 200), (True, 200), (False, 404)):
        with client_of(tmp_path, console=console) as client:
            assert client.get("/openapi.json").status_code == 200
            headers = {"x-auth-token": "admin"}
            assert client.get("/docs", headers=headers).status_code == status


@pytest.mark.process
def test_a_server_that_starts_names_its_address(tmp_path: Path) -> None:
    with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
        assert f"  API             {server.url}/docs\n" in server.output
        assert httpx.get(f"{server.url}/docs").status_code == 200


# ---------------------------------------------------------------------------------------------
# What is shown


def test_it_shows_all_operations(
    open_page: OpenPage,
    empty: ConsoleServer,
    axe: Callable[[Page], list[str]],
    take_pictures: Callable[[Page, str], list[Path]],
) -> None:
    page = open_page(f"{empty.url}/docs")
    expect(page).to_have_title("API · roost")
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^(\d+) of \1 operations$"))
    for name in ("providers", "resource classes", "candidates", "operating"):
        expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    # Also those of extensions, which have a mark behind them.
    summaries = page.locator(".operations li > .quiet").all()
    boxes = [box for each in summaries if (box := each.bounding_box()) is not None]
    assert len(boxes) > 50
    assert len({box["x"] for box in boxes}) == 1
    assert axe(page) == []
    take_pictures(page, "docs")


def test_it_shows_an_operation(
    open_page: OpenPage,
    empty: ConsoleServer,
    axe: Callable[[Page], list[str]],
    take_pictures: Callable[[Page, str], list[Path]],
) -> None:
    page = open_page(f"{empty.url}/docs")
    page.get_by_role("link", name="GET /allocation_candidates", exact=True).click()
    expect(page).to_have_url(re.compile("operation=GET"))
    details = page.get_by_role("complementary", name="details")
    expect(details).to_contain_text("Find where a request fits.")
    # Its parameters, a request, the fields of its answer, and an answer.
    rows = details.get_by_role("row")
    expect(rows.filter(has=page.get_by_text("same_subtree", exact=True))).to_contain_text("1.36")
    expect(rows.filter(has=page.get_by_text("groups", exact=True))).to_contain_text("resources_GPU")
    expect(details).to_contain_text(
        f"{empty.url}/allocation_candidates?resources=VCPU:8,MEMORY_MB:65536"
        "&resources_GPU=PGPU:1&required_GPU=CUSTOM_A100"
    )
    expect(rows.filter(has=page.get_by_text("provider_summaries", exact=True))).to_be_visible()
    expect(details.locator("pre").first).to_contain_text('"allocation_requests": [')
    assert axe(page) == []
    take_pictures(page, "docs-operation")
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)


def test_every_operation_opens(open_page: OpenPage, empty: ConsoleServer) -> None:
    page = open_page(f"{empty.url}/docs")
    links = page.locator(".operations a")
    expect(links.first).to_be_visible()
    for number in range(links.count()):
        links.nth(number).click()
        expect(links.nth(number)).to_have_attribute("aria-current", "true")
        expect(page.locator(".operation .command").first).to_contain_text("curl ")
        # What a success is, is there to be seen.
        expect(page.locator(".answer[open]").first).to_contain_text(re.compile("Done|Created"))


def test_the_keyboard_is_enough(open_page: OpenPage, empty: ConsoleServer) -> None:
    page = open_page(f"{empty.url}/docs")
    expect(page.locator(".operations a").first).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("filter")).to_be_focused()
    page.keyboard.type("holds delete")
    expect(page.get_by_role("status")).to_have_text(re.compile("^1 of "))
    # Past the version and the link to the document.
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="details")).to_contain_text("End a hold")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_another_version_is_shown(open_page: OpenPage, empty: ConsoleServer) -> None:
    page = open_page(f"{empty.url}/docs")
    page.get_by_label("version").select_option("1.12")
    expect(page).to_have_url(re.compile("version=1.12"))
    expect(page.get_by_role("link", name="POST /placements")).to_have_count(0)
    page.get_by_role("link", name="PUT /allocations/{consumer_uuid}").click()
    details = page.get_by_role("complementary", name="details")
    expect(details).to_contain_text("placement 1.12")
    expect(details).not_to_contain_text("consumer_generation")


def test_a_version_that_does_not_exist_is_refused(
    open_page: OpenPage, empty: ConsoleServer, watch: Watch
) -> None:
    watch.allow("status of 400")
    page = open_page(f"{empty.url}/docs?version=9.9")
    expect(page.get_by_role("alert")).to_contain_text("expected 1.0 to 1.39")


def test_it_fits_a_phone(
    open_page: OpenPage, empty: ConsoleServer, axe: Callable[[Page], list[str]]
) -> None:
    page = open_page(f"{empty.url}/{OPERATION}", viewport={"width": 390, "height": 844})
    expect(page.get_by_role("complementary", name="details")).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    assert axe(page) == []


@contextmanager
def behind_prefix(folder: Path) -> Iterator[str]:
    """A service below a path, as a proxy puts it there."""
    application = assembly.build_application(
        settings=Settings(auth_strategy="noauth2", url_prefix="/placement"),
        database_url=f"sqlite:///{folder / 'roost.db'}",
        sync=True,
    )

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with make_server("127.0.0.1", free_port(), application, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/placement"
        server.shutdown()
        thread.join()


def test_it_works_below_a_prefix(open_page: OpenPage, tmp_path: Path) -> None:
    with behind_prefix(tmp_path) as url:
        page = open_page(f"{url}/{OPERATION}")
        details = page.get_by_role("complementary", name="details")
        expect(details).to_contain_text(f"{url}/allocation_candidates?resources=")
        page.get_by_role("link", name="GET /usages").click()
        expect(details).to_contain_text(f"{url}/usages?project_id=demo")
        assert page.url.startswith(f"{url}/docs?operation=GET")
