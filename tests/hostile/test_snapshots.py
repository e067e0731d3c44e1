"""A search that takes long delays nobody, and its answer is that of the moment when it began."""

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.changes import Changes, Rows
from roost.model import Inventory, InventoryChange
from roost.operations.candidates import find_candidates
from roost.operations.inventories import read_inventories, replace_inventories
from roost.operations.providers import delete_provider, list_providers, read_provider
from roost.operations.traits import ensure_trait, replace_traits
from roost.operations.usages import read_usages
from roost.query import CandidateQuery, ProviderQuery, RequestGroup
from roost.search import budget
from roost.search.budget import Budget
from roost.search.find import find
from roost.search.index.advance import advance, rows_touched
from roost.search.index.index import Index
from roost.service import shared_index
from roost.service.service import Roost
from roost.service.shared_index import ROWS_IN_PLACE_MAX, SharedIndex
from roost.settings import Settings
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put
from tests.support.names import uid

DEVICES = 6
WIDE = CandidateQuery(
    groups=tuple(
        RequestGroup(suffix=f"_{number}", resources={"VGPU": 1}) for number in range(DEVICES)
    )
)
SMALL = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),), limit=10)


@pytest.fixture
def roost(tmp_path: Path) -> Iterator[Roost]:
    store = Store.open(f"sqlite:///{tmp_path}/roost.sqlite")
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    opened = Roost(store, Settings())
    add_provider(opened, "host", VCPU=64)
    for number in range(DEVICES):
        # Too few for all groups at once, so there is something to check in each way.
        add_provider(opened, f"device{number}", "host", VGPU=DEVICES - 1)
    add_provider(opened, "other", VCPU=8, MEMORY_MB=100)
    yield opened
    opened.close()


class Lines:
    """A layout that is easy to compare."""

    def __init__(self, key: str | None = "lines") -> None:
        self.key = key
        self.templates: dict[tuple[int, ...], tuple[list[str], list[int]]] = {}

    def candidate(self, candidate: object) -> str:
        return repr(candidate)

    def summary(self, summary: object) -> bytes:
        return repr(summary).encode()


class LongSearch:
    """A search in a thread of its own, which stops whenever it asks whether it may go on."""

    def __init__(self, roost: Roost, monkeypatch: pytest.MonkeyPatch, query: CandidateQuery):
        self.asked = threading.Semaphore(0)
        self.may_go_on = threading.Semaphore(0)
        self.questions = 0
        self.answer: object = None
        ordinary = roost.search_budget
        # A question for each block of ways.
        monkeypatch.setattr(budget, "UNITS_PER_QUESTION", 1000)
        me = threading.Thread(target=self._run, args=(roost, query), daemon=True)
        monkeypatch.setattr(
            roost,
            "search_budget",
            lambda: Budget(self._ask) if threading.current_thread() is me else ordinary(),
        )
        self._thread = me
        me.start()
        assert self.asked.acquire(timeout=30)

    def _run(self, roost: Roost, query: CandidateQuery) -> None:
        self.answer = text_of(roost, query)

    def _ask(self) -> bool:
        self.questions += 1
        self.asked.release()
        return self.may_go_on.acquire(timeout=30)

    def go_on(self) -> bool:
        """Let it work until it asks again; whether it did."""
        self.may_go_on.release()
        while not self.asked.acquire(timeout=0.05):
            if not self._thread.is_alive():
                return False
        return True

    def finish(self) -> object:
        while self.go_on():
            pass
        return self.answer


def text_of(roost: Roost, query: CandidateQuery) -> tuple[bytes, bytes]:
    found = find_candidates(roost, query=query, layout=Lines())
    return b", ".join(found.candidates), b", ".join(found.summaries)


def oracle(index: Index, query: CandidateQuery) -> tuple[bytes, bytes]:
    """The same, on an index that nobody else has, and from values instead of templates."""
    answer, layout = find(index, query), Lines(None)
    return (
        ", ".join(map(layout.candidate, answer.candidates)).encode(),
        b", ".join(map(layout.summary, answer.summaries)),
    )


def loaded(roost: Roost) -> Index:
    _, rows = roost.store.load()
    return Index.build(rows)


def test_a_long_search_delays_nobody_and_sees_nothing_of_what_follows(roost, monkeypatch):
    before = oracle(loaded(roost), WIDE)
    search = LongSearch(roost, monkeypatch, WIDE)
    claims = 0
    while claims < 4:
        # Everything that can happen to the providers that it looks at.
        put(roost, claim(f"consumer{claims}", {"device0": {"VGPU": 1}, "host": {"VCPU": 1}}))
        claims += 1
        assert read_usages(roost, provider_uuid=uid("device0")).usages == {"VGPU": claims}
        assert text_of(roost, SMALL) == oracle(loaded(roost), SMALL)
        assert search.go_on()
    generation = read_inventories(roost, provider_uuid=uid("device1")).generation
    change = InventoryChange(
        provider_uuid=uid("device1"),
        inventories={"VGPU": Inventory(total=1), "MEMORY_MB": Inventory(total=5)},
        expected_generation=generation,
    )
    replace_inventories(roost, change=change)
    ensure_trait(roost, name="CUSTOM_NEW")
    provider = read_provider(roost, uuid=uid("device2"))
    replace_traits(
        roost,
        provider_uuid=provider.uuid,
        traits={"CUSTOM_NEW"},
        expected_generation=provider.generation,
    )
    delete_provider(roost, uuid=uid("device3"))
    add_provider(roost, "device9", "host", VGPU=8)
    assert len(list_providers(roost, query=ProviderQuery())) == DEVICES + 2
    assert search.go_on()
    assert search.finish() == before
    assert search.questions >= 6
    # The summaries that it rendered are those of then, and do not show in later answers.
    after = text_of(roost, WIDE)
    assert after != before
    assert after == oracle(loaded(roost), WIDE)


def test_an_answer_that_is_written_late_is_that_of_the_search(roost):
    """Rendering takes long too: here, writes come between the search and its texts."""
    index = roost.current_index()
    answer = find(index, WIDE)
    before = oracle(loaded(roost), WIDE)
    put(roost, claim("consumer", {"device0": {"VGPU": 1}}))
    delete_provider(roost, uuid=uid("device3"))
    text_of(roost, WIDE)
    layout = Lines()
    written = (
        b", ".join(answer.text(layout).blocks()),
        b", ".join(answer.write_summaries(layout, Budget())),
    )
    assert written == before
    assert text_of(roost, WIDE) == oracle(loaded(roost), WIDE)


# ---------------------------------------------------------------------------------------------
# What the lock is held for, and what is copied


class CountingLock:
    """A lock that counts how often it is taken, and refuses to be waited for."""

    def __init__(self) -> None:
        self.holds = 0
        self.held = False

    def __enter__(self) -> None:
        assert not self.held
        self.holds += 1
        self.held = True

    def __exit__(self, *_: object) -> None:
        self.held = False


class Counted:
    """A shared index, and how many rows were touched in each hold of its lock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, index: Index) -> None:
        self.shared = SharedIndex()
        self.lock = self.shared._lock = CountingLock()  # type: ignore[assignment]
        self.rows_in_holds: list[int] = []
        self.rows_outside = 0
        self.shared.replace(index)

        def counted(index: Index, changes: Changes) -> None:
            if self.lock.held:
                self.rows_in_holds.append(rows_touched(index, changes))
            else:
                self.rows_outside += rows_touched(index, changes)
            advance(index, changes)

        monkeypatch.setattr(shared_index, "advance", counted)


def hosts(count: int, first: int = 1) -> Rows:
    numbers = range(first, first + count)
    return Rows(
        providers=[(n, uid(str(n)), f"host{n}", 0, n, None, 0.0) for n in numbers],
        inventories=[(n, 0, 64, 0, 1, 64, 1, 1.0, 0.0) for n in numbers],
        resource_classes=[(0, "VCPU", 0.0)],
    )


def usage(count: int) -> Changes:
    return Changes(usage={(n, 0): 1 for n in range(1, count + 1)})


def test_the_lock_is_held_for_bounded_steps(monkeypatch):
    counted = Counted(monkeypatch, Index.build(hosts(2000)))
    shared = counted.shared
    position = 0

    def apply(changes: Changes) -> int:
        nonlocal position
        holds = counted.lock.holds
        position += 1
        shared.advance(changes, {1: position})
        return counted.lock.holds - holds

    assert apply(usage(3)) == 1
    # However much comes at once, the lock is taken a fixed number of times.
    assert apply(usage(2000)) <= 2
    fresh = hosts(2000, first=1001)
    assert apply(Changes(provider_ids=frozenset(range(1, 3001)), rows=fresh)) <= 2
    assert shared.snapshot().live_count == 2000
    assert counted.rows_in_holds == [3]
    assert max(counted.rows_in_holds) <= ROWS_IN_PLACE_MAX
    assert counted.rows_outside > 4000
    # A search takes the lock at most once: to make the snapshot, if there is none.
    holds = counted.lock.holds
    shared.advance(usage(3), {1: position})
    for _ in range(100):
        assert find(shared.snapshot(), SMALL).count == 10
    assert counted.lock.holds == holds + 2


class AwaitedLock(CountingLock):
    """A lock for which a reader waits who gets it as soon as it is free."""

    def __init__(self, reader: Callable[[], object]) -> None:
        super().__init__()
        self._reader = reader
        self.seen: list[object] = []

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self.holds == 1:
            self.seen.append(self._reader())


def test_who_waits_while_a_change_fails_does_not_get_half_of_it(monkeypatch):
    shared = SharedIndex()
    shared.replace(Index.build(hosts(500)))
    lock = shared._lock = AwaitedLock(shared.snapshot)  # type: ignore[assignment]

    def fail_halfway(index: Index, changes: Changes) -> None:
        advance(index, Changes(usage={(1, 0): 1}))
        raise MemoryError

    monkeypatch.setattr(shared_index, "advance", fail_halfway)
    with pytest.raises(MemoryError):
        shared.advance(usage(3), {1: 1})
    assert lock.seen == [None]


def test_a_deleted_provider_is_not_in_a_recent_index(roost, monkeypatch):
    """Even if the index has got further than the snapshot that is given out."""
    index = roost.current_index()
    assert uid("device3") in index.row_of_uuid
    monkeypatch.setattr(shared_index, "ROWS_IN_PLACE_MAX", 0)
    reading = threading.Event()
    seen = []
    take_snapshot = Index.snapshot

    def read() -> None:
        index = roost.recent_index(allow_stale=True)
        seen.append(index is not None and uid("device3") in index.row_of_uuid)

    def snapshot_later(self: Index) -> Index:
        # The change is complete, but its snapshot is not there yet.
        if threading.current_thread() is threading.main_thread() and not reading.is_set():
            reading.set()
            reader.start()
            reader.join(0.5)
        return take_snapshot(self)

    reader = threading.Thread(target=read)
    delete_provider(roost, uuid=uid("device3"))
    monkeypatch.setattr(Index, "snapshot", snapshot_later)
    roost.catch_up()
    assert reading.is_set()
    reader.join()
    assert seen == [False]


def test_readers_see_a_large_change_whole_or_not_at_all(monkeypatch):
    shared = SharedIndex()
    shared.replace(Index.build(hosts(500)))
    seen = []

    def look_between(index: Index, changes: Changes) -> None:
        def amounts(snapshot: Index) -> set[int]:
            return set(snapshot.columns[0].used[: snapshot.columns[0].count].tolist())

        for number in range(1, 501):
            advance(index, Changes(usage={(number, 0): 1}))
            seen.append((amounts(shared.snapshot()), shared.snapshot().position))

    monkeypatch.setattr(shared_index, "advance", look_between)
    shared.advance(usage(500), {1: 1})
    assert seen == [({0}, {})] * 500
    after = shared.snapshot()
    assert set(after.columns[0].used[:500].tolist()) == {1}
    assert after.position == {1: 1}


@pytest.mark.parametrize("count", [3, 500])
def test_half_a_change_is_never_served(monkeypatch, count):
    shared = SharedIndex()
    shared.replace(Index.build(hosts(500)))
    before = shared.snapshot()

    def fail_halfway(index: Index, changes: Changes) -> None:
        advance(index, Changes(usage=dict(list(changes.usage.items())[: count // 2])))
        raise MemoryError

    monkeypatch.setattr(shared_index, "advance", fail_halfway)
    with pytest.raises(MemoryError):
        shared.advance(usage(count), {1: 1})
    # It is loaded anew; whoever still reads the old one sees nothing of it.
    assert shared.live is None
    assert shared.snapshot() is None
    assert before.columns[0].used[:500].sum() == 0


@pytest.fixture
def many() -> SharedIndex:
    shared = SharedIndex()
    shared.replace(Index.build(hosts(300)))
    return shared


def arrays(index: Index) -> dict[str, int]:
    """Where in memory everything of an index is, by name."""
    found = {}
    parts = {"rows": index.rows, "VCPU": index.columns[0], "id": index.row_of_id}
    parts |= {"uuid": index.row_of_uuid, "name": index.row_of_name, "sharing": index.sharing}
    for part, value in parts.items():
        for name, each in vars(value).items():
            is_kept = not (name.startswith("_") or name == "latest" or isinstance(each, int))
            if is_kept:
                found[f"{part}.{name}"] = id(each)
    return found


def changed_by(shared: SharedIndex, action: Callable[[], None]) -> set[str]:
    assert shared.live is not None
    before = arrays(shared.live)
    action()
    after = arrays(shared.live)
    return {name for name in before if before[name] != after[name]}


def test_a_claim_copies_what_it_touches_and_only_beside_a_search(many):
    def claim_one() -> None:
        many.advance(Changes(usage={(5, 0): 1}, generations={5: 1}), {1: 1})

    # Nobody searches, or searches have ended.
    assert find(many.snapshot(), SMALL).count == 10
    assert changed_by(many, claim_one) == set()
    # A search runs.
    search = many.snapshot()
    touched = {"VCPU.used", "rows.generation", "rows.stamp"}
    assert changed_by(many, claim_one) == touched
    # The same search still runs: it has its own copy already, whatever shorter searches do.
    assert changed_by(many, claim_one) == set()
    assert find(many.snapshot(), SMALL).count == 10
    assert changed_by(many, claim_one) == set()
    # Another one began meanwhile.
    second = many.snapshot()
    assert changed_by(many, claim_one) == touched
    del search, second
    assert changed_by(many, claim_one) == set()


def test_new_providers_copy_nothing(many):
    search = many.snapshot()
    fresh = hosts(1, first=301)
    changes = Changes(provider_ids=frozenset({301}), rows=fresh)
    # There is room for more at the end of most columns; where there is none, it doubles.
    copied = changed_by(many, lambda: many.advance(changes, {1: 1}))
    assert "uuid.keys" not in copied
    assert many.snapshot().live_count == 301
    assert search.live_count == 300
    assert uid("301") not in search.row_of_uuid
    assert uid("301") in many.snapshot().row_of_uuid


COUNT = 4000


def test_a_snapshot_that_stays_costs_at_most_one_index_more():
    """However many changes there are, beside however many short searches."""
    shared = SharedIndex()
    tracemalloc.start()
    try:
        shared.replace(Index.build(hosts(COUNT)))
        one_index = tracemalloc.get_traced_memory()[0]
        stays = shared.snapshot()
        for number in range(100):
            shared.snapshot()
            shared.advance(usage(200 + number), {1: number})
        whole = Changes(provider_ids=frozenset(range(1, COUNT + 1)), rows=hosts(COUNT))
        shared.advance(whole, {1: 1000})
        del whole
        grown = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert stays.columns[0].used[:COUNT].sum() == 0
    assert grown < 2.2 * one_index


def test_caches_survive_many_threads():
    """Searches of many threads fill the same caches while the index changes."""
    shared = SharedIndex()
    shared.replace(Index.build(hosts(400)))
    errors: list[BaseException] = []
    stop = threading.Event()

    def read(number: int) -> None:
        layout = Lines()
        try:
            while not stop.is_set():
                snapshot = shared.snapshot()
                for trait in range(number, 200, 7):
                    mask = snapshot.trait_sets.holding_any([trait])
                    assert len(mask) == snapshot.trait_sets.count
                answer = find(snapshot, SMALL)
                answer.write_summaries(layout, Budget())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    try:
        for number in range(300):
            row = hosts(1, first=1 + number % 400)
            changed = Rows(
                providers=row.providers,
                inventories=row.inventories,
                traits=[(1 + number % 400, number)],
                trait_names=[(number, f"CUSTOM_{number}", 0.0)],
            )
            ids = frozenset({1 + number % 400})
            changes = Changes(provider_ids=ids, trait_ids=frozenset({number}), rows=changed)
            shared.advance(changes, {1: number})
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert not errors
