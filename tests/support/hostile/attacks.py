"""The attacks, by name. Each is a function that sends requests and returns what came back.

`benchmarks/hostile.py` measures all of them; `tests/hostile` asserts what each sender gets and that
a neighbour is served meanwhile.
"""

import itertools
import json
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.support.headers import HEADERS
from tests.support.hostile import searches, streams
from tests.support.hostile.wire import Body, Outcome, exchange, whole

OWNER = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
VERSION = {name: value for name, value in HEADERS.items() if name != "x-auth-token"}


class Target(NamedTuple):
    """Whom to attack, and how hard."""

    port: int
    seconds_max: float = 30.0  # how long a client waits
    slow_seconds_max: float = 40.0  # the same for one that sends its body slowly
    senders: int = 64
    streams: int = 1000
    body_bytes: int = 60_000_000
    keys: int = 1_000_000
    query_characters: int = 400_000
    wait_seconds: int = 20  # of a long poll
    groups_many: int = 6  # 8 ** 6 candidates
    groups_endless: int = 8  # 8 ** 8 candidates


Attack = Callable[[Target], list[Outcome]]


def at_once(count: int, send: Callable[[], Outcome]) -> list[Outcome]:
    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(send) for _ in range(count)]]


# ---------------------------------------------------------------------------------------------
# Searches


def get(path: str, query: Callable[[], str], *, limit: int | None = None) -> Attack:
    """One GET with that query."""

    def attack(target: Target) -> list[Outcome]:
        text = query() + (f"&limit={limit}" if limit else "")
        return [_get(target, f"{path}?{text}")]

    return attack


def _get(target: Target, path: str, *, slow_reader: bool = False) -> Outcome:
    return exchange(
        target.port, "GET", quoted(path), seconds_max=target.seconds_max, slow_reader=slow_reader
    )


def quoted(path: str) -> str:
    return urllib.parse.quote(path, safe="/?&=:,!_-")


def search(query: Callable[[], str], *, limit: int | None = None) -> Attack:
    return get("/allocation_candidates", query, limit=limit)


def many_searches(query: Callable[[], str]) -> Attack:
    def attack(target: Target) -> list[Outcome]:
        path = f"/allocation_candidates?{query()}&limit=1"
        return at_once(target.senders, lambda: _get(target, path))

    return attack


def many_reads(path: str) -> Attack:
    """Many clients that read everything there is."""
    return lambda target: at_once(target.senders, lambda: _get(target, path))


def placement(query: Callable[[], str]) -> Attack:
    def attack(target: Target) -> list[Outcome]:
        consumer = str(uuid.uuid4())
        body = {"query": query(), "consumers": {consumer: OWNER}}
        outcome = _post(target, "/placements", json.dumps(body).encode())
        if outcome.status == 200:
            exchange(target.port, "DELETE", f"/allocations/{consumer}", seconds_max=5)
        return [outcome]

    return attack


def unlimited(target: Target) -> list[Outcome]:
    return [_get(target, f"/allocation_candidates?{searches.combinations(target.groups_many)}")]


def unlimited_slow_reader(target: Target) -> list[Outcome]:
    path = f"/allocation_candidates?{searches.combinations(target.groups_many)}"
    return [_get(target, path, slow_reader=True)]


def unlimited_slow_readers(target: Target) -> list[Outcome]:
    path = f"/allocation_candidates?{searches.combinations(target.groups_many)}"
    return at_once(target.senders, lambda: _get(target, path, slow_reader=True))


def unlimited_without_end(target: Target) -> list[Outcome]:
    return [_get(target, f"/allocation_candidates?{searches.combinations(target.groups_endless)}")]


def long_query(target: Target) -> list[Outcome]:
    text = searches.many_groups(target.query_characters)
    return [_get(target, f"/allocation_candidates?{text}")]


# ---------------------------------------------------------------------------------------------
# Bodies


def _post(
    target: Target, path: str, data: bytes, *, headers: Mapping[str, str] = HEADERS
) -> Outcome:
    return exchange(
        target.port, "POST", path, whole(data), headers=headers, seconds_max=target.seconds_max
    )


def slow_senders(
    *, method: str = "POST", path: str = "/allocations", chunked: bool, token: bool
) -> Attack:
    """Bodies that come a byte a second, and never end."""

    def attack(target: Target) -> list[Outcome]:
        def send() -> Outcome:
            body = Body(_slowly(), None if chunked else 1000, pause_seconds=1.0)
            return exchange(
                target.port,
                method,
                path,
                body,
                headers=HEADERS if token else VERSION,
                seconds_max=target.slow_seconds_max,
            )

        return at_once(target.senders, send)

    return attack


def _slowly() -> Iterator[bytes]:
    yield b"{"
    yield from itertools.repeat(b" ", 998)


def large_body(target: Target) -> list[Outcome]:
    return [_post(target, "/resource_providers", b"x" * target.body_bytes)]


def large_name(target: Target) -> list[Outcome]:
    body = {"name": "x" * target.body_bytes}
    return [_post(target, "/resource_providers", json.dumps(body).encode())]


def large_key(target: Target) -> list[Outcome]:
    """A key instead of a UUID, where bodies may be large."""
    return [_post(target, "/allocations", json.dumps({"x" * target.body_bytes: {}}).encode())]


def many_keys(target: Target) -> list[Outcome]:
    body = b"{%s}" % b",".join(b'"k%d":1' % number for number in range(target.keys))
    return [_post(target, "/allocations", body)]


def deep_nesting(target: Target) -> list[Outcome]:
    return [_post(target, "/allocations", b'{"a":' * target.keys + b"1" + b"}" * target.keys)]


# ---------------------------------------------------------------------------------------------
# Clients that wait for events


def event_streams(target: Target) -> list[Outcome]:
    """Streams that are all open before a write, whose event all of them must get."""
    held = streams.Streams(target.port, target.streams, target.seconds_max)
    held.read_until(streams.has_head)
    body = json.dumps({"name": str(uuid.uuid4())}).encode()
    _post(target, "/resource_providers", body)
    held.read_until(streams.has_event)
    outcomes = held.outcomes()
    held.close()
    return outcomes


def long_polls(target: Target) -> list[Outcome]:
    position = json.loads(_get(target, "/events").body)["position"]
    path = f"/events?after={position}&wait={target.wait_seconds}&kind=catalog"
    return at_once(target.senders, lambda: _get(target, path))


# ---------------------------------------------------------------------------------------------

EXPLAIN, CAPACITY = "/allocation_candidates/explain", "/capacity"

ATTACKS: Mapping[str, tuple[str, Attack]] = {
    "isolated-pairs": (
        "isolate for each pair of 9 groups, 8 devices",
        search(searches.isolated_pairs),
    ),
    "subtree-pairs": (
        "same_subtree=_A,!_B for each pair of 9 groups",
        search(searches.subtree_pairs),
    ),
    "equal-groups": ("21 groups of 7 and 5 of 1, 10 devices of 20", search(searches.equal_groups)),
    "large-groups": ("11 groups of 11, 10 devices of 20", search(searches.large_groups)),
    "totals": ("groups that ask for more than there is", search(searches.too_much_in_total)),
    "exact-packing": (
        "24 groups that would fill 8 devices exactly",
        search(searches.exact_packing),
    ),
    "puzzle": ("a search that is hard in itself", search(searches.puzzle)),
    "puzzle-limit": ("the same with limit=10", search(searches.puzzle, limit=10)),
    "puzzle-found": (
        "the same, one candidate, limit=10",
        search(searches.puzzle_with_one_candidate, limit=10),
    ),
    "puzzles": ("64 of them at once", many_searches(searches.puzzle)),
    "unlimited": ("no limit, 262,144 candidates", unlimited),
    "unlimited-slow": ("the same, read slowly", unlimited_slow_reader),
    "unlimited-slow-many": ("64 of those at once", unlimited_slow_readers),
    "unlimited-endless": ("no limit, 16.7 million candidates", unlimited_without_end),
    "split": ("can_split, 3 groups of 30, 40 children", search(searches.split_groups, limit=10)),
    "split-unlimited": ("the same without a limit", search(searches.split_groups)),
    "explain-isolated": ("explain: isolated pairs", get(EXPLAIN, searches.isolated_pairs)),
    "explain-equal": ("explain: equal groups", get(EXPLAIN, searches.equal_groups)),
    "explain-puzzle": ("explain: the hard search", get(EXPLAIN, searches.puzzle)),
    "explain-split": ("explain: can_split", get(EXPLAIN, searches.split_groups)),
    "capacity-isolated": ("capacity: isolated pairs", get(CAPACITY, searches.isolated_pairs)),
    "capacity-equal": ("capacity: equal groups", get(CAPACITY, searches.equal_groups)),
    "capacity-puzzle": ("capacity: the hard search", get(CAPACITY, searches.puzzle)),
    "capacity-split": ("capacity: can_split", get(CAPACITY, searches.split_groups)),
    "placement-isolated": ("placement: isolated pairs", placement(searches.isolated_pairs)),
    "placement-equal": ("placement: equal groups", placement(searches.equal_groups)),
    "placement-puzzle": ("placement: the hard search", placement(searches.puzzle)),
    "placement-split": ("placement: can_split", placement(searches.split_groups)),
    "all-providers": (
        "64 lists of all providers with everything",
        many_reads("/resource_providers?include=inventories,usages,traits,aggregates"),
    ),
    "all-consumers": ("64 lists of all consumers", many_reads("/allocations")),
    "summaries": ("64 summaries", many_reads("/summary?by=aggregates,traits")),
    "query": ("a query string of 400 kB", long_query),
    "slow-length": ("64 slow bodies with a length", slow_senders(chunked=False, token=True)),
    "slow-chunked": ("64 slow bodies in chunks", slow_senders(chunked=True, token=True)),
    "slow-length-anonymous": (
        "64 slow bodies with a length, no token",
        slow_senders(chunked=False, token=False),
    ),
    "slow-chunked-anonymous": (
        "64 slow bodies in chunks, no token",
        slow_senders(chunked=True, token=False),
    ),
    "slow-get": (
        "64 slow bodies of GET",
        slow_senders(method="GET", path="/resource_providers", chunked=True, token=True),
    ),
    "slow-open": (
        "64 slow bodies of GET /",
        slow_senders(method="GET", path="/", chunked=True, token=False),
    ),
    "large-body": ("a body of 60 MB", large_body),
    "large-name": ("a name of 60 MB", large_name),
    "large-key": ("a key of 60 MB in POST /allocations", large_key),
    "many-keys": ("JSON of a million keys", many_keys),
    "deep-nesting": ("JSON of a million levels", deep_nesting),
    "event-streams": ("1000 event streams", event_streams),
    "long-polls": ("64 long polls", long_polls),
}
