"""Who may see the console: with Keystone, with a policy, below a prefix."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenPage, Serve
from tests.keystone.stand_in import Keystone, authtoken, token
from tests.support.console.server import ConsoleServer
from tests.support.console.watch import Watch
from tests.support.headers import HEADERS

PASSWORD = "correct horse"
PAGES = ("cloud", "tree", "ask", "consumers", "events", "service")


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    tokens = {
        HEADERS["x-auth-token"]: token("loader", project="admins", roles=("admin",)),
        "alice": token("alice", project="admins", roles=("admin",)),
        "bob": token("bob", project="visitors", roles=("reader",)),
    }
    with Keystone(tokens, passwords={"alice": PASSWORD, "bob": PASSWORD}) as running:
        yield running


@pytest.fixture
def guarded(
    keystone: Keystone, serve: Serve, shapes: ConsoleServer, tmp_path: Path
) -> ConsoleServer:
    """A service that asks Keystone, with a tree."""
    configuration = tmp_path / "placement.conf"
    configuration.write_text(authtoken(f"{keystone.url}/v3"))
    return serve(like=shapes, auth="keystone", config_file=configuration)


def log_in(page: Page, user: str, password: str = PASSWORD) -> None:
    form = page.get_by_role("form", name="name and password")
    form.get_by_label("user", exact=True).fill(user)
    form.get_by_label("password").fill(password)
    form.get_by_label("project", exact=True).fill("admins")
    form.get_by_role("button", name="log in").click()


def test_a_password_opens_the_console(
    open_page: OpenPage, guarded: ConsoleServer, watch: Watch, axe
) -> None:
    watch.allow("status of 401")
    page = open_page(f"{guarded.console}cloud?class=VCPU")
    expect(page.get_by_role("form", name="name and password")).to_be_visible()
    assert axe(page) == []
    log_in(page, "alice", "wrong")
    expect(page.get_by_role("alert")).to_contain_text("Keystone refuses")
    log_in(page, "alice")
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    # The token is in the memory of the page only: a reload asks again, for the same address.
    assert "alice" not in json.dumps(
        page.evaluate("[{...localStorage}, {...sessionStorage}, document.cookie]")
    )
    page.reload()
    expect(page.get_by_role("form", name="name and password")).to_be_visible()
    expect(page).to_have_url(re.compile("class=VCPU"))


def test_every_page_with_keystone(open_page: OpenPage, guarded: ConsoleServer) -> None:
    page = open_page(f"{guarded.console}service")
    log_in(page, "alice")
    # The token is gone with a reload, so the pages are reached by their links.
    for name in ("Service", "Cloud", "Ask", "Consumers", "Events"):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page).to_have_title(f"{name} · roost")
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        expect(page.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("numa-host-1")
    expect(page.get_by_role("option").first).to_contain_text("numa-host-1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("treeitem").first).to_be_visible()


def test_a_token_can_be_pasted_and_ends(
    open_page: OpenPage, guarded: ConsoleServer, keystone: Keystone, watch: Watch
) -> None:
    watch.allow("status of 401")
    page = open_page(guarded.console)
    page.get_by_role("form", name="a token").get_by_label("token").fill("nobody")
    page.get_by_role("button", name="use this token").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_role("form", name="a token").get_by_label("token").fill("alice")
    page.get_by_role("button", name="use this token").click()
    expect(page.locator("#heatmap")).to_have_attribute("aria-label", re.compile("^10 trees"))


def test_a_user_without_a_role_sees_which_rule_forbids_it(
    open_page: OpenPage, guarded: ConsoleServer, watch: Watch
) -> None:
    watch.allow("status of 403")
    page = open_page(f"{guarded.console}cloud")
    log_in(page, "bob")
    expect(page.get_by_role("alert")).to_contain_text("placement:resource_providers:list")
    expect(page.get_by_text("not live")).to_have_attribute(
        "title", re.compile("placement:events:list")
    )
    for name, rule in (
        ("Consumers", "placement:allocations:list"),
        ("Ask", None),
        ("Events", "placement:events:list"),
    ):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page).to_have_title(f"{name} · roost")
        if rule:
            expect(page.get_by_role("main")).to_contain_text(rule)


def test_without_a_login_there_is_only_the_token(
    open_page: OpenPage, keystone: Keystone, serve: Serve, tmp_path: Path
) -> None:
    configuration = tmp_path / "placement.conf"
    configuration.write_text(authtoken(f"{keystone.url}/v3") + "\n[roost]\nconsole_login = false\n")
    server = serve(auth="keystone", config_file=configuration)
    page = open_page(server.console)
    expect(page.get_by_role("form", name="a token")).to_be_visible()
    expect(page.get_by_role("form", name="name and password")).to_have_count(0)


def test_below_a_prefix_every_page_works(open_page: OpenPage, serve: Serve) -> None:
    server = serve(arguments=["--prefix", "/placement"])
    page = open_page(f"{server.url}/placement/console")
    expect(page).to_have_url(f"{server.url}/placement/console/")
    expect(page.get_by_role("heading", name="No providers yet")).to_be_visible()
    for name in PAGES:
        page.goto(f"{server.url}/placement/console/{name}")
        expect(page).to_have_title(re.compile(" · roost"))
        expect(page.get_by_text("live", exact=True)).to_be_visible()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_takes_few_bytes(open_page: OpenPage, shapes: ConsoleServer, name: str) -> None:
    page = open_page(f"{shapes.console}{name}")
    expect(page).to_have_title(re.compile(" · roost"))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    sent = page.evaluate(
        "performance.getEntriesByType('resource').filter((each) => each.name.includes('/static/'))"
        ".reduce((sum, each) => sum + each.encodedBodySize, 0)"
    )
    assert 10_000 < sent < 150_000


def test_keys_can_be_closed_with_their_button(open_page: OpenPage, empty: ConsoleServer) -> None:
    page = open_page(empty.console)
    page.get_by_role("button", name="list of keys").click()
    page.get_by_role("dialog", name="keys").get_by_role("button", name="close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile("/console/$"))
