"""What roost counts and measures of itself.

Only the names and what they mean; `exposition.py` writes them down for Prometheus. A label never
takes a value that a client can choose, so that the number of series is bounded. Metrics of one
process and of several are the same objects: the library writes to files instead of memory if
PROMETHEUS_MULTIPROC_DIR is set in the environment when it is first imported.
"""

import os
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import disable_created_metrics

# When a series was first seen is of no use to anybody, and would double their number.
disable_created_metrics()  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()

# The value of a label for everything that has no name of its own: paths and methods that are
# not in the API.
OTHER = "other"

_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LOAD_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_CANDIDATES = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000)

# ---------------------------------------------------------------------------------------------
# Requests

REQUESTS = Counter(
    "roost_http_requests",
    "Requests that were answered.",
    ["route", "method", "status"],
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "roost_http_request_seconds",
    "How long answers took.",
    ["route", "method"],
    buckets=_REQUEST_SECONDS,
    registry=REGISTRY,
)
CONFLICTS = Counter(
    "roost_conflicts",
    "Requests that were refused with 409, by the kind of refusal.",
    ["reason"],
    registry=REGISTRY,
)

# ---------------------------------------------------------------------------------------------
# Searches

# Sums alone: they cost half of what a histogram does, and the routes have histograms.
_SEARCH_SECONDS = Counter(
    "roost_search_seconds",
    "How long the stages of searches for candidates took, in all.",
    ["stage"],
    registry=REGISTRY,
)
SEARCH_CATCH_UP = _SEARCH_SECONDS.labels("catch_up")
SEARCH_FIND = _SEARCH_SECONDS.labels("search")
SEARCH_RENDER = _SEARCH_SECONDS.labels("render")
SEARCH_CANDIDATES = Histogram(
    "roost_search_candidates",
    "How many candidates a search found.",
    buckets=_CANDIDATES,
    registry=REGISTRY,
)

# ---------------------------------------------------------------------------------------------
# The index. Each process has its own, so these gauges say of which process they are.

INDEX_PROVIDERS = Gauge(
    "roost_index_providers",
    "Providers in the index.",
    ["process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
INDEX_ROWS = Gauge(
    "roost_index_rows",
    "Rows of the index: its providers, and what is left of former ones.",
    ["process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
INDEX_CAUGHT_UP = Gauge(
    "roost_index_caught_up_timestamp_seconds",
    "When the index last was in step with the database.",
    ["process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
INDEX_RECORDS = Counter(
    "roost_index_records",
    "Records of the change feed that catching up found.",
    registry=REGISTRY,
)
INDEX_LOADS = Counter(
    "roost_index_loads",
    "How often the index was loaded as a whole: first, or because the feed could not tell.",
    ["reason"],
    registry=REGISTRY,
)
LOADED_FIRST = INDEX_LOADS.labels("start")
LOADED_ANEW = INDEX_LOADS.labels("anew")
INDEX_LOAD_SECONDS = Histogram(
    "roost_index_load_seconds",
    "How long loading the index took.",
    buckets=_LOAD_SECONDS,
    registry=REGISTRY,
)


class IndexGauges:
    """The gauges of the index of this process."""

    def __init__(self) -> None:
        process = str(os.getpid())
        self.providers = INDEX_PROVIDERS.labels(process)
        self.rows = INDEX_ROWS.labels(process)
        self.caught_up = INDEX_CAUGHT_UP.labels(process)


# ---------------------------------------------------------------------------------------------
# The database

_RETRIES = Counter(
    "roost_transaction_retries",
    "Transactions that ran again: the index had proposed what is not so, a race was lost, or the "
    "connection was.",
    ["reason"],
    registry=REGISTRY,
)
RETRY_PROPOSAL = _RETRIES.labels("proposal")
RETRY_RACE = _RETRIES.labels("race")
RETRY_CONNECTION = _RETRIES.labels("connection")
RETRY_PLACEMENT = _RETRIES.labels("placement")
CONNECTIONS_USED = Gauge(
    "roost_database_connections_used",
    "Connections to the database that are in use.",
    ["pool"],
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
CONNECTIONS_MAX = Gauge(
    "roost_database_connections_max",
    "How many connections to the database may be in use at once.",
    ["pool"],
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
CONNECTION_TIMEOUTS = Counter(
    "roost_database_connection_timeouts",
    "How often all connections were in use for so long that a request was refused.",
    registry=REGISTRY,
)


class Stopwatch:
    """How long the stages of something took, one after the other."""

    def __init__(self) -> None:
        self._last = perf_counter()

    def lap(self, stage: Counter) -> None:
        """The stage that began when the one before it ended is over."""
        now = perf_counter()
        stage.inc(now - self._last)
        self._last = now
