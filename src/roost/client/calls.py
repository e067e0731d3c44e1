"""Requests as values, and how a client turns them into methods.

Each request of the API is defined once, by a method that returns a `Call` and does no I/O. The
decorators make two methods of it: on a client that blocks it returns the answer, on a client that
awaits it returns an awaitable of the answer.
"""

import inspect
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import wraps
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    get_args,
    overload,
)
from urllib.parse import quote

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from roost.model import Value

Version = tuple[int, int]

# What only roost has is known in the newest version alone.
EXTENSION: Version = (1, 39)

# The parameters of a query string; a sequence is a parameter that is repeated.
Query = Mapping[str, str | int | Sequence[str]]

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Item = TypeVar("Item")


def path_to(*segments: str) -> str:
    """The path of a request. A segment may have any characters."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def given(**parameters: str | int | Sequence[str] | None) -> Query:
    """The parameters that a caller has given."""
    return {name: value for name, value in parameters.items() if value is not None and value != []}


class Call(Value, Generic[Answer], frozen=True, kw_only=True):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Any], Answer]  # takes decoded JSON; None if the answer has no body
    shape: Any = Any  # the type that the JSON is decoded as
    body: Any = None
    query: Query = msgspec.field(default_factory=dict)
    # The oldest and the newest version that have the request.
    since: Version = (1, 0)
    until: Version | None = None
    repeatable: bool = False  # sending it twice has the effect of sending it once
    races: bool = False  # it may lose a race with other clients, and succeed when sent again
    absent: Answer | UnsetType = UNSET  # what a 404 says, where it is an answer and no error
    wait: float = 0  # seconds that the service may take on purpose
    patient: bool = False  # it is sent until it is answered, however long the service is away


class Page(Value, Generic[Item], frozen=True, kw_only=True):
    """A part of a long answer."""

    items: Sequence[Item]
    next: str | None  # what continues after it; None: nothing does


class Pages(Value, Generic[Item], frozen=True):
    """A long answer that is read in parts."""

    first: Call[Page[Item]]

    def after(self, position: str) -> Call[Page[Item]]:
        if self.first.body is not None:
            return replace(self.first, body={**self.first.body, "after": position})
        return replace(self.first, query={**self.first.query, "after": position})


class Reading(Generic[Item]):
    """How far a long answer has been read."""

    def __init__(self, pages: Pages[Item]) -> None:
        self._pages = pages
        self.items: deque[Item] = deque()  # that nobody has taken yet
        self.due: Call[Page[Item]] | None = pages.first  # what to send when there are none

    def add(self, page: Page[Item]) -> None:
        self.items.extend(page.items)
        self.due = None if page.next is None else self._pages.after(page.next)


# ---------------------------------------------------------------------------------------------
# Methods of clients


class Blocking(Protocol):
    """Sends requests, and returns when they are answered."""

    def send(self, call: Call[Answer]) -> Answer: ...


class Awaiting(Protocol):
    """Sends requests while others run."""

    async def send(self, call: Call[Answer]) -> Answer: ...


class _Definition:
    """A method that builds what to send, and the methods of clients that send it."""

    _sender: ClassVar[str]  # the method of a client that takes what was built

    def __init__(self, build: Callable[..., Any]) -> None:
        self._build = build
        self._methods: dict[type, Callable[..., Any]] = {}
        self.__doc__ = build.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        method = self._methods.get(owner)
        if method is None:
            # Two threads may both make it; it does not matter whose is kept.
            method = self._methods[owner] = self._method_of(owner)
        return method if instance is None else MethodType(method, instance)

    @staticmethod
    def _result(answer: Any, *, awaits: bool) -> Any:
        """The type of what a method of a client returns."""
        raise NotImplementedError

    def _method_of(self, owner: type) -> Callable[..., Any]:
        build, sender = self._build, self._sender

        @wraps(build)
        def method(instance: Any, /, *arguments: Any, **named: Any) -> Any:
            return getattr(instance, sender)(build(instance, *arguments, **named))

        # What `help` and editors show: the caller gets the answer and never sees the call.
        signature = inspect.signature(build)
        (answer,) = get_args(signature.return_annotation)
        awaits = inspect.iscoroutinefunction(getattr(owner, "send", None))
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            return_annotation=self._result(answer, awaits=awaits)
        )
        return method


class request(_Definition, Generic[Arguments, Answer]):
    """Makes a method that sends a request of a method that builds it."""

    _sender = "send"

    def __init__(self, build: Callable[Concatenate[Any, Arguments], Call[Answer]]) -> None:
        super().__init__(build)

    @staticmethod
    def _result(answer: Any, *, awaits: bool) -> Any:
        return Awaitable[answer] if awaits else answer

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, instance: None, owner: type
        ) -> Callable[Concatenate[Any, Arguments], Any]: ...
        @overload
        def __get__(self, instance: Blocking, owner: type) -> Callable[Arguments, Answer]: ...
        @overload
        def __get__(
            self, instance: Awaiting, owner: type
        ) -> Callable[Arguments, Awaitable[Answer]]: ...
        def __get__(self, instance: Any, owner: type) -> Any: ...


class pages(_Definition, Generic[Arguments, Item]):
    """Makes a method that iterates over a long answer of a method that builds its requests."""

    _sender = "items"

    def __init__(self, build: Callable[Concatenate[Any, Arguments], Pages[Item]]) -> None:
        super().__init__(build)

    @staticmethod
    def _result(answer: Any, *, awaits: bool) -> Any:
        return AsyncIterator[answer] if awaits else Iterator[answer]

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, instance: None, owner: type
        ) -> Callable[Concatenate[Any, Arguments], Any]: ...
        @overload
        def __get__(
            self, instance: Blocking, owner: type
        ) -> Callable[Arguments, Iterator[Item]]: ...
        @overload
        def __get__(
            self, instance: Awaiting, owner: type
        ) -> Callable[Arguments, AsyncIterator[Item]]: ...
        def __get__(self, instance: Any, owner: type) -> Any: ...
