"""Ending updates between two requests, so that none is cut off."""

import threading
from typing import TypeVar

from roost.client import Client
from roost.client.calls import Call

Answer = TypeVar("Answer")


class Stopped(Exception):
    """The agent has been asked to stop. What is written is written, and the rest is not."""


class StoppableClient(Client):
    """A client that sends nothing more once `stop` is set: its requests raise `Stopped`."""

    def __init__(self, client: Client, stop: threading.Event) -> None:
        # Not that of the base class: the connections are those of the given client.
        self._client = client
        self._stop = stop

    def send(self, call: Call[Answer]) -> Answer:
        if self._stop.is_set():
            raise Stopped
        return self._client.send(call)

    @property
    def version(self) -> tuple[int, int]:
        return self._client.version

    @property
    def known_extensions(self) -> frozenset[str]:
        return self._client.known_extensions

    def close(self) -> None:
        self._client.close()
