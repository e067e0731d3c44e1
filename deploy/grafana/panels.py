"""What the dashboard shows: rows of panels, each with its queries."""

from collections.abc import Sequence
from typing import Any, NamedTuple

# Every query selects by these. `$instance` is a regular expression.
CHOSEN = 'job="$job", instance=~"$instance"'
# What clients ask for; probes and collectors do not count.
CLIENTS = f'{CHOSEN}, route!~"/livez|/readyz|/metrics"'


class Query(NamedTuple):
    """A line of a graph, or several that its labels tell apart."""

    expression: str
    legend: str = ""


class Panel(NamedTuple):
    """A graph over time, or the present value as a number."""

    title: str
    queries: Sequence[Query]
    unit: str = "short"  # by Grafana's names
    text: str = ""  # what a reader may not know
    is_number: bool = False
    red_above: float | None = None


def rate(metric: str, selector: str = CHOSEN, by: str = "") -> str:
    """How often something happens in a second, on all machines."""
    grouping = f" by ({by})" if by else ""
    return f"sum{grouping} (rate({metric}{{{selector}}}[$__rate_interval]))"


def quantile(share: float, histogram: str, selector: str = CHOSEN, by: str = "") -> str:
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, {rate(f'{histogram}_bucket', selector, labels)})"


def amounts(amount: str) -> str:
    """The sum of each class; every machine knows the whole cloud."""
    selector = f'{CHOSEN}, amount="{amount}"'
    return f"max by (resource_class) (roost_summary_resources{{{selector}}})"


FAILURES = f'{CLIENTS}, status=~"5.."'
SEARCHES = f'{CHOSEN}, route="/allocation_candidates"'
CLAIM_ROUTES = "/allocations|/allocations/{consumer_uuid}|/placements"
CLAIMS = f'{CHOSEN}, route=~"{CLAIM_ROUTES}", method=~"PUT|POST"'
REQUESTS = "roost_http_requests_total"
SECONDS = "roost_http_request_seconds"


def number(title: str, expression: str, **more: Any) -> Panel:
    return Panel(title, [Query(expression)], is_number=True, **more)


ROWS: dict[str, Sequence[Panel]] = {
    "Overview": [
        number("Machines that answer", 'sum(up{job="$job", instance=~"$instance"})'),
        number("Requests", rate(REQUESTS, CLIENTS), unit="reqps"),
        number(
            "Failed requests",
            f"({rate(REQUESTS, FAILURES)} or vector(0)) / {rate(REQUESTS, CLIENTS)}",
            unit="percentunit",
            red_above=0.01,
        ),
        number("Searches, 99 %", quantile(0.99, SECONDS, SEARCHES), unit="s", red_above=1),
        number("Claims, 99 %", quantile(0.99, SECONDS, CLAIMS), unit="s", red_above=1),
        number("Providers", f"max(roost_index_providers{{{CHOSEN}}})"),
    ],
    "Traffic": [
        Panel(
            "Requests by route",
            [Query(rate(REQUESTS, CLIENTS, "method, route"), "{{method}} {{route}}")],
            unit="reqps",
        ),
        Panel(
            "Answers by status",
            [Query(rate(REQUESTS, CLIENTS, "status"), "{{status}}")],
            unit="reqps",
        ),
        Panel(
            "Failures by route",
            [
                Query(
                    rate(REQUESTS, FAILURES, "route, status"),
                    "{{status}} {{route}}",
                )
            ],
            unit="reqps",
            text="Empty while nothing fails.",
        ),
        Panel(
            "Readiness",
            [
                Query(
                    rate(REQUESTS, f'{CHOSEN}, route="/readyz"', "instance, status"),
                    "{{instance}}: {{status}}",
                )
            ],
            unit="reqps",
            text="Answers of /readyz. 503: the machine gets no requests from its load balancer.",
        ),
        Panel(
            "Event streams",
            [
                Query(f"sum by (instance) (roost_event_watchers{{{CHOSEN}}})", "{{instance}}"),
            ],
            text="Clients that wait for events, in streams and long polls.",
        ),
        Panel(
            "Versions",
            [
                Query(
                    f"count by (version, python) (roost_build_info{{{CHOSEN}}})",
                    "roost {{version}}, Python {{python}}",
                )
            ],
            text="How many machines run each version.",
        ),
    ],
    "Latency": [
        Panel(
            "Half of the requests, by route",
            [Query(quantile(0.5, SECONDS, CLIENTS, "method, route"), "{{method}} {{route}}")],
            unit="s",
        ),
        Panel(
            "99 % of the requests, by route",
            [Query(quantile(0.99, SECONDS, CLIENTS, "method, route"), "{{method}} {{route}}")],
            unit="s",
        ),
        Panel(
            "A search, by stage",
            [
                Query(
                    f"{rate('roost_search_seconds_total', by='stage')} / on () group_left () "
                    f"{rate('roost_search_candidates_count')}",
                    "{{stage}}",
                )
            ],
            unit="s",
            text="The mean. catch_up is the change feed.",
        ),
        Panel(
            "Candidates of a search",
            [
                Query(quantile(0.5, "roost_search_candidates"), "half of the searches"),
                Query(quantile(0.9, "roost_search_candidates"), "90 %"),
            ],
        ),
        Panel(
            "Searches that gave up",
            [Query(rate("roost_searches_out_of_time_total", by="instance"), "{{instance}}")],
            unit="reqps",
            text="They used up [roost]search_seconds_max.",
        ),
    ],
    "Claims": [
        Panel(
            "Claims and transactions",
            [
                Query(rate("roost_claims_per_commit_sum"), "claims of new consumers"),
                Query(rate("roost_claims_per_commit_count"), "transactions for them"),
            ],
            unit="ops",
        ),
        Panel(
            "Claims in a transaction",
            [
                Query(
                    f"{rate('roost_claims_per_commit_sum')} "
                    f"/ {rate('roost_claims_per_commit_count')}",
                    "mean",
                ),
                Query(quantile(0.99, "roost_claims_per_commit"), "99 %"),
            ],
            text="The more clients claim at once, the higher.",
        ),
        Panel(
            "Conflicts",
            [Query(rate("roost_conflicts_total", by="reason"), "{{reason}}")],
            unit="reqps",
            text="Requests that were refused with 409.",
        ),
        Panel(
            "Transactions that were repeated",
            [Query(rate("roost_transaction_retries_total", by="reason"), "{{reason}}")],
            unit="ops",
        ),
        Panel(
            "Claims that wait for a hold",
            [
                Query(f"sum(roost_held_requests_waiting{{{CHOSEN}}})", "waiting"),
                Query(rate("roost_held_requests_total"), "had to wait, a second"),
                Query(rate("roost_holds_total"), "holds, a second"),
            ],
        ),
        Panel(
            "How long they wait",
            [
                Query(quantile(0.5, "roost_held_seconds"), "half of them"),
                Query(quantile(0.99, "roost_held_seconds"), "99 %"),
            ],
            unit="s",
        ),
    ],
    "Index": [
        Panel(
            "Rows",
            [
                Query(
                    f"max by (instance) (roost_index_providers{{{CHOSEN}}})",
                    "{{instance}}: providers",
                ),
                Query(f"max by (instance) (roost_index_rows{{{CHOSEN}}})", "{{instance}}: rows"),
            ],
        ),
        Panel(
            "Since the index caught up",
            [
                Query(
                    f"time() - roost_index_caught_up_timestamp_seconds{{{CHOSEN}}}",
                    "{{instance}}: {{process}}",
                )
            ],
            unit="s",
            text="An index catches up before each answer, so that of an idle process is old.",
        ),
        Panel(
            "Change records",
            [Query(rate("roost_index_records_total", by="instance"), "{{instance}}")],
            unit="ops",
            text="Records that indexes found when they caught up: how far they were behind.",
        ),
        Panel(
            "Loads of the whole index",
            [
                Query(
                    "sum by (instance, reason) "
                    f"(increase(roost_index_loads_total{{{CHOSEN}}}[$__rate_interval]))",
                    "{{instance}}: {{reason}}",
                )
            ],
            text="start: a worker started. anew: the change feed was not enough.",
        ),
        Panel(
            "How long a load takes",
            [Query(quantile(0.99, "roost_index_load_seconds"), "99 %")],
            unit="s",
        ),
    ],
    "Database": [
        Panel(
            "Connections",
            [
                Query(
                    f"sum by (instance, pool) (roost_database_connections_used{{{CHOSEN}}})",
                    "{{instance}}: {{pool}}",
                ),
                Query(
                    f"sum by (instance, pool) (roost_database_connections_max{{{CHOSEN}}})",
                    "{{instance}}: {{pool}}, at most",
                ),
            ],
        ),
        Panel(
            "Requests without a connection",
            [
                Query(
                    rate("roost_database_connection_timeouts_total", by="instance"), "{{instance}}"
                )
            ],
            unit="reqps",
            text="All connections were in use for too long. The answer is 503.",
        ),
    ],
    "Capacity (with [roost]summary_metrics = total)": [
        Panel(
            "Used",
            [
                Query(
                    f"{amounts('used')} / ({amounts('capacity')} > 0)",
                    "{{resource_class}}",
                )
            ],
            unit="percentunit",
            red_above=0.9,
        ),
        Panel(
            "Free",
            [
                Query(
                    amounts("free"),
                    "{{resource_class}}",
                )
            ],
        ),
        Panel(
            "Trees and providers",
            [
                Query(f"max(roost_summary_trees{{{CHOSEN}}})", "trees"),
                Query(f"max(roost_summary_providers{{{CHOSEN}}})", "providers"),
            ],
        ),
    ],
    "Processes": [
        Panel(
            "Memory",
            [Query(f"process_resident_memory_bytes{{{CHOSEN}}}", "{{instance}}: {{process}}")],
            unit="bytes",
        ),
        Panel(
            "Processors",
            [
                Query(
                    f"rate(process_cpu_seconds_total{{{CHOSEN}}}[$__rate_interval])",
                    "{{instance}}: {{process}}",
                )
            ],
            text="1 is one processor.",
        ),
        Panel(
            "Open files",
            [
                Query(
                    f"process_open_fds{{{CHOSEN}}} / process_max_fds{{{CHOSEN}}}",
                    "{{instance}}: {{process}}",
                )
            ],
            unit="percentunit",
        ),
    ],
}
