"""Spreads connections over the workers of one service: each has as many as the others.

The kernel gives each new connection to a worker by chance, and clients keep theirs. Of ten, seven
or more are with one of two workers in every third case. So a worker that has more than another one
hands over what it has just accepted. How many each one has is in memory that they share.

Only Linux has a memory without a name, and workers that are forked.
"""

import mmap
import os
import socket
from collections.abc import Iterator
from contextlib import suppress

from roost.store.feed.shared_lock import lock_byte, unlock_byte

# The count of a worker that takes no connections from others.
_NONE = -1
_CELL_BYTES = 8


class SharedConnections:
    """Made by the parent of the workers. Each of them joins it once."""

    def __init__(self, workers: int) -> None:
        self.places = range(workers)
        # Without a name: it is gone with the last process that has it open. A worker locks the byte
        # of its place, and the kernel unlocks it, however the worker ends.
        self.file = os.memfd_create("roost-connections")
        os.ftruncate(self.file, workers * _CELL_BYTES)
        self._memory = mmap.mmap(self.file, workers * _CELL_BYTES)
        self.counts = memoryview(self._memory).cast("q")
        # By which connections are handed over to each place. A worker that takes the place of
        # another one finds those that were on their way.
        self.receivers: list[socket.socket] = []
        self.senders: list[socket.socket] = []
        for place in self.places:
            self.counts[place] = _NONE
            receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            for end in (receiver, sender):
                end.setblocking(False)
            self.receivers.append(receiver)
            self.senders.append(sender)

    def join(self) -> "ConnectionPlace | None":
        """Take a place, which is free again when this process is gone; None if there is none."""
        for place in self.places:
            if lock_byte(self.file, place, wait=False):
                return ConnectionPlace(self, place)
        return None


class ConnectionPlace:
    """The place of one worker."""

    def __init__(self, shared: SharedConnections, number: int) -> None:
        self._shared = shared
        self._number = number
        self.receiver = shared.receivers[number]
        self.note(0)

    def note(self, count: int) -> None:
        """Say how many connections the worker has."""
        self._shared.counts[self._number] = count

    def leave(self) -> None:
        """Take no more connections, but for those that are on their way."""
        self.note(_NONE)

    def hand_over(self, accepted: socket.socket, count: int) -> bool:
        """Give a new connection to the worker that has the fewest, if this one has more: `count`.

        It is closed here then.
        """
        counts = self._shared.counts
        fewer = [place for place in self._shared.places if _NONE < counts[place] < count]
        if not fewer:
            return False
        place = min(fewer, key=counts.__getitem__)
        if place == self._number or not self._is_alive(place):
            return False
        try:
            socket.send_fds(self._shared.senders[place], [b"."], [accepted.fileno()])
        except OSError:
            # It does not keep up with what it is given.
            return False
        # Until it counts by itself.
        counts[place] += 1
        accepted.close()
        return True

    def _is_alive(self, place: int) -> bool:
        """Whether there is a worker. If not, nobody hands anything over to it from now on."""
        shared = self._shared
        if not lock_byte(shared.file, place, wait=False):
            return True
        shared.counts[place] = _NONE
        unlock_byte(shared.file, place)
        return False

    def receive(self) -> Iterator[socket.socket]:
        """Connections that others have handed over."""
        while True:
            try:
                _, descriptors, _, _ = socket.recv_fds(self.receiver, 1, 1)
            except BlockingIOError:
                return
            for descriptor in descriptors:
                # The client may be gone.
                with suppress(OSError):
                    yield socket.socket(fileno=descriptor)
