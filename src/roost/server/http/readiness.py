"""Which sockets are ready, for any number of threads that ask at once.

A socket is reported once, to one thread; after that, somebody has to arm it again.
"""

import os
import select
import socket
import threading
from contextlib import suppress
from typing import Protocol

# What a socket is armed for: that there is something to read, that there is room to write, that the
# client has ended its side. Whether a connection has failed is always reported, as `GONE`.
READ, WRITE, GONE = 1, 2, 4


class Readiness(Protocol):
    def add(self, descriptor: int, interest: int) -> None:
        """Arm a descriptor for the first time."""

    def arm(self, descriptor: int, interest: int) -> None:
        """Arm a descriptor again. The last call counts."""

    def remove(self, descriptor: int) -> None:
        """Forget a descriptor that is about to be closed; nothing reports it any more."""

    def wait(self) -> tuple[int, int] | None:
        """A descriptor that is ready, and for what; None: ask again."""


class Epoll:
    """The kernel wakes up one of the threads that wait, the one that was busy last."""

    def __init__(self) -> None:
        self._epoll = select.epoll()

    def add(self, descriptor: int, interest: int) -> None:
        self._epoll.register(descriptor, _ARMED[interest])

    def arm(self, descriptor: int, interest: int) -> None:
        self._epoll.modify(descriptor, _ARMED[interest])

    def remove(self, descriptor: int) -> None:
        self._epoll.unregister(descriptor)

    def wait(self) -> tuple[int, int] | None:
        for descriptor, events in self._epoll.poll(None, 1):
            return descriptor, _reported(events)
        return None


class Poll:
    """The same where there is no epoll: one thread waits, and the others for their turn."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._armed: dict[int, int] = {}
        # Whoever waits learns by this that something has changed.
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)

    def add(self, descriptor: int, interest: int) -> None:
        self.arm(descriptor, interest)

    def arm(self, descriptor: int, interest: int) -> None:
        self._armed[descriptor] = interest
        self._wake_up()

    def remove(self, descriptor: int) -> None:
        self._armed.pop(descriptor, None)
        # While somebody waits for a descriptor, it is not really closed.
        self._wake_up()

    def _wake_up(self) -> None:
        # If it is full, whoever waits will wake up anyway.
        with suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def wait(self) -> tuple[int, int] | None:
        with self._turn:
            poll = select.poll()
            poll.register(self._reader, select.POLLIN)
            for descriptor, interest in list(self._armed.items()):
                poll.register(descriptor, _POLLED[interest])
            for descriptor, events in poll.poll():
                if descriptor == self._reader:
                    os.read(self._reader, 65536)
                elif self._armed.pop(descriptor, None) is not None:
                    return descriptor, _reported(events)
        return None


def new_readiness() -> Readiness:
    return Epoll() if hasattr(select, "epoll") else Poll()


_READ, _WRITE = select.POLLIN, select.POLLOUT
_HUNG_UP = getattr(select, "POLLRDHUP", 0)
_BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL

# By interest. The numbers of epoll are those of poll.
_POLLED = [
    (_READ | _HUNG_UP if interest & READ else 0)
    | (_WRITE if interest & WRITE else 0)
    | (_HUNG_UP if interest & GONE else 0)
    for interest in range(8)
]
_ARMED = [events | getattr(select, "EPOLLONESHOT", 0) for events in _POLLED]


def has_gone(connection: socket.socket) -> bool:
    """Whether a client has ended its side, or the connection has failed.

    What is reported of a descriptor may be about another connection that had it before.
    """
    poll = select.poll()
    poll.register(connection, _HUNG_UP)
    return any(events & (_HUNG_UP | _BROKEN) for _, events in poll.poll(0))


def has_more(connection: socket.socket) -> bool:
    """Whether a client has sent something that was not read yet."""
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def _reported(events: int) -> int:
    return (
        (READ if events & _READ else 0)
        | (WRITE if events & _WRITE else 0)
        | (GONE if events & (_HUNG_UP | _BROKEN) else 0)
    )
