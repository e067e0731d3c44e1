"""An asynchronous client that a test calls like one that blocks."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import anyio.from_thread
from anyio.from_thread import BlockingPortal

from roost.client import AsyncClient, Client

Item = TypeVar("Item")


class _Driven:
    """Has the methods of a client; each runs in an event loop until it returns."""

    def __init__(self, client: AsyncClient, portal: BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    @property
    def version(self) -> tuple[int, int]:
        return self._portal.call(self._client.version)

    @property
    def known_extensions(self) -> frozenset[str]:
        return self._portal.call(self._client.known_extensions)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not callable(method):
            return method

        def driven(*arguments: Any, **named: Any) -> Any:
            found = method(*arguments, **named)
            if inspect.isawaitable(found):
                return self._portal.call(_result, found)
            return _DrivenItems(found, self._portal)

        return driven


class _DrivenItems(Iterator[Item]):
    def __init__(self, items: AsyncIterator[Item], portal: BlockingPortal) -> None:
        self._items = items
        self._portal = portal

    def __next__(self) -> Item:
        try:
            return self._portal.call(_next, self._items)
        except StopAsyncIteration:
            raise StopIteration from None


async def _result(found: Awaitable[Item]) -> Item:
    return await found


async def _next(items: AsyncIterator[Item]) -> Item:
    return await anext(items)


@contextmanager
def driven(
    backend: str,
    *arguments: Any,
    make: Callable[..., AsyncClient] = AsyncClient,
    **options: Any,
) -> Iterator[Client]:
    """A client that awaits, made with these arguments, in an event loop of its own."""
    with anyio.from_thread.start_blocking_portal(backend) as portal:

        async def opened() -> AsyncClient:
            return make(*arguments, **options)

        client = portal.call(opened)
        try:
            yield cast(Client, _Driven(client, portal))
        finally:
            portal.call(client.close)
