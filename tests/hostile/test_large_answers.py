"""Answers of any size are written and sent in pieces, and what nobody can read is refused."""

import io
import json
import logging
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from roost.api.application import create_application
from roost.api.handlers.candidates import JsonLayout
from roost.api.http import pieces
from roost.api.http.exchange import EXCHANGE, Exchange
from roost.api.http_error import ErrorCode
from roost.api.versions import Version
from roost.errors import TooManyLongAnswers
from roost.model import SHARING_TRAIT
from roost.operations import candidates as candidates_module
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search import candidate_text
from roost.search.budget import Budget
from roost.search.candidate_text import ShapedText
from roost.search.find import find
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put
from tests.support.names import uid
from tests.support.world import build, provider, rows

MIB = 2**20


class Questions:
    """Answers a budget, and counts how often it asks."""

    def __init__(self, allowed: float = float("inf")) -> None:
        self.count = 0
        self._allowed = allowed

    def __call__(self) -> bool:
        self.count += 1
        return self.count <= self._allowed


def device_groups(count: int) -> tuple[RequestGroup, ...]:
    return tuple(
        RequestGroup(suffix=f"_{number}", resources={"VGPU": 1}) for number in range(count)
    )


# ---------------------------------------------------------------------------------------------
# The text of candidates, block by block

CLOUD = build(
    *(
        each
        for host in ("a", "b")
        for each in (
            provider(host, {"VCPU": 8, "DISK_GB": 10}, aggregates=["rack"]),
            provider(f"{host}1", {"VGPU": 2, "MEMORY_MB": 8}, parent=host),
            provider(f"{host}2", {"VGPU": 2}, parent=host),
            provider(f"{host}3", {"VGPU": 3}, parent=f"{host}2"),
        )
    ),
    provider("disks", {"DISK_GB": 100}, traits=[SHARING_TRAIT], aggregates=["rack"]),
)
QUERIES = {
    "one shape": CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),)),
    "many shapes": CandidateQuery(groups=device_groups(3)),
    "shared": CandidateQuery(
        groups=(RequestGroup(resources={"VCPU": 1, "DISK_GB": 2}), *device_groups(2))
    ),
    "only shared": CandidateQuery(groups=(RequestGroup(resources={"DISK_GB": 20}),)),
    "in order": CandidateQuery(groups=device_groups(2), order=Order(by=OrderBy.ROOT)),
    "split": CandidateQuery(
        groups=(
            RequestGroup(suffix="_s", resources={"VGPU": 4}, can_split=frozenset({"VGPU"})),
            RequestGroup(resources={"VCPU": 1}),
        )
    ),
    "nothing": CandidateQuery(groups=(RequestGroup(resources={"VCPU": 999}),)),
}


@pytest.mark.parametrize("version", [(1, 10), (1, 12), (1, 28), (1, 39)])
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("block_bytes", [1, 700, MIB])
def test_blocks_make_up_the_text_of_all_candidates(name, version, block_bytes, monkeypatch):
    monkeypatch.setattr(candidate_text, "BLOCK_BYTES", block_bytes)
    query = QUERIES[name]
    layout = JsonLayout(query, Version(*version))
    answer = find(Index.build(rows(CLOUD)), query)
    text = answer.text(layout)
    expected = ", ".join(map(layout.candidate, answer.candidates)).encode()
    assert text.measure(Budget()) == (answer.count, len(expected))
    blocks = list(text.blocks())
    assert b", ".join(blocks) == expected
    assert bool(blocks) == bool(answer.count) == (name != "nothing")
    if block_bytes == 1:
        assert len(blocks) == answer.count


def test_texts_that_take_more_bytes_than_characters_are_counted():
    answer = find(Index.build(rows(CLOUD)), QUERIES["many shapes"])
    odd = ["ü" * (row % 5) for row in range(20)]
    layout = JsonLayout(QUERIES["many shapes"], Version(1, 39))
    text = ShapedText(answer.ways, odd, answer._candidate, layout)
    assert text.measure(Budget()) == (answer.count, len(b", ".join(text.blocks())))


def test_shapes_are_not_kept_if_there_are_many(monkeypatch):
    monkeypatch.setattr(candidate_text, "BLOCK_BYTES", 700)
    monkeypatch.setattr(candidate_text, "SLOTS_KEPT", 6)
    monkeypatch.setattr(candidate_text, "SLOTS_SHARED", 3)
    query = QUERIES["many shapes"]
    layout = JsonLayout(query, Version(1, 39))
    answer = find(Index.build(rows(CLOUD)), query)
    text = answer.text(layout)
    expected = ", ".join(map(layout.candidate, answer.candidates)).encode()
    assert text.measure(Budget()) == (answer.count, len(expected))
    assert b", ".join(text.blocks()) == expected
    assert len(text._templates) <= 2
    assert len(layout.templates) == 1
    assert sum(map(len, text._shapes)) <= 6


def test_laying_out_many_shapes_has_a_budget():
    """Of n groups on two devices, every second candidate has a shape of its own."""
    plans = [provider("host", {"VCPU": 8})]
    plans += [provider(f"device{n}", {"VGPU": 64}, parent="host") for n in range(2)]
    query = CandidateQuery(groups=device_groups(12))
    layout = JsonLayout(query, Version(1, 39))
    answer = find(Index.build(rows(build(*plans))), query)
    shapes = 2**11
    questions = Questions()
    asked = Budget(questions)
    answer.text(layout).measure(asked)
    assert asked.steps > shapes * candidate_text.LAYOUT_STEPS
    assert questions.count > shapes // 16
    count, length = answer.text(layout).measure(Budget(Questions(allowed=100)))
    assert 0 < count < 2**12
    answer.cut(count)
    assert len(b", ".join(answer.text(layout).blocks())) == length
    first, _ = answer.text(layout).measure(Budget(lambda: False))
    assert 0 < first < count


def test_the_budget_is_asked_and_not_obeyed_while_summaries_are_written():
    index = Index.build(rows(build(*(provider(f"host{n}", {"VCPU": 8}) for n in range(500)))))
    query = QUERIES["one shape"]
    for version in ((1, 28), (1, 39)):
        layout = JsonLayout(query, Version(*version))
        answer = find(index, query)
        expected = [layout.summary(each) for each in answer.summaries]
        questions = Questions(allowed=2)
        assert answer.write_summaries(layout, Budget(questions)) == expected
        assert questions.count > 8


@pytest.mark.parametrize(
    ("texts", "expected"),
    [([], ["<>"]), ([b"a"], ["<a>"]), ([b"a", b"b", b"c"], ["<a", ", b", ", c>"])],
)
def test_pieces_are_enclosed(texts, expected):
    assert list(pieces.enclosed(b"<", iter(texts), b">")) == [each.encode() for each in expected]


def test_short_texts_are_joined_to_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 3)
    texts = [b"a", b"bc", b"d", b"efgh", b"i"]
    assert list(pieces.joined(texts, b"}")) == [b"a, bc, ", b"d, efgh, ", b"i}"]
    assert list(pieces.joined(texts[:2], b"}")) == [b"a, bc}"]
    assert list(pieces.joined([], b"}")) == [b"}"]


# ---------------------------------------------------------------------------------------------
# Over WSGI


class Response:
    """What the application answers, piece by piece."""

    def __init__(
        self,
        application: Any,
        path: str,
        query: str = "",
        version: str = "1.39",
        exchange: Exchange | None = None,
    ) -> None:
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "roost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": sys.stderr,
            "HTTP_X_AUTH_TOKEN": "admin",
            "HTTP_OPENSTACK_API_VERSION": f"placement {version}",
        }
        if exchange is not None:
            environ[EXCHANGE] = exchange
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.body = application(environ, self._start)
        self.is_list = isinstance(self.body, list)

    def _start(self, status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        self.status = int(status[:3])
        self.headers = {name.lower(): value for name, value in headers}

    def pieces(self) -> list[bytes]:
        return list(self.body)

    def close(self) -> None:
        self.body.close()


@pytest.fixture
def roost(tmp_path: Path) -> Iterator[Roost]:
    store = Store.open(f"sqlite:///{tmp_path}/roost.sqlite")
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    opened = Roost(store, Settings(auth_strategy="noauth2", answer_bytes_max=4 * MIB))
    add_provider(opened, "host", VCPU=64)
    for number in range(4):
        add_provider(opened, f"device{number}", "host", VGPU=8)
    yield opened
    opened.close()


def devices(count: int, **more: object) -> str:
    groups = "&".join(f"resources{number + 1}=VGPU:1" for number in range(count))
    others = "".join(f"&{name}={value}" for name, value in more.items())
    return f"{groups}&group_policy=none{others}"


@pytest.mark.parametrize("version", ["1.12", "1.29", "1.39"])
def test_a_large_answer_is_the_small_one_in_pieces(roost, monkeypatch, version):
    application = create_application(roost)
    query = devices(4) if version != "1.12" else "resources=VGPU:1"
    small = Response(application, "/allocation_candidates", query, version)
    assert small.is_list
    [whole] = small.pieces()
    monkeypatch.setattr(candidates_module, "SMALL_BYTES_MAX", 10)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 10)
    monkeypatch.setattr(candidate_text, "BLOCK_BYTES", 10)
    large = Response(application, "/allocation_candidates", query, version)
    assert not large.is_list
    parts = large.pieces()
    assert len(parts) > 4
    assert b"".join(parts) == whole
    assert large.status == small.status == 200
    ignored = {"last-modified", "x-openstack-request-id"}
    for name in small.headers.keys() - ignored:
        assert large.headers[name] == small.headers[name]
    assert int(large.headers["content-length"]) == len(whole)


def test_a_large_answer_comes_in_pieces_of_a_size_that_is_quick_to_make(roost):
    large = Response(create_application(roost), "/allocation_candidates", devices(6))
    assert not large.is_list
    parts = large.pieces()
    assert sum(map(len, parts)) == int(large.headers["content-length"]) > 2 * MIB
    assert len(json.loads(b"".join(parts))["allocation_requests"]) == 4**6
    assert max(map(len, parts)) < MIB
    assert min(map(len, parts[:-1])) > 64 * 1024


def test_a_client_that_goes_away_leaves_nothing_behind(roost):
    large = Response(create_application(roost), "/allocation_candidates", devices(6))
    next(iter(large.body))
    live = roost._index.live
    assert live is not None
    used = live.columns[live.classes.ids["VGPU"]].used
    put(roost, claim("one", {"device0": {"VGPU": 1}}))
    roost.catch_up()
    # Beside it, what a claim changes is copied.
    column = live.columns[live.classes.ids["VGPU"]]
    assert column.used is not used
    used = column.used
    large.close()
    put(roost, claim("two", {"device0": {"VGPU": 1}}))
    roost.catch_up()
    assert column.used is used


def test_the_server_is_asked_before_a_large_answer_begins(roost, caplog):
    """So a refusal looks like any other, also in the log."""
    asked = []

    def refuse(length: int | None) -> None:
        asked.append(length)
        raise TooManyLongAnswers()

    caplog.set_level(logging.INFO, "roost.requests")
    application = create_application(roost)
    query = devices(6)
    large = Response(application, "/allocation_candidates", query)
    refused = Response(application, "/allocation_candidates", query, exchange=Exchange(refuse))
    assert asked == [int(large.headers["content-length"])]
    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    [error] = json.loads(b"".join(refused.pieces()))["errors"]
    assert error["code"] == ErrorCode.TOO_MANY_LONG_REQUESTS
    assert "Too many long answers" in error["detail"]
    assert "status: 503" in caplog.messages[-1]


def test_what_nobody_can_read_is_refused(roost, monkeypatch):
    application = create_application(roost)
    budgets: list[Budget] = []
    ordinary = roost.search_budget

    def remembered() -> Budget:
        budgets.append(ordinary())
        return budgets[-1]

    monkeypatch.setattr(roost, "search_budget", remembered)
    # 4 ** 12 are 16.7 million candidates.
    refused = Response(application, "/allocation_candidates", devices(12))
    assert refused.status == 400
    [error] = json.loads(b"".join(refused.pieces()))["errors"]
    assert error["code"] == "placement.answer_too_large"
    assert "more than 4194304 bytes" in error["detail"]
    assert "limit" in error["detail"]
    # It stopped when it had more than fit.
    assert budgets[0].choices_tried < 50_000
    # A limit of the client's own does not make it smaller.
    refused = Response(application, "/allocation_candidates", devices(12, limit=10**6))
    assert refused.status == 400
    assert budgets[1].choices_tried < 150_000
    served = Response(application, "/allocation_candidates", devices(12, limit=1000))
    assert served.status == 200


def test_an_answer_that_is_a_little_too_large_is_refused_before_anything_is_sent(roost):
    """Its candidates might have fitted, had they all been as short as they can be."""
    application = create_application(roost)
    whole = sum(map(len, Response(application, "/allocation_candidates", devices(6)).pieces()))
    assert 2 * MIB < whole < 4 * MIB
    small = Roost(roost.store, Settings(auth_strategy="noauth2", answer_bytes_max=whole - 100))
    refused = Response(create_application(small), "/allocation_candidates", devices(6))
    assert refused.status == 400
    enough = Roost(roost.store, Settings(auth_strategy="noauth2", answer_bytes_max=whole))
    assert Response(create_application(enough), "/allocation_candidates", devices(6)).status == 200


def test_an_answer_that_takes_too_long_to_write_is_refused(roost, monkeypatch):
    budgets = iter([Budget(), Budget(lambda: False)])
    monkeypatch.setattr(roost, "search_budget", lambda: next(budgets))
    refused = Response(create_application(roost), "/allocation_candidates", devices(6))
    [error] = json.loads(b"".join(refused.pieces()))["errors"]
    assert (refused.status, error["code"]) == (400, "placement.search_too_hard")
    assert (
        "unknown how long its answer is. In one tree 6 groups with 4 providers" in error["detail"]
    )
    assert "`limit`" in error["detail"]


@pytest.mark.parametrize("split", ["", "&can_split1=VGPU&can_split2=VGPU"])
def test_with_a_limit_what_could_be_written_in_time_is_the_answer(roost, monkeypatch, split):
    monkeypatch.setattr(candidates_module, "SMALL_BYTES_MAX", 1000)
    monkeypatch.setattr(candidate_text, "BLOCK_BYTES", 4000)
    budgets = iter([Budget(), Budget(lambda: False)])
    monkeypatch.setattr(roost, "search_budget", lambda: next(budgets))
    query = devices(4, limit=200) + split
    answer = Response(create_application(roost), "/allocation_candidates", query)
    shown = json.loads(b"".join(answer.pieces()))
    assert answer.status == 200
    assert 0 < len(shown["allocation_requests"]) < 200
    assert shown.get("complete") is (False if split else None)


@pytest.mark.parametrize("order", [None, Order(by=OrderBy.PACK)])
@pytest.mark.parametrize("can_split", [frozenset(), frozenset({"VGPU"})])
def test_every_search_stops_when_it_has_found_too_much(order, can_split):
    plans = [provider("host", {"VCPU": 8})]
    plans += [provider(f"device{n}", {"VGPU": 8}, parent="host") for n in range(6)]
    groups = tuple(
        RequestGroup(suffix=f"_{n}", resources={"VGPU": 2}, can_split=can_split) for n in range(5)
    )
    index = Index.build(rows(build(*plans)))
    query = CandidateQuery(groups=groups, order=order)
    answer = find(index, query, count_max=20)
    assert answer.is_too_large
    # 6 ** 5 ways exist without splits, and more with them.
    assert 20 < answer.count < 3000
    assert not find(index, query, count_max=10**9).is_too_large


# ---------------------------------------------------------------------------------------------
# Other answers without a bound


def test_a_list_of_many_providers_is_the_small_one_in_pieces(roost, monkeypatch):
    application = create_application(roost)
    small = Response(application, "/resource_providers")
    [whole] = small.pieces()
    monkeypatch.setattr(pieces, "ENTRIES_MAX", 2)
    large = Response(application, "/resource_providers")
    parts = large.pieces()
    assert len(parts) == 3
    assert b"".join(parts) == whole
    assert large.headers["last-modified"] == small.headers["last-modified"]


def test_many_consumers_of_a_provider_are_the_few_in_pieces(roost, monkeypatch):
    for number in range(5):
        put(roost, claim(f"consumer{number}", {"device0": {"VGPU": 1}}))
    application = create_application(roost)
    path = f"/resource_providers/{uid('device0')}/allocations"
    [whole] = Response(application, path).pieces()
    assert len(json.loads(whole)["allocations"]) == 5
    monkeypatch.setattr(pieces, "ENTRIES_MAX", 2)
    parts = Response(application, path).pieces()
    assert len(parts) == 3
    assert b"".join(parts) == whole


# ---------------------------------------------------------------------------------------------
# Memory

MEASURED = """
    import json, resource, sys
    from pathlib import Path
    from tests.hostile.test_large_answers import Response, devices
    from tests.concurrency.races import add_provider
    from roost.api.application import create_application
    from roost.service.service import Roost
    from roost.settings import Settings
    from roost.store import standard_names
    from roost.store.migrations import migrate
    from roost.store.store import Store

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    store = Store.open(f"sqlite:///{sys.argv[1]}/roost.sqlite")
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    roost = Roost(store, Settings(auth_strategy="noauth2"))
    add_provider(roost, "host", VCPU=64)
    for number in range(8):
        add_provider(roost, f"device{number}", "host", VGPU=8)
    application = create_application(roost)
    Response(application, "/allocation_candidates", devices(2)).pieces()
    before = peak()
    large = Response(application, "/allocation_candidates", devices(6))
    size = largest = count = 0
    for piece in large.body:
        size += len(piece)
        largest = max(largest, len(piece))
        count += piece.count(b'"mappings"')
    grown = peak() - before
    refused = Response(application, "/allocation_candidates", devices(8))
    print(json.dumps({
        "status": large.status, "candidates": count, "size": size, "largest": largest,
        "length": int(large.headers["content-length"]), "grown": grown,
        "refused": refused.status, "grown_by_refusal": peak() - before,
    }))
"""


@pytest.mark.process
def test_a_quarter_of_a_million_candidates_take_little_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURED), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    seen = json.loads(done.stdout)
    assert seen["status"] == 200
    assert seen["candidates"] == 8**6
    assert seen["size"] == seen["length"] > 100 * MIB
    assert seen["largest"] < MIB
    assert seen["grown"] < 64 * MIB
    # 8 ** 8 are 16.7 million candidates.
    assert seen["refused"] == 400
    assert seen["grown_by_refusal"] < 200 * MIB
