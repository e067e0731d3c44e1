"""What `benchmarks/sizing.py` has measured."""

import msgspec


class Cost(msgspec.Struct):
    """The processor time of a request."""

    roost_ms: float
    database_ms: float


class Size(msgspec.Struct):
    """A cloud on one kind of database, served by one worker."""

    hosts: int
    providers: int
    allocations: int
    database: str
    disk_bytes: int
    start_seconds: float  # processor time until a search is answered
    started_bytes: int  # of the worker
    highest_bytes: int  # while it loaded its index
    busy_bytes: int  # after searches and claims
    search: Cost
    claim: Cost


class Load(msgspec.Struct):
    """A cloud served by a number of workers."""

    hosts: int
    database: str
    workers: int
    search: Cost
    claim: Cost
    connections: int  # to the database
    shared_bytes: int  # of all processes, what they share counted once


class Sizes(msgspec.Struct):
    """All of it."""

    machine: str
    sizes: list[Size]
    loads: list[Load]
