"""Injects one fault after the other, in an order that a seed repeats."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.history import History
from tests.faults.service import Worker

FAULT_SECONDS = (0.3, 3.0)
QUIET_SECONDS = (0.3, 1.5)
IDLE_SECONDS_MAX = 180
LATE_COMMITS = 3
LATE_PAUSE_SECONDS = (0.3, 0.6)


class Nemesis:
    """Breaks workers, connections and, where there are several, database nodes."""

    def __init__(
        self,
        workers: Sequence[Worker],
        nodes: Sequence[Any],
        history: History,
        seed: int,
        only: str | None = None,
    ) -> None:
        self.only = only  # the name of the only fault to inject
        self.workers = workers
        self.nodes = nodes
        self.history = history
        self.random = random.Random(f"nemesis-{seed}")
        self._stop = threading.Event()
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nemesis", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the present fault, and begin no other."""
        self._stop.set()
        if not self._idle.wait(IDLE_SECONDS_MAX):
            raise RuntimeError("a fault does not end")

    def faults(self) -> list[Callable[[], None]]:
        on_workers = [
            self.kill_worker,
            self.freeze_worker,
            self.cut_wire,
            self.slow_wire,
            self.cut_at_commit,
            self.cut_at_commit,
            self.die_at_commit,
            self.die_at_commit,
            self.commit_late,
            self.commit_late,
            self.restart_all_workers,
        ]
        if self.only is not None:
            return [getattr(self, self.only)]
        on_nodes = [self.kill_node, self.freeze_node, self.isolate_node, self.slow_node]
        return [*on_workers, *(on_nodes if len(self.nodes) > 1 else [self.restart_database])]

    def _run(self) -> None:
        self._inject_faults()
        self._idle.set()
        # Servers that this thread started die with it, so it must not end.
        threading.Event().wait()

    def _inject_faults(self) -> None:
        while not self._stop.is_set():
            time.sleep(self.random.uniform(*QUIET_SECONDS))
            fault = self.random.choice(self.faults())
            try:
                fault()
            except Exception as error:
                self.history.violate(f"the fault {fault.__name__} failed: {error!r}")
                return

    def _wait(self) -> None:
        time.sleep(self.random.uniform(*FAULT_SECONDS))

    def _worker(self) -> Worker:
        return self.random.choice(self.workers)

    # -- workers and connections ---------------------------------------------------------------

    def kill_worker(self) -> None:
        worker = self._worker()
        self.history.fault(f"kill-worker {worker.number}")
        worker.kill()
        self._wait()
        worker.start()

    def freeze_worker(self) -> None:
        worker = self._worker()
        self.history.fault(f"freeze-worker {worker.number}")
        worker.freeze()
        self._wait()
        worker.thaw()

    def cut_wire(self) -> None:
        worker = self._worker()
        self.history.fault(f"cut-wire {worker.number}")
        worker.proxy.cut()
        self._wait()
        worker.proxy.heal()

    def slow_wire(self) -> None:
        worker = self._worker()
        self.history.fault(f"slow-wire {worker.number}")
        worker.proxy.slow_down(self.random.uniform(0.01, 0.2))
        self._wait()
        worker.proxy.heal()

    def cut_at_commit(self) -> None:
        self._cut_at_commit(self.random.choice(["before", "after"]))

    def cut_after_commit(self) -> None:
        """Only of use alone: every cut leaves a COMMIT that took place without an answer."""
        self._cut_at_commit("after")

    def _cut_at_commit(self, moment: str) -> None:
        worker = self._worker()
        self.history.fault(f"cut-at-commit {moment} {worker.number}")
        worker.proxy.cut_at_commit(moment)
        self._wait()
        worker.proxy.heal()

    def die_at_commit(self) -> None:
        worker = self._worker()
        moment = self.random.choice(["before", "after"])
        self.history.fault(f"die-at-commit {moment} {worker.number}")
        worker.fault_point.write_text(moment)
        self._wait()
        # The server replaces a process that died, but not soon enough.
        worker.restart()

    def commit_late(self) -> None:
        """Let transactions of other workers overtake those of one worker."""
        worker = self._worker()
        self.history.fault(f"commit-late {worker.number}")
        for _ in range(LATE_COMMITS):
            worker.fault_point.write_text("late")
            time.sleep(self.random.uniform(*LATE_PAUSE_SECONDS))
        worker.fault_point.unlink(missing_ok=True)

    def restart_all_workers(self) -> None:
        self.history.fault("restart-all-workers")
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.start()
        for worker in self.workers:
            worker.wait_until_ready()

    # -- the database --------------------------------------------------------------------------

    def restart_database(self) -> None:
        [node] = self.nodes
        self.history.fault("restart-database")
        node.kill()
        self._wait()
        node.start_again()

    def _node(self) -> Any:
        return self.random.choice(self.nodes)

    def _wait_until_all_synced(self) -> None:
        # With two nodes down, the third one may not continue alone.
        for node in self.nodes:
            node.wait_until_synced()

    def kill_node(self) -> None:
        node = self._node()
        self.history.fault(f"kill-node {node.number}")
        node.kill()
        self._wait()
        node.start_again()
        self._wait_until_all_synced()

    def freeze_node(self) -> None:
        node = self._node()
        self.history.fault(f"freeze-node {node.number}")
        node.freeze()
        self._wait()
        node.thaw()
        self._wait_until_all_synced()

    def isolate_node(self) -> None:
        node = self._node()
        self.history.fault(f"isolate-node {node.number}")
        node.isolate()
        self._wait()
        node.reconnect()
        self._wait_until_all_synced()

    def slow_node(self) -> None:
        node = self._node()
        self.history.fault(f"slow-node {node.number}")
        node.slow_down(self.random.uniform(0.2, 1.0))
        self._wait_until_all_synced()

    # -- after the run -------------------------------------------------------------------------

    def heal(self) -> None:
        """Make everything work again."""
        for worker in self.workers:
            worker.proxy.heal()
            with contextlib.suppress(ProcessLookupError):
                worker.thaw()
        for worker in self.workers:
            try:
                worker.wait_until_ready()
            except RuntimeError:
                worker.restart()
                worker.wait_until_ready()
