"""The files of the console: small, readable, and free of what its policy forbids."""

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.console.static_files import (
    DOCS,
    FILES,
    INDEX,
    MODULES,
    OWN,
    PAGES,
    STATIC,
    VENDOR,
    code,
    imports,
    name,
)

COMPRESSED_MAX = 150 * 1024
LINES_MAX = 300
# What /docs adds to the files of the console, not compressed.
DOCS_BYTES_MAX = 30 * 1024

# Ways in which data could become code or markup.
FORBIDDEN = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment"
    r"|srcdoc|DOMParser|setHTMLUnsafe)\b"
    r"|\bdocument\.write|\beval\(|\bnew Function\b|\bjavascript:"
)
# In a template, an attribute that is a text and not a function or an object.
INLINE_ATTRIBUTE = re.compile(r"""\s(?:on\w+|style)=["']""")
# What stays in the browser after the page is closed, or goes with every request.
KEPT = re.compile(r"\bdocument\.cookie\b|\bindexedDB\b")
LOADED_FROM_ELSEWHERE = re.compile(
    r"""(?:\bimport|\bfrom|\bsrc=|\burl\(|\bfetch\(|\bnew (?:Worker|EventSource)\()"""
    r"""\s*\(?["'`]?(?:https?:)?//"""
)


class Elements(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and data.strip():
            tag = self.elements[-1][0]
            self.texts[tag] = self.texts.get(tag, "") + data


def test_the_whole_console_is_small() -> None:
    loaded = [path for path in FILES if path.suffix in (".html", ".js", ".css", ".svg")]
    together = b"".join(path.read_bytes() for path in loaded)
    assert len(gzip.compress(together)) <= COMPRESSED_MAX


@pytest.mark.parametrize("document", PAGES, ids=name)
def test_the_page_has_nothing_inline(document: Path) -> None:
    page = Elements(document.read_text())
    assert "style" not in page.texts
    assert "script" not in page.texts
    for tag, attributes in page.elements:
        assert not [key for key in attributes if key == "style" or key.startswith("on")], tag


@pytest.mark.parametrize(
    ("document", "folder"), [(INDEX, "static/"), (DOCS, "docs/static/")], ids=["index", "docs"]
)
def test_the_page_loads_files_that_exist_here(document: Path, folder: str) -> None:
    """Their addresses are relative, so that a prefix in front of the console works."""
    for tag, attributes in Elements(document.read_text()).elements:
        for key in ("src", "href"):
            address = attributes.get(key)
            if address is not None and address != "openapi.json":
                assert address.startswith(folder), (tag, address)
                assert (STATIC / address.removeprefix(folder)).is_file(), (tag, address)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_makes_no_markup_or_code_of_data(path: Path) -> None:
    text = code(path)
    assert FORBIDDEN.findall(text) == []
    assert INLINE_ATTRIBUTE.findall(text) == []
    assert KEPT.findall(text) == []


@pytest.mark.parametrize("path", OWN, ids=name)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    """Addresses of other hosts are there as text alone: links, examples, names of namespaces."""
    assert LOADED_FROM_ELSEWHERE.findall(path.read_text()) == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES_MAX


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_name_files(path: Path) -> None:
    """There is no build step, so an import is an address."""
    for target in imports(path):
        assert target.startswith("."), target
        assert (path.parent / target).is_file(), target


def loaded(document: Path) -> set[Path]:
    """The modules and styles that a page loads, now or later."""
    addresses = re.findall(r'(?:src|href)="(?:docs/)?static/([^"]+)"', document.read_text())
    used = {STATIC / address for address in addresses}
    waiting = [path for path in used if path.suffix == ".js"]
    while waiting:
        path = waiting.pop()
        targets = {(path.parent / target).resolve() for target in imports(path)} - used
        used |= targets
        waiting += targets
    return used


def test_every_module_and_every_style_is_used() -> None:
    used = {path for document in PAGES for path in loaded(document)}
    known = [path for path in FILES if path in MODULES or path.suffix == ".css"]
    assert {name(path) for path in known if path.resolve() not in used} == set()


def test_the_documentation_is_small() -> None:
    own = [path for path in OWN if path.parent.name == "api_docs" or path.stem == "docs"]
    assert sum(path.stat().st_size for path in own) <= DOCS_BYTES_MAX
    # It needs the library for pages, and no other.
    vendored = {path.name for path in loaded(DOCS) if path.is_relative_to(VENDOR)}
    assert vendored == {"preact.js"}
