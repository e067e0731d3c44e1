"""Results of durable claims, as values that can be saved to a file and read back."""

import statistics

import msgspec

from benchmarks.timings import PlacementRate


class MillionResult(msgspec.Struct, frozen=True, kw_only=True):
    """Many jobs of many consumers, placed by a few clients."""

    database: str
    durable: bool
    hosts: int
    jobs: int
    consumers: int  # of each job
    workers: int
    threads: int
    clients: int
    placed: int  # consumers
    seconds: float
    # Of a job.
    p50_ms: float
    p99_ms: float
    repeated: int  # jobs that were refused, and sent again
    failed: int
    # P: small transactions a second, before and after.
    transactions: list[float] = []
    # Of one placement.
    cpu_service_ms: float
    cpu_database_ms: float
    cpu_clients_ms: float
    # What was wrong afterwards; empty if nothing was.
    findings: list[str] = []

    @property
    def per_second(self) -> float:
        return self.placed / self.seconds

    @property
    def ratio(self) -> float | None:
        """Placements for each small transaction of the same PostgreSQL."""
        if not self.transactions:
            return None
        return self.per_second / statistics.median(self.transactions)


class ClaimRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many claims some concurrent clients make."""

    claims: int
    refused: int
    failed: int
    seconds: float
    p50_ms: float
    p99_ms: float
    # Of one claim.
    cpu_service_ms: float
    cpu_database_ms: float
    cpu_clients_ms: float
    # One of the answers that were not successful, as a hint at the reason.
    example: str = ""

    @property
    def per_second(self) -> float:
        return self.claims / self.seconds


class CloudRates(msgspec.Struct, kw_only=True):
    """Claims on one cloud and kind of database: with COMMIT on disk, and in memory."""

    database: str
    hosts: int
    workers: int
    threads: int
    # P: small transactions a second of a PostgreSQL that waits for the disk.
    transactions: list[float] = []
    # By the key of the case.
    on_disk: dict[str, ClaimRate] = {}
    in_memory: dict[str, ClaimRate] = {}
    million_on_disk: MillionResult | None = None
    million_in_memory: MillionResult | None = None

    @property
    def transactions_per_second(self) -> float:
        return statistics.median(self.transactions)


class PlacingRates(msgspec.Struct, kw_only=True):
    """Ten clients that search, choose and claim, by service."""

    database: str
    dataset: str
    on_disk: dict[str, PlacementRate] = {}
    in_memory: dict[str, PlacementRate] = {}


class DurableResult(msgspec.Struct, kw_only=True):
    millions: list[MillionResult] = []  # in full
    clouds: list[CloudRates] = []
    placing: list[PlacingRates] = []

    def add(self, more: "DurableResult") -> None:
        """Add the results of another run. What it measured again replaces what is here."""
        for million in more.millions:
            self.add_million(million)
        for cloud in more.clouds:
            self.add_cloud(cloud)
        for placing in more.placing:
            self.add_placing(placing)

    def add_million(self, million: MillionResult) -> None:
        key = (million.database, million.hosts)
        kept = [one for one in self.millions if (one.database, one.hosts) != key]
        self.millions = [*kept, million]

    def add_cloud(self, cloud: CloudRates) -> None:
        key = (cloud.database, cloud.hosts)
        kept = [one for one in self.clouds if (one.database, one.hosts) != key]
        self.clouds = [*kept, cloud]

    def add_placing(self, placing: PlacingRates) -> None:
        key = (placing.database, placing.dataset)
        kept = [one for one in self.placing if (one.database, one.dataset) != key]
        self.placing = [*kept, placing]

    @property
    def findings(self) -> list[str]:
        """What was wrong after the million placements."""
        millions = [
            million
            for cloud in self.clouds
            for million in (cloud.million_on_disk, cloud.million_in_memory)
            if million is not None
        ]
        return [finding for each in (*self.millions, *millions) for finding in each.findings]
