"""One run: a database, workers, clients and faults; then the checks."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults import cloud
from tests.faults.checks import Sampler, check_all, check_generations, check_log
from tests.faults.claimers import SETTLE_SECONDS, Claimer, Placer
from tests.faults.clients import Client, ClientThread
from tests.faults.crowds import crowds
from tests.faults.databases import Database
from tests.faults.history import History
from tests.faults.hostile_clients import hostile_clients
from tests.faults.keepers import InventoryWriter, Mover, Reshaper, Watcher
from tests.faults.nemesis import Nemesis
from tests.faults.service import Worker

WORKERS = 4
CLAIMERS = 6
PLACERS = 2
LOOK_SECONDS = 0.2


def run(
    database: Database,
    *,
    seconds: float,
    seed: int,
    worker_count: int = WORKERS,
    process_count: int = 1,
    broken: str | None = None,
    faults: bool = True,
    hostile: bool = False,
    only: str | None = None,
    until_violated: bool = False,
    is_enough: Callable[[History], bool] = lambda history: False,
) -> History:
    """Let clients and faults work for so many seconds, or until it is enough; what happened.

    Each worker is a service of its own, with so many processes.
    With `hostile`, clients that try to stop the service work beside the honest ones. `only` is the
    name of the only fault to inject.
    """
    history = History()
    database.renew()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-faults-")))
        workers = [
            _worker(number, database, folder, broken, process_count)
            for number in range(worker_count)
        ]
        # The first worker creates the tables.
        for worker in workers:
            stack.enter_context(worker)
            worker.wait_until_ready()
        cloud.build(workers[0].url)
        claimers = [Claimer(f"claimer {n}", workers, history, seed) for n in range(CLAIMERS)]
        claimers += [Placer(f"placer {n}", workers, history, seed) for n in range(PLACERS)]
        crowd = crowds(workers, history, seed)
        claimers += crowd
        clients: list[Client] = [
            *claimers,
            *(InventoryWriter(host, workers, history, seed) for host in cloud.HOST_NAMES[:2]),
            Reshaper("reshaper", workers, history, seed),
            Mover("mover", workers, history, seed),
            Watcher("watcher", workers, history, seed),
        ]
        # Without faults, nothing but a defect ends a process.
        processes = [] if faults else [worker.processes() for worker in workers]
        everybody: list[ClientThread] = [*clients]
        if hostile:
            everybody += hostile_clients(workers, history, seed)
        sampler = Sampler(database, history)
        nemesis = Nemesis(workers, database.nodes, history, seed, only)
        for client in everybody:
            client.start()
        sampler.start()
        if faults:
            nemesis.start()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not is_enough(history):
            if until_violated and history.violations:
                break
            time.sleep(LOOK_SECONDS)
        if faults:
            nemesis.stop()
        for client in everybody:
            client.stop()
        for client in everybody:
            client.join()
        sampler.stop()
        for worker in workers:
            history.batches.update(worker.batches())
        if until_violated and history.violations:
            for worker in workers:
                check_log(worker, history)
            return history
        database.heal()
        nemesis.heal()
        if faults:
            time.sleep(SETTLE_SECONDS)
        if processes and processes != [worker.processes() for worker in workers]:
            history.violate("a process of a worker has ended")
        check_all(database, workers, claimers, history)
        check_generations(database, crowd, history)
        if history.violations:
            print(*(f"worker {w.number}:\n{w.log_end()}" for w in workers), sep="\n")
    return history


def _worker(
    number: int, database: Database, folder: Path, broken: str | None, process_count: int
) -> Worker:
    node = database.nodes[number % len(database.nodes)]
    return Worker(number, database.url(), node.port, folder, broken, process_count)
