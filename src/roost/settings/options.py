"""The options of roost itself, by section."""

from collections.abc import Mapping, Sequence

from oslo_config import cfg, types

from roost.settings.values import INCOMPLETE_ID, LOG_LEVELS

DATABASE = "placement_database"

OPTIONS: Mapping[str, Sequence[cfg.Opt]] = {
    "DEFAULT": [
        cfg.BoolOpt("debug", default=False, help="Log at level DEBUG instead of INFO."),
        cfg.BoolOpt("use_json", default=False, help="Log JSON, one object on each line."),
        cfg.StrOpt(
            "log_file",
            deprecated_name="logfile",
            help="Log to this file instead of the standard error output. Empty: not set.",
        ),
        cfg.StrOpt("log_dir", deprecated_name="logdir", help="The folder of a relative log_file."),
        cfg.ListOpt(
            "default_log_levels",
            default=LOG_LEVELS,
            help="The lowest level that each logger logs, as logger=LEVEL. roost.requests=WARNING "
            "suppresses the line for each request.",
        ),
    ],
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=["keystone", "noauth2"],
            help="How tokens are checked. keystone: as [keystone_authtoken] says. noauth2 accepts "
            "every token, for tests and development.",
        ),
    ],
    "placement": [
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Shuffle trees and providers before the limit of a search is applied.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=INCOMPLETE_ID,
            help="The project of consumers that clients wrote without one (before 1.8).",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id",
            default=INCOMPLETE_ID,
            help="The user of consumers that clients wrote without one (before 1.8).",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count",
            default=10,
            min=0,
            help="How many times the server tries a write of allocations again when another "
            "writer was first.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            min=-1,
            help="How many candidates an answer may have at most. -1: no limit.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="breadth-first",
            choices=["depth-first", "breadth-first"],
            help="breadth-first: trees take turns, so that one wide tree cannot fill the answer. "
            "depth-first: all candidates of one tree, then those of the next.",
        ),
    ],
    DATABASE: [
        cfg.StrOpt(
            "connection",
            secret=True,
            help="The URL of the database. Not set: an embedded SQLite file.",
        ),
        cfg.BoolOpt(
            "sync_on_startup",
            help="Create or migrate the tables at start. Not set: roost serve does, other servers "
            "do so only for the embedded file.",
        ),
        cfg.IntOpt(
            "max_pool_size",
            default=5,
            min=0,
            help="How many connections each pool of a process keeps open. 0: no limit.",
        ),
        cfg.IntOpt(
            "max_overflow",
            default=50,
            min=-1,
            help="How many connections may be opened beyond max_pool_size. -1: no limit.",
        ),
        cfg.IntOpt("pool_timeout", min=0, help="How many seconds to wait for a connection."),
        cfg.IntOpt(
            "connection_recycle_time",
            default=3600,
            min=-1,
            help="After how many seconds a connection is renewed. -1: never.",
        ),
        cfg.StrOpt(
            "mysql_sql_mode",
            default="TRADITIONAL",
            help="The SQL mode of sessions on MariaDB and MySQL.",
        ),
        cfg.IntOpt(
            "mysql_wsrep_sync_wait",
            min=0,
            max=15,
            help="wsrep_sync_wait of sessions. Not set: what reads on a Galera cluster need.",
        ),
        cfg.BoolOpt("sqlite_synchronous", default=True, help="Wait until a commit is on the disk."),
        cfg.StrOpt(
            "connection_parameters",
            default="",
            help="Parameters that are appended to the URL, as name=value&name=value. The same "
            "rules hold for them.",
        ),
    ],
    "roost": [
        cfg.BoolOpt(
            "allow_remote_noauth2",
            default=False,
            help="Let noauth2 accept requests from other machines. Anybody who reaches the service "
            "can then change everything.",
        ),
        cfg.FloatOpt(
            "search_seconds_max",
            default=5.0,
            min=0.1,
            help="How long one search, explanation, count of capacity or choice of a placement may "
            "take. One that takes longer gives up, and says so.",
        ),
        cfg.IntOpt(
            "answer_bytes_max",
            default=512 * 1024 * 1024,
            min=1024 * 1024,
            help="The size of the largest answer. A search without a limit whose candidates take "
            "more than this is refused.",
        ),
        cfg.IntOpt(
            "body_bytes_max",
            default=1024 * 1024,
            min=1024,
            help="The size of the largest body of a request. Bodies that hold many consumers "
            "(POST /allocations, POST /placements, POST /reshaper) may be 64 times as large.",
        ),
        cfg.FloatOpt(
            "body_seconds_max",
            default=30.0,
            min=0.1,
            help="How long a client may take to send the body of a request.",
        ),
        cfg.IntOpt(
            "event_streams_max",
            min=0,
            help="How many requests to GET /events may wait for changes at once in each process. "
            "Not set: 1000 with roost serve, where waiting takes no thread; 2 with other servers, "
            "where each takes a thread of the process, so raise it together with the number of "
            "threads. 0: no request may wait.",
        ),
        cfg.FloatOpt(
            "hold_seconds_max",
            default=10.0,
            min=0.1,
            max=60.0,
            help="How long one hold may keep claims and releases in a tree waiting for a reshape. "
            "A client that asks for more gets this.",
        ),
        cfg.ListOpt(
            "summary_metrics",
            default=[],
            item_type=types.String(choices=["total", "aggregates", "traits"]),
            help="What GET /metrics says about the cloud, as GET /summary does: sums over all "
            "providers (total), for each aggregate, for each trait of the roots of trees. Whoever "
            "reaches /metrics then sees the names of aggregates, traits and resource classes.",
        ),
        cfg.IntOpt(
            "summary_metrics_max",
            default=10_000,
            min=1,
            help="How many series summary_metrics may have at most. Aggregates and traits beyond "
            "that are left out.",
        ),
        cfg.StrOpt(
            "url_prefix",
            default="",
            help="The path below which the API is served, such as /placement, if the server or "
            "proxy in front does not remove it. Requests without it are answered too.",
        ),
        cfg.BoolOpt(
            "console",
            help="Serve the console, pages for browsers, at /console. Not set: only if no database "
            "is configured, so that roost uses its embedded one. False also turns off /docs.",
        ),
        cfg.BoolOpt(
            "console_login",
            default=True,
            help="Let the console exchange a name and a password for a token of Keystone. Without "
            "it, or with noauth2, users paste a token.",
        ),
    ],
    # Only the options of these two sections that decide whether their middleware is used at all.
    "cors": [
        cfg.ListOpt(
            "allowed_origin",
            default=[],
            help="Origins whose pages may use the API. Empty: no CORS.",
        ),
    ],
    "oslo_middleware": [
        cfg.BoolOpt(
            "enable_proxy_headers_parsing",
            default=False,
            help="Trust what the X-Forwarded-* headers of a proxy in front of roost say about the "
            "client.",
        ),
    ],
    "workarounds": [
        cfg.BoolOpt(
            "optimize_for_wide_provider_trees",
            default=False,
            help="Accepted, and without effect: the search is fast without it.",
        ),
    ],
}


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """Every option of roost itself, for `oslo-config-generator --namespace roost`.

    The options of libraries are in their own namespaces: `keystonemiddleware.auth_token`,
    `oslo.policy`, `oslo.middleware`.
    """
    return [
        (group, options)
        for group, options in OPTIONS.items()
        if group not in ("cors", "oslo_middleware")
    ]
