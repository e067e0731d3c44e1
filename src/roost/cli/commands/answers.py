"""What commands have in common when they talk to a service.

`--json` prints answers as the API gives them. Changes are made again if another client was first.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from roost.cli.output import Failure
from roost.client import Client, ConcurrentUpdate
from roost.client.calls import Call, Page, Pages
from roost.client.requests import Requests

Result = TypeVar("Result")

# The field of a long answer that has its items.
_ITEMS = {"/resource_providers": "resource_providers", "/allocations": "consumers"}
_EVENTS = "/events"


class Verbatim(Requests):
    """The methods of a client. They return decoded JSON instead of values: what the API answers."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def send(self, call: Call[Any]) -> Any:
        return self._client.send(replace(call, read=_unchanged, shape=Any))

    def items(self, pages: Pages[Any]) -> Iterator[Any]:
        """Each item. Events are followed by documents with the position after them."""
        path = pages.first.path
        read = _events_page if path == _EVENTS else _page_reader(_ITEMS[path])
        return self._client.items(Pages(replace(pages.first, read=read, shape=Any)))


def _unchanged(found: Any) -> Any:
    return found


def _page_reader(name: str) -> Callable[[Any], Page[Any]]:
    def read(found: Any) -> Page[Any]:
        return Page(items=found[name], next=found.get("next"))

    return read


def _events_page(found: Any) -> Page[Any]:
    position = found["position"]
    return Page(items=[*found["events"], {"position": position}], next=position)


def need_extension(client: Client, name: str) -> None:
    """End the command if the service cannot do what OpenStack Placement cannot."""
    if name not in client.extensions():
        raise Failure(
            f"the service does not have the extension `{name}`: it is not roost, or too old"
        )


def amend(attempt: Callable[[], Result], *, again: bool = True) -> Result:
    """Read, change and write; once more if another client wrote in between.

    `again` is for changes that mean the same on top of what the other client wrote. A change that
    leaves nothing else does not.
    """
    for is_last in (False, True) if again else (True,):
        try:
            return attempt()
        except ConcurrentUpdate as error:
            if is_last:
                raise Failure(
                    "another client wrote at the same time: look at what it wrote, and try again"
                ) from error
    raise AssertionError("the last attempt returns or raises")


def amend_names(
    read: Callable[[], tuple[Collection[str], int]],
    change: Callable[[Collection[str]], Collection[str]],
    write: Callable[[Collection[str], int], Collection[str]],
    *,
    replace: bool,
) -> Collection[str]:
    """Change the names that a provider has, as read at a generation; returns those it has now."""

    def attempt() -> Collection[str]:
        present, generation = read()
        after = change(present)
        return present if after == present else write(after, generation)

    return amend(attempt, again=not replace)
