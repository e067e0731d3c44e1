"""The part of a load balancer: requests go to any machine of a list that changes."""

import random
import threading
from collections import Counter

import httpx

from tests.support.roost_server import RoostServer


class Rotation(httpx.BaseTransport):
    """Sends each request to one of the machines in service, as HAProxy does.

    A machine is taken out before it is stopped. A request that was sent is never sent again.
    """

    def __init__(self) -> None:
        self._transport = httpx.HTTPTransport(limits=httpx.Limits(max_connections=100))
        self._machines: list[RoostServer] = []
        self._in_flight: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._random = random.Random(1)

    def add(self, machine: RoostServer) -> None:
        with self._changed:
            self._machines.append(machine)

    def remove(self, machine: RoostServer) -> None:
        """Send no more requests to a machine, and wait until it has answered all."""
        with self._changed:
            self._machines.remove(machine)
            assert self._changed.wait_for(lambda: not self._in_flight[machine.url], timeout=60)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self._changed:
            machine = self._random.choice(self._machines)
            self._in_flight[machine.url] += 1
        try:
            request.url = request.url.copy_with(host="127.0.0.1", port=machine.port)
            answer = self._transport.handle_request(request)
            # Here, and not by the client: the machine has answered when the body is complete.
            answer.read()
            return answer
        finally:
            with self._changed:
                self._in_flight[machine.url] -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """A client that closes leaves it to the others."""

    def shut_down(self) -> None:
        self._transport.close()
