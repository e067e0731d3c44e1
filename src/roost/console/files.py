"""The files of `static/`, read once.

What is not in these mappings is not served, so no path leads out of the folder.
"""

import functools
import gzip
import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_MEDIA_TYPE_DEFAULT = "text/plain; charset=utf-8"  # of a licence, which has no suffix

# The documents, which load the other files.
INDEX = "index.html"
DOCS = "docs.html"


class File:
    """One file, as it is sent."""

    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.media_type = _MEDIA_TYPES.get(PurePosixPath(name).suffix, _MEDIA_TYPE_DEFAULT)
        # The same for both encodings of the content.
        self.etag = hashlib.sha256(content).hexdigest()[:32]

    @functools.cached_property
    def gzipped(self) -> bytes | None:
        """The content in gzip; None if that is not smaller."""
        compressed = gzip.compress(self.content, mtime=0)
        return compressed if len(compressed) < len(self.content) else None


@functools.cache
def static_files() -> Mapping[str, File]:
    """The files by their paths below `static/`, such as `pages/tree.js`, but for the documents."""
    return {name: file for name, file in _all_files().items() if name not in (INDEX, DOCS)}


def index_file() -> File:
    """The document that every page of the console is."""
    return _all_files()[INDEX]


def docs_file() -> File:
    """The document that shows the API."""
    return _all_files()[DOCS]


@functools.cache
def _all_files() -> Mapping[str, File]:
    folder = resources.files(__package__) / "static"
    return {name: File(name, each.read_bytes()) for name, each in _walk(folder, "")}


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _walk(each, f"{prefix}{each.name}/")
        else:
            yield prefix + each.name, each
