"""What a client has not taken yet of what is sent to it."""

import socket
import time
from collections import deque

from roost.server.http.later import Later

# Taking less than this is no progress.
PROGRESS_BYTES = 64 * 1024


class Outgoing:
    """The way to one client. Whoever calls has the lock of its connection; nothing here waits."""

    __slots__ = (
        "_awaited",
        "_parts",
        "_socket",
        "_taken",
        "bytes_waiting",
        "has_failed",
        "taken_at",
    )

    def __init__(self, client_socket: socket.socket) -> None:
        self._socket = client_socket
        self._parts: deque[memoryview] = deque()
        self._awaited: list[Later] = []
        self.bytes_waiting = 0
        self.has_failed = False
        # When the client has last taken all of it, or as much as counts.
        self.taken_at = time.monotonic()
        self._taken = 0

    def send(self, parts: list[bytes]) -> None:
        """Send as much as the client takes now, and keep the rest."""
        if self.has_failed:
            return
        sent = 0
        if not self.bytes_waiting:
            try:
                if len(parts) == 1:
                    sent = self._socket.send(parts[0])
                else:
                    sent = self._socket.sendmsg(parts)
            except BlockingIOError:
                pass
            except OSError:
                self.has_failed = True
                return
            self._count(sent)
        for part in parts:
            if sent < len(part):
                self._parts.append(memoryview(part)[sent:])
                self.bytes_waiting += len(part) - sent
            sent = max(sent - len(part), 0)

    def send_more(self) -> list[Later]:
        """Send what was kept, as far as possible; whom to tell that it is all."""
        while self._parts and not self.has_failed:
            part = self._parts[0]
            try:
                sent = self._socket.send(part)
            except BlockingIOError:
                break
            except OSError:
                self.has_failed = True
                break
            self.bytes_waiting -= sent
            self._count(sent)
            if sent < len(part):
                self._parts[0] = part[sent:]
            else:
                self._parts.popleft()
        return [] if self._parts else self._take_awaited()

    def _count(self, taken: int) -> None:
        self._taken += taken
        if self._taken >= PROGRESS_BYTES or not self.bytes_waiting:
            self.taken_at = time.monotonic()
            self._taken = 0

    def wait(self) -> Later:
        """What happens once everything is sent, or nothing more will be."""
        later = Later()
        self._awaited.append(later)
        return later

    def give_up(self) -> list[Later]:
        """Forget what was kept; whom to tell."""
        self.has_failed = True
        self._parts.clear()
        self.bytes_waiting = 0
        return self._take_awaited()

    def _take_awaited(self) -> list[Later]:
        awaited, self._awaited = self._awaited, []
        return awaited
