"""A client that reshapes a tree again and again, and looks whether every machine shows it whole."""

import threading
import uuid
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.claimers import PROJECT
from tests.support.headers import HEADERS

# Only services may reshape.
RESHAPER = {**HEADERS, "x-roles": "admin,service"}
DISK_TOTAL = 100
DISK_USED = 10
CONSUMERS = 3


class Reshaper:
    """Moves the disks of a host, and what consumers hold of them, from one child to another.

    It works in a thread of its own until the block ends.
    """

    def __init__(self, transport: httpx.BaseTransport, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds
        self.problems: list[str] = []
        self.reshape_count = 0
        self._http = httpx.Client(
            base_url="http://roost", headers=RESHAPER, timeout=60, transport=transport
        )
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reshaper")
        self._consumers = [str(uuid.uuid4()) for _ in range(CONSUMERS)]
        self._root, self._source, self._target = (str(uuid.uuid4()) for _ in range(3))

    def __enter__(self) -> Self:
        self._create()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()
        for consumer in self._consumers:
            self._expect("DELETE", f"/allocations/{consumer}")
        self._http.close()

    def _create(self) -> None:
        self._expect("POST", "/resource_providers", {"name": self._root, "uuid": self._root})
        for child in (self._source, self._target):
            body = {"name": child, "uuid": child, "parent_provider_uuid": self._root}
            self._expect("POST", "/resource_providers", body)
        path = f"/resource_providers/{self._source}/inventories"
        self._expect("PUT", path, self._inventories(self._source, DISK_TOTAL))
        for consumer in self._consumers:
            body = self._allocation(self._source, None)
            self._expect("PUT", f"/allocations/{consumer}", body)

    def _run(self) -> None:
        try:
            while not self._end.wait(self._pause_seconds):
                self._reshape()
                self._look()
                self._source, self._target = self._target, self._source
                self.reshape_count += 1
        except Exception as error:
            self.problems.append(repr(error))

    def _reshape(self) -> None:
        generations = {
            consumer: self._expect("GET", f"/allocations/{consumer}").json()["consumer_generation"]
            for consumer in self._consumers
        }
        body = {
            "inventories": {
                self._source: self._inventories(self._source, None),
                self._target: self._inventories(self._target, DISK_TOTAL),
            },
            "allocations": {
                consumer: self._allocation(self._target, generation)
                for consumer, generation in generations.items()
            },
        }
        self._expect("POST", "/reshaper", body)

    def _look(self) -> None:
        """What any machine shows now is the tree after the reshape."""
        path = "/resource_providers/{}/usages"
        shown = {
            provider: self._expect("GET", path.format(provider)).json()["usages"]
            for provider in (self._source, self._target)
        }
        expected = {self._source: {}, self._target: {"DISK_GB": CONSUMERS * DISK_USED}}
        if shown != expected:
            self.problems.append(f"after a reshape: {shown} instead of {expected}")

    def _inventories(self, provider: str, total: int | None) -> dict[str, Any]:
        found = self._expect("GET", f"/resource_providers/{provider}").json()
        return {
            "resource_provider_generation": found["generation"],
            "inventories": {} if total is None else {"DISK_GB": {"total": total}},
        }

    def _allocation(self, provider: str, generation: int | None) -> dict[str, Any]:
        return {
            "allocations": {provider: {"resources": {"DISK_GB": DISK_USED}}},
            "project_id": PROJECT,
            "user_id": PROJECT,
            "consumer_generation": generation,
            "consumer_type": "INSTANCE",
        }

    def _expect(self, method: str, path: str, body: object = None) -> httpx.Response:
        answer = self._http.request(method, path, json=body)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer
