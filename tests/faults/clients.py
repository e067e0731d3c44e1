"""What every client of the fault test does: send requests, and record what came back."""

import random
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import httpx

from tests.faults.cloud import SERVICE_HEADERS
from tests.faults.history import Event, History
from tests.faults.service import Worker

REQUEST_SECONDS_MAX = 8.0


class Unanswered(Exception):
    """The request had no effect, because no worker accepted the connection."""


class Unknown(Unanswered):
    """The client cannot know whether the request had an effect."""


class Answer(NamedTuple):
    status: int
    body: Any
    text: str

    @property
    def code(self) -> str:
        errors = self.body.get("errors") if isinstance(self.body, dict) else None
        return str(errors[0].get("code", "")) if errors else ""


class ClientThread:
    """Something that one client does until `stop`, in a thread of its own."""

    def __init__(self, name: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        self.name = name
        self.workers = workers
        self.history = history
        self.random = random.Random(f"{name}-{seed}")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def join(self) -> None:
        self._thread.join(60)

    def _run(self) -> None:
        raise NotImplementedError


class Client(ClientThread):
    """An honest client: it takes one step after the other."""

    pause_seconds = 0.0

    def __init__(self, name: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(name, workers, history, seed)
        self._http = httpx.Client(headers=SERVICE_HEADERS, timeout=REQUEST_SECONDS_MAX)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
            except Unanswered:
                time.sleep(0.05)
            except Exception as error:
                self.history.violate(f"{self.name}: {error!r}")
                return
            if self.pause_seconds:
                time.sleep(self.pause_seconds)

    def step(self) -> None:
        raise NotImplementedError

    # -- requests ------------------------------------------------------------------------------

    def send(self, verb: str, method: str, path: str, body: Any = None) -> Answer:
        """Send a request to some worker.

        Raises `Unanswered` or `Unknown` unless the answer says what happened.
        """
        worker = self.random.choice(self.workers)
        began = self.history.now()
        try:
            response = self._http.request(method, worker.url + path, json=body)
        except httpx.ConnectError as error:
            self._record(began, verb, worker, "unanswered", None, repr(error))
            raise Unanswered from error
        except httpx.HTTPError as error:
            self._record(began, verb, worker, "unknown", None, repr(error))
            raise Unknown from error
        status, text = response.status_code, response.text
        if status in (502, 503, 504):
            self._record(began, verb, worker, "unknown", status, text)
            raise Unknown
        outcome = "ok" if status < 400 else "refused"
        self._record(began, verb, worker, outcome, status, text if status >= 400 else "")
        return Answer(status, response.json() if text else None, text)

    def _record(
        self, began: float, verb: str, worker: Worker, outcome: str, status: int | None, detail: str
    ) -> None:
        self.history.add(
            Event(
                began,
                self.history.now(),
                self.name,
                verb,
                worker.number,
                outcome,
                status,
                detail,
            )
        )

    def read(self, verb: str, path: str) -> Any:
        """The body of a GET. If it fails, the next step will read through another worker."""
        answer = self.send(verb, "GET", path)
        if answer.status != 200:
            self.history.violate(f"GET {path}: {answer.status} {answer.text[:300]}")
            raise Unknown
        return answer.body
