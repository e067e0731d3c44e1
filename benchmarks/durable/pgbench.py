"""P: the durable small transactions a second of the same PostgreSQL, measured by pgbench.

Disks differ, and so do machines. A rate of claims says something once it is divided by P.
"""

import re
import statistics
import subprocess

from benchmarks.databases import PostgreSQL

CLIENTS = 10
THREADS = 2
# A branch for each client: with fewer rows than that, clients would wait for each other.
SCALE = 10


class PgBench:
    """pgbench on a database of its own. Each measurement is one more sample."""

    def __init__(self, server: PostgreSQL) -> None:
        self._server = server
        self._database_name = server.create_database().rpartition("/")[2]
        self.samples: list[float] = []
        self._run("--initialize", "--quiet", f"--scale={SCALE}")

    def measure(self, seconds: int) -> float:
        """Transactions a second: an update, a read and an insert each."""
        output = self._run(
            "--skip-some-updates",
            # The tables stay as they are, also for the next sample.
            "--no-vacuum",
            f"--client={CLIENTS}",
            f"--jobs={THREADS}",
            f"--time={seconds}",
        )
        found = re.search(r"^tps = ([0-9.]+)", output, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"pgbench did not say how many:\n{output}")
        self.samples.append(float(found[1]))
        return self.samples[-1]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def _run(self, *options: str) -> str:
        address = ("--host=127.0.0.1", f"--port={self._server.port}", "--username=roost")
        done = subprocess.run(
            [str(self._server.programs / "pgbench"), *address, *options, self._database_name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"pgbench failed:\n{done.stdout}{done.stderr}")
        return done.stdout
