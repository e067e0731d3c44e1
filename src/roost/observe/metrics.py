"""The metrics of roost, by name; `exposition.py` renders them for Prometheus.

A label never has a value that a client can choose, so the number of series is bounded. One process
and several use the same objects: prometheus_client writes to files instead of memory if
PROMETHEUS_MULTIPROC_DIR is set when it is first imported.
"""

import os
from time import perf_counter

from prometheus_client import CollectorRegistry, Gauge, values
from prometheus_client.metrics import disable_created_metrics

from roost.observe.counting import Counter, Histogram

# A `_created` series for each metric would double their number, and nobody uses them.
disable_created_metrics()  # type: ignore[no-untyped-call]

_process_id = os.getpid()


def _note_process_id() -> None:
    global _process_id
    _process_id = os.getpid()


# Whenever something is counted, the library asks for the process id, in case of a fork. To ask the
# system takes longer than to count.
os.register_at_fork(after_in_child=_note_process_id)
if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
    values.ValueClass = values.MultiProcessValue(lambda: _process_id)  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()

# The value of a label for paths and methods that are not in the API.
OTHER = "other"

_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LOAD_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
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
    "How long requests took to answer, without the time that they waited for the end of a hold.",
    ["route", "method"],
    buckets=_REQUEST_SECONDS,
    registry=REGISTRY,
)
CONFLICTS = Counter(
    "roost_conflicts",
    "Requests that were refused with 409, by the kind of refusal, such as CapacityExceeded, "
    "ConsumerGenerationConflict or ConcurrentUpdate.",
    ["reason"],
    registry=REGISTRY,
)

# ---------------------------------------------------------------------------------------------
# Searches

# Only sums: they cost half as much as a histogram, and the routes have histograms.
_SEARCH_SECONDS = Counter(
    "roost_search_seconds",
    "Total time spent in each stage of searches for candidates: catch_up (with the change feed), "
    "search, render. Divided by roost_search_candidates_count it is the mean of a search.",
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

SEARCHES_OUT_OF_TIME = Counter(
    "roost_searches_out_of_time",
    "Searches, explanations, counts of capacity and placements that used up "
    "[roost]search_seconds_max.",
    registry=REGISTRY,
)

# ---------------------------------------------------------------------------------------------
# Claims

CLAIMS_PER_COMMIT = Histogram(
    "roost_claims_per_commit",
    "How many claims of new consumers were committed together. The more clients claim at once, the "
    "higher.",
    buckets=_BATCH_SIZES,
    registry=REGISTRY,
)

# ---------------------------------------------------------------------------------------------
# The index. Each process has its own, so these gauges have a label for the process.

INDEX_PROVIDERS = Gauge(
    "roost_index_providers",
    "Providers in the index.",
    ["process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
INDEX_ROWS = Gauge(
    "roost_index_rows",
    "Rows of the index: its providers, and rows of former providers that are not removed yet.",
    ["process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
INDEX_CAUGHT_UP = Gauge(
    "roost_index_caught_up_timestamp_seconds",
    "When the index had last caught up with the database. It catches up before each answer, so "
    "that of an idle process is old.",
    ["process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
INDEX_RECORDS = Counter(
    "roost_index_records",
    "Records of the change feed that the index found when it caught up: how far it was behind, "
    "summed up.",
    registry=REGISTRY,
)
INDEX_LOADS = Counter(
    "roost_index_loads",
    "How often the whole index was loaded: at the start, or anew because the feed has a gap (the "
    "database was restored from a backup, or the process was paused for long).",
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
    "Transactions that ran again: proposal (an optimistic write was decided on an index that was "
    "out of date), race (another writer was first), connection (it was lost before COMMIT), "
    "placement (another writer claimed the chosen candidate, and the next one was tried).",
    ["reason"],
    registry=REGISTRY,
)
RETRY_PROPOSAL = _RETRIES.labels("proposal")
RETRY_RACE = _RETRIES.labels("race")
RETRY_CONNECTION = _RETRIES.labels("connection")
RETRY_PLACEMENT = _RETRIES.labels("placement")
CONNECTIONS_USED = Gauge(
    "roost_database_connections_used",
    "Connections to the database that are in use. The pool read includes one or two that each "
    "process keeps for the change feed, and write one for claims.",
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
    "Requests that got no connection in time, and were answered with 503.",
    registry=REGISTRY,
)


# ---------------------------------------------------------------------------------------------
# Events

EVENT_WATCHERS = Gauge(
    "roost_event_watchers",
    "Clients that wait for events, in streams and long polls.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)

# ---------------------------------------------------------------------------------------------
# Trees that are held

HOLDS = Counter(
    "roost_holds",
    "Holds of trees that were granted.",
    registry=REGISTRY,
)
HELD_REQUESTS = Counter(
    "roost_held_requests",
    "Claims and releases that had to wait for the end of a hold.",
    registry=REGISTRY,
)
HELD_WAITING = Gauge(
    "roost_held_requests_waiting",
    "Claims and releases that wait for the end of a hold.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
HELD_SECONDS = Histogram(
    "roost_held_seconds",
    "How long claims and releases waited for the end of a hold.",
    buckets=_REQUEST_SECONDS,
    registry=REGISTRY,
)


class Stopwatch:
    """Measures consecutive stages."""

    def __init__(self) -> None:
        self._last = perf_counter()

    def lap(self, stage: Counter) -> None:
        """End a stage, which began when the one before it ended."""
        now = perf_counter()
        stage.inc(now - self._last)
        self._last = now
