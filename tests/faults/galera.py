"""A Galera cluster of three MariaDB nodes on loopback, in temporary folders."""

import contextlib
import os
import shutil
import signal
import time
from types import TracebackType
from typing import Self

from tests.support.database_servers import MariaDB, free_port, missing

NODES = 3
JOIN_SECONDS_MAX = 90
PROVIDER = "/usr/lib/galera/libgalera_smm.so"

# After how long a silent node counts as lost: much sooner than by default, so that a run of minutes
# has many faults.
TIMEOUTS = {
    "evs.keepalive_period": "PT0.3S",
    "evs.suspect_timeout": "PT1.5S",
    "evs.inactive_timeout": "PT3S",
    "evs.inactive_check_period": "PT0.3S",
    "evs.install_timeout": "PT3S",
    "gmcast.peer_timeout": "PT1S",
}


class Node(MariaDB):
    """One node. It can be killed, frozen, isolated from the others, and started again."""

    title = "MariaDB (Galera)"

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.group_port = free_port()
        self.transfer_port = free_port()
        self.donor_port = free_port()
        self.members: list[Node] = []
        self._founds = False

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _serve_command(self) -> list[str]:
        others = [member for member in self.members if member is not self]
        addresses = ",".join(f"127.0.0.1:{node.group_port}" for node in others)
        options = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self.group_port}",
            "ist.recv_addr": f"127.0.0.1:{self.transfer_port}",
            "gcache.size": "64M",
            # All nodes know the members from the start, so that a node alone does not form a
            # cluster.
            **TIMEOUTS,
        }
        return [
            *super()._serve_command(),
            "--wsrep-on=ON",
            f"--wsrep-provider={PROVIDER}",
            "--wsrep-cluster-name=roost",
            f"--wsrep-cluster-address=gcomm://{'' if self._founds else addresses}",
            f"--wsrep-node-name=node{self.number}",
            f"--wsrep-node-address=127.0.0.1:{self.group_port}",
            f"--wsrep-sst-receive-address=127.0.0.1:{self.donor_port}",
            "--wsrep-sst-method=rsync",
            "--wsrep-slave-threads=2",
            f"--wsrep-provider-options={';'.join(f'{k}={v}' for k, v in options.items())}",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            "--innodb-lock-wait-timeout=10",
            "--default-storage-engine=InnoDB",
        ]

    def status(self, name: str) -> str:
        with self._cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE %s", [name])
            row = cursor.fetchone()
        return "" if row is None else str(row[1])

    def is_synced(self) -> bool:
        """Whether the node is a member of the cluster and has applied all that it received."""
        with contextlib.suppress(Exception):
            return (
                self.status("wsrep_ready") == "ON"
                and self.status("wsrep_local_state_comment") == "Synced"
                and self.status("wsrep_cluster_status") == "Primary"
            )
        return False

    def wait_until_synced(self) -> None:
        deadline = time.monotonic() + JOIN_SECONDS_MAX
        while not self.is_synced():
            if time.monotonic() > deadline:
                raise RuntimeError(f"node {self.number} did not join:\n{self.log_end()}")
            time.sleep(0.2)

    def log_end(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    # -- faults --------------------------------------------------------------------------------

    def kill(self) -> None:
        os.kill(self.process_id, signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def start_again(self) -> None:
        self._founds = False
        self._start()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def freeze(self) -> None:
        os.kill(self.process_id, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process_id, signal.SIGCONT)

    def isolate(self) -> None:
        """Cut the node off from the others, in both directions."""
        self._set_option("gmcast.isolate=1")

    def reconnect(self) -> None:
        self._set_option("gmcast.isolate=0")

    def slow_down(self, seconds: float) -> None:
        """Stop applying the writes of other nodes for some time."""
        with self._cursor() as cursor:
            # Meanwhile the other nodes do not wait for this one.
            cursor.execute("SET GLOBAL wsrep_desync = ON")
            try:
                cursor.execute("FLUSH TABLES WITH READ LOCK")
                time.sleep(seconds)
                cursor.execute("UNLOCK TABLES")
            finally:
                cursor.execute("SET GLOBAL wsrep_desync = OFF")

    def _set_option(self, option: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(f"SET GLOBAL wsrep_provider_options = '{option}'")


class Cluster:
    """Three nodes that all accept writes."""

    title = "Galera"

    def __init__(self) -> None:
        self.nodes = [Node(number) for number in range(NODES)]
        for node in self.nodes:
            node.members = self.nodes

    def __enter__(self) -> Self:
        if not os.path.exists(PROVIDER) or shutil.which("rsync") is None:
            missing("galera-4 or rsync")
        with contextlib.ExitStack() as stack:
            self.nodes[0]._founds = True
            for node in self.nodes:
                stack.enter_context(node)
                node.wait_until_synced()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def create_database(self) -> str:
        """Create a database on every node; its name."""
        return self.nodes[0].create_database().rpartition("/")[2]

    def heal(self) -> None:
        """Bring every node up, connected and in sync."""
        for node in self.nodes:
            if not node.is_running():
                node.start_again()
        for node in self.nodes:
            with contextlib.suppress(Exception):
                node.reconnect()
        for node in self.nodes:
            node.wait_until_synced()
