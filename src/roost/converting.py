"""Turns errors into other errors where one part of the program ends and another begins."""

from collections.abc import Callable
from types import TracebackType


class Converting:
    """A `with` block whose errors are raised as what `convert` makes of them; None: as they are.

    Every request passes several, and one made by `contextlib.contextmanager` takes several times
    as long. One of these may be used any number of times, by any number of threads.
    """

    __slots__ = ("_convert",)

    def __init__(self, convert: Callable[[BaseException], BaseException | None]) -> None:
        self._convert = convert

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            converted = self._convert(error)
            if converted is not None:
                raise converted from error
