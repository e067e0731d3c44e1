"""A program that claims and releases parts of a host at a steady rate, and says what it saw.

    python -m tests.agent.claiming URL ROOT_UUID RATE

It prints an empty line after the first claim, runs until its standard input ends, and prints a line
of JSON then. It is a process of its own, so that it does not share Python's lock with the agent
under test.
"""

import json
import sys
import threading
import time
import uuid
from collections import Counter
from typing import Any

from roost.client import ApiError, Client, Consumer

THREADS = 10


class Claims:
    """What one thread claims: by a provider that it knows, and by a search of the service."""

    def __init__(self, url: str, root: str) -> None:
        self._client = Client(url)
        self._root = root
        self._held: list[str] = []
        self._turn = 0
        self.answers: Counter[str] = Counter()
        self.refusals: list[str] = []
        self.seconds: list[float] = []

    def act(self) -> None:
        """Claim or release once, and note how long it took."""
        self._turn += 1
        began = time.monotonic()
        try:
            self.answers[self._act()] += 1
        except ApiError as error:
            self.refusals.append(str(error))
        self.seconds.append(time.monotonic() - began)

    def _act(self) -> str:
        if self._turn % 4 == 0 and self._held:
            self._client.delete_consumer(self._held.pop(0))
            return "released"
        consumer = str(uuid.uuid4())
        if self._turn % 2:
            owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
            held = {self._root: {"VCPU": 1}}
            self._client.set_consumer(Consumer(uuid=consumer, allocations=held, **owner))
        else:
            request = {"resources": "VCPU:1,VGPU:1", "in_tree": self._root}
            self._client.place(request, [consumer], project_id="p", user_id="u")
        self._held.append(consumer)
        return "claimed"


def run(url: str, root: str, rate: float, stop: threading.Event) -> dict[str, Any]:
    """Claim until `stop` is set. What all threads saw."""
    threads = [Claims(url, root) for _ in range(THREADS)]
    began = time.monotonic()

    def keep_claiming(number: int) -> None:
        count = 0
        while True:
            # At fixed times: an answer that takes long does not lower the rate for ever.
            due = began + (number + count * THREADS) / rate
            if stop.wait(max(0.0, due - time.monotonic())):
                return
            threads[number].act()
            count += 1
            if (number, count) == (0, 1):
                print(flush=True)

    running = [threading.Thread(target=keep_claiming, args=[each]) for each in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    answers: Counter[str] = sum((each.answers for each in threads), Counter())
    seconds = sorted(second for each in threads for second in each.seconds)
    return {
        **answers,
        "refusals": [refusal for each in threads for refusal in each.refusals],
        "rate": len(seconds) / (time.monotonic() - began),
        "median": seconds[len(seconds) // 2],
        "longest": seconds[-1],
    }


if __name__ == "__main__":
    stop = threading.Event()

    def read_to_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=read_to_the_end, daemon=True).start()
    print(json.dumps(run(sys.argv[1], sys.argv[2], float(sys.argv[3]), stop)))
