"""The site is built strictly, is whole, and needs nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from roost.api.http_error import ErrorCode
from roost.api.routes import ROUTES, Route

pytest.importorskip("mkdocs", reason="scripts/docs installs it")
pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def build(configuration: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--config-file", str(configuration), "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built once for all tests."""
    target = tmp_path_factory.mktemp("site")
    built = build(ROOT / "mkdocs.yml", target)
    assert built.returncode == 0, built.stderr
    return target


class Loaded(HTMLParser):
    """Collects the addresses that a browser loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio"):
            self.found.append(given.get("src") or "")
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(given.get("href") or "")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text())
        assert [each for each in loaded.found if "//" in each] == [], page
    for style in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//", style.read_text()) == [], style


def test_scripts_have_no_addresses_to_load_from(site: Path) -> None:
    """mkdocs-material asks for the stars of a repository, and loads what draws diagrams."""
    pages = "".join(page.read_text() for page in site.rglob("*.html"))
    assert "class=mermaid" not in pages
    assert 'class="mermaid"' not in pages
    assert 'data-md-component="source"' not in pages


def test_the_search_finds_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    pages = {page.parent.relative_to(site).as_posix() for page in site.rglob("index.html")}
    assert {"" if page == "." else f"{page}/" for page in pages} == found


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_there(site: Path, route: Route) -> None:
    texts = [page.read_text() for page in (site / "reference" / "routes").rglob("index.html")]
    heading = re.compile(rf'<h2 id="[^"]+">{route.method} {re.escape(route.path)}<')
    assert len([text for text in texts if heading.search(text)]) == 1


def test_every_error_code_is_there(site: Path) -> None:
    page = (site / "reference" / "error-codes" / "index.html").read_text()
    for code in ErrorCode:
        assert f">{code}<" in page


BROKEN = {
    "index.md": "# Start\n\n[gone](gone.md) [nowhere](second.md#nowhere)\n",
    "second.md": "# Second\n",
    "forgotten.md": "# Forgotten\n",
}


def test_what_is_wrong_fails(tmp_path: Path) -> None:
    """A dead link, a dead anchor, and a page that is not in the navigation."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in BROKEN.items():
        (folder / name).write_text(text)
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\n"
        f"docs_dir: {folder}\nhooks: []\nplugins: []\nextra_css: []\n"
        "theme: {name: mkdocs, logo: null, favicon: null}\nnav: [index.md, second.md]\n"
    )
    built = build(configuration, tmp_path / "site")
    assert built.returncode != 0
    assert "'gone.md', but the target is not found" in built.stderr
    assert "does not contain an anchor '#nowhere'" in built.stderr
    assert "forgotten.md" in built.stderr
    assert "Aborted with 3 warnings in strict mode!" in built.stdout + built.stderr
