"""The page of the Python client's classes, which mkdocstrings fills from their docstrings."""

import sys
from collections.abc import Iterator

import roost.client

# Where the names are defined, and what they are to a reader.
_SECTIONS = {
    "roost.client.client": "The two clients",
    "roost.client.direct": "Without a server",
    "roost.client.auth": "Authentication",
    "roost.client.request": "Requests",
    "roost.client.values": "Values",
    "roost.client.explanations": "Explanations and capacity",
    "roost.client.errors": "Errors",
}


# It has the same methods once more.
_OPTIONS = {"AsyncClient": ("    options:", "      inherited_members: false")}
PAGE = "reference/client-classes.md"


def pages() -> Iterator[tuple[str, str]]:
    yield PAGE, "\n".join(_page())


def _page() -> Iterator[str]:
    yield "# The client: classes and methods"
    yield ""
    yield "All that `roost.client` exports, from its docstrings. [The Python client](client.md) is"
    yield "the guide to it, with examples."
    yield ""
    yield "A method that is shown with `Call[X]` returns `X`, and one with `Pages[X]` an iterator"
    yield "of `X`. `AsyncClient` has the same methods as `Client`: there the first is awaited, and"
    yield "the second is an asynchronous iterator."
    yield ""
    for module, title in _SECTIONS.items():
        yield f"## {title}"
        yield ""
        for name in _names_of(module):
            yield f"::: roost.client.{name}"
            yield from _OPTIONS.get(name, ())
            yield ""


def _names_of(module: str) -> list[str]:
    """What the package exports of a module, in the order of the source."""
    defined = vars(sys.modules[module])
    exported = set(roost.client.__all__)
    names = [name for name in defined if name in exported]
    return [name for name in names if _home(name) == module]


def _home(name: str) -> str:
    """The module that a name belongs to: what comes from below the client belongs to its values."""
    home = getattr(getattr(roost.client, name), "__module__", "")
    return home if home in _SECTIONS else "roost.client.values"
