"""The files of the console: small, readable, and free of what its policy forbids."""

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.console.static_files import FILES, INDEX, MODULES, OWN, STATIC, code, imports, name

COMPRESSED_MAX = 150 * 1024
LINES_MAX = 300

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


def test_the_page_has_nothing_inline() -> None:
    page = Elements(INDEX.read_text())
    assert "style" not in page.texts
    assert "script" not in page.texts
    for tag, attributes in page.elements:
        assert not [key for key in attributes if key == "style" or key.startswith("on")], tag


def test_the_page_loads_files_that_exist_here() -> None:
    """Their addresses are relative, so that a prefix in front of the console works."""
    for tag, attributes in Elements(INDEX.read_text()).elements:
        for key in ("src", "href"):
            address = attributes.get(key)
            if address is not None:
                assert address.startswith("static/"), (tag, address)
                assert (STATIC.parent / address).is_file(), (tag, address)


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


def test_every_module_is_used() -> None:
    page = INDEX.read_text()
    used = {STATIC / address for address in re.findall(r'src="static/([^"]+)"', page)}
    waiting = list(used)
    while waiting:
        path = waiting.pop()
        targets = {(path.parent / target).resolve() for target in imports(path)} - used
        used |= targets
        waiting += targets
    assert {name(path) for path in MODULES if path.resolve() not in used} == set()


def test_every_style_is_used() -> None:
    linked = set(re.findall(r'href="static/([^"]+\.css)"', INDEX.read_text()))
    assert {name(path) for path in FILES if path.suffix == ".css"} == linked
