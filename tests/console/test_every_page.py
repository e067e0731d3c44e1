"""Every page opens, is live and shows no error, whatever is in the cloud."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenPage
from tests.support.console.server import ConsoleServer

PAGES = ("cloud", "tree", "ask", "consumers", "events", "service")


def assert_shown(page: Page) -> None:
    """The page is there, follows events, has finished loading, and has refused nothing."""
    expect(page.get_by_role("heading", level=1)).to_be_attached()
    expect(page).to_have_title(re.compile(" · roost$"))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0, timeout=60_000)
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("name", PAGES)
# The tests of each page open it on the other clouds.
@pytest.mark.parametrize("cloud", ["empty", "large"])
def test_it_opens(
    request: pytest.FixtureRequest,
    open_page: OpenPage,
    axe: Callable[[Page], list[str]],
    cloud: str,
    name: str,
) -> None:
    server: ConsoleServer = request.getfixturevalue(cloud)
    page = open_page(f"{server.console}{name}")
    assert_shown(page)
    assert axe(page) == []


def test_a_tree_of_many(open_page: OpenPage, large: ConsoleServer) -> None:
    """From the list of roots to a tree, and to its consumers."""
    page = open_page(f"{large.console}tree")
    assert_shown(page)
    page.get_by_role("main").locator("a.name").first.click()
    expect(page).to_have_url(re.compile("uuid="))
    expect(page.get_by_role("treeitem").first).to_be_visible()
