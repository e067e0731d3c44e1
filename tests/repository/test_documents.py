"""The documents describe everything that exists.

What is made from the code is tested in tests/website.
"""

import re
from pathlib import Path

import pytest

from roost.api.probes import OPEN_ROUTES
from website import client, commands, repository
from website.catalog import PAGES as CATALOG_PAGES
from website.http_api import PAGES as ROUTE_PAGES

ROOT = Path(__file__).parents[2]
MONITORING = (ROOT / "docs" / "operations" / "monitoring.md").read_text()


@pytest.mark.parametrize("path", [route.path for route in OPEN_ROUTES])
def test_every_path_beside_the_api_is_documented(path):
    assert f"| `{path}` |" in MONITORING


def generated():
    """The pages that exist in the site alone."""
    for page in (*CATALOG_PAGES, *ROUTE_PAGES, client.PAGE, commands.PAGE, *repository.PAGES):
        yield (ROOT / "docs" / page).resolve()


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=str)
def test_every_link_has_a_target(page):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    for target in targets:
        path = (page.parent / target).resolve()
        assert "://" in target or path.exists() or path in set(generated()), target


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        assert f"({page.name})" in listed
