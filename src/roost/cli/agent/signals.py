"""Ctrl-C and SIGTERM: the first one ends what is under way, the second one the process."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """While the block runs, the first of these signals calls a function; it must return soon."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: dict[int, Any] = {}
        self.received: int | None = None

    @property
    def exit_code(self) -> int:
        """As shells have it for a program that a signal has ended."""
        assert self.received is not None
        return 128 + self.received

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in NUMBERS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self.received = number
        for each in NUMBERS:
            signal.signal(each, signal.SIG_DFL)
        self._stop()
