"""What mkdocs calls while it builds the site: adds the generated pages, and adapts links."""

import functools
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# mkdocs loads this file by its path, and not as a module of its package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from website import drawings, links, repository
from website.pages import generated_pages

LOGO = "images/logo.svg"  # as mkdocs.yml names it


# `mkdocs serve` builds the site again after each change, and the code stays as it was.
@functools.cache
def _generated() -> Mapping[str, str]:
    return generated_pages()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in _generated().items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, LOGO, content=repository.logo()))
    pages = sorted(file.src_uri for file in files.documentation_pages())
    config.nav = _expand(config.nav, pages, set(_named(config.nav)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.generated_by is not None:
        return markdown
    path = page.file.src_uri
    drawn = drawings.inline(markdown, Path(config.docs_dir, path).parent)
    return links.adapt(drawn, f"docs/{path}", path, repository.shown_at())


def _expand(entry: Any, pages: Sequence[str], named: Collection[str]) -> Any:
    """The navigation with `folder/*` replaced by the pages there that it does not name."""
    if isinstance(entry, Mapping):
        return {title: _expand(below, pages, named) for title, below in entry.items()}
    if not isinstance(entry, list):
        return entry
    expanded: list[Any] = []
    for each in entry:
        if isinstance(each, str) and each.endswith("/*"):
            expanded += [page for page in pages if fnmatch(page, each) and page not in named]
        else:
            expanded.append(_expand(each, pages, named))
    return expanded


def _named(entry: Any) -> Iterator[str]:
    """All pages that the navigation names."""
    if isinstance(entry, str):
        yield entry
    else:
        for below in entry.values() if isinstance(entry, Mapping) else entry:
            yield from _named(below)
