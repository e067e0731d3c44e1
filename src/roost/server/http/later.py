"""What the server gives to who waits for something: it can be awaited, and asked in any thread."""

import asyncio
from collections.abc import Generator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

Message = dict[str, Any]


class Later(Future[Any]):
    """Something that happens later, in whatever thread."""

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()

    def happen(self, value: Any = None) -> None:
        # Whoever waited for it may have given up.
        with suppress(InvalidStateError):
            self.set_result(value)


class Arrived:
    """A message that is here already. It takes less time to make than a future."""

    __slots__ = ("_message",)

    def __init__(self, message: Message) -> None:
        self._message = message

    def done(self) -> bool:
        return True

    def result(self) -> Message:
        return self._message

    def __await__(self) -> Generator[Any, None, Message]:
        return self._message
        yield
