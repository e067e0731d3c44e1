"""GET /allocations on every database: it says what single reads say, whichever filter is used."""

import itertools
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import os_resource_classes  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa

from roost.operations import consumer_list
from roost.store.connection import engine as engine_module
from roost.store.schema import allocations, consumers, resource_providers
from tests.support.database_servers import MariaDB
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_A")
# More consumers than a chunk of these has, and pages that end within one and at its end.
CHUNK = 4
PROJECTS, USERS, TYPES = ("p1", 'p"2 \\ ü'), ("u1", "u2", "u3"), ("INSTANCE", "MIGRATION")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_list, "CHUNK_CONSUMERS", CHUNK)
    monkeypatch.setattr(consumer_list, "CHUNK_CONSUMERS_MIN", 2)


@pytest.fixture
def client(synchronised_url: str, engine: sa.Engine) -> Iterator[httpx.Client]:
    if engine.dialect.name == "mysql":
        # The default of MySQL, which is a thousandth of MariaDB's.
        with engine.begin() as connection:
            connection.exec_driver_sql("SET GLOBAL group_concat_max_len = 1024")
    with direct_client(synchronised_url) as client:
        inventories = dict.fromkeys(CLASSES, 1000)
        load(
            build(
                provider("host1", inventories),
                provider("numa0", inventories, parent="host1"),
                provider("numa1", inventories, parent="host1"),
                provider("host2", inventories),
                provider("empty"),
            ),
            client,
        )
        yield client


@pytest.fixture
def engine(synchronised_url: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(synchronised_url)
    yield engine
    engine.dispose()


def body(resources: dict[str, dict[str, int]], **fields: Any) -> dict[str, Any]:
    defaults = {
        "project_id": PROJECTS[0],
        "user_id": USERS[0],
        "consumer_type": TYPES[0],
        "consumer_generation": None,
    }
    held = {uid(name): {"resources": amounts} for name, amounts in resources.items()}
    return {"allocations": held, **defaults, **fields}


def allocate(client: httpx.Client, consumer: str, *arguments: Any, **fields: Any) -> None:
    answer = client.put(f"/allocations/{consumer}", json=body(*arguments, **fields))
    assert answer.status_code == 204, answer.text


def add_consumers(client: httpx.Client, engine: sa.Engine) -> None:
    """Thirteen consumers that differ in everything, some in odd spellings."""
    holdings: list[dict[str, dict[str, int]]] = [
        {"host1": {"VCPU": 1}},
        {"host2": {"VCPU": 2, "MEMORY_MB": 3}},
        {"numa0": {"VCPU": 4, "CUSTOM_A": 1}, "host2": {"MEMORY_MB": 5}},
        {"numa0": {"MEMORY_MB": 6}, "numa1": {"VCPU": 7}, "host1": {"CUSTOM_A": 8}},
    ]
    for number in range(12):
        allocate(
            client,
            uid(f"consumer{number}"),
            holdings[number % len(holdings)],
            project_id=PROJECTS[number % 2],
            user_id=USERS[number % 3],
            consumer_type=TYPES[number // 6],
        )
    # As POST stores it, and as clients before 1.38 do, without a type.
    odd = uid("odd").upper()
    answer = client.post(
        "/allocations",
        json={odd: body({"host2": {"CUSTOM_A": 1}})},
    )
    assert answer.status_code == 204, answer.text
    old = {"openstack-api-version": "placement 1.28"}
    without_type = body({"host1": {"MEMORY_MB": 1}})
    del without_type["consumer_type"]
    answer = client.put(f"/allocations/{uid('old')}", json=without_type, headers=old)
    assert answer.status_code == 204, answer.text
    # Each is a day older than the one before; every other one has changed since then.
    with engine.begin() as connection:
        for number, id in enumerate(connection.scalars(sa.select(consumers.c.id)).all()):
            changed = datetime(2026, 1, 30 - number, 12, 0, 30) if number % 2 else None
            times = {"created_at": datetime(2026, 1, 28 - number, 3, 4, 5), "updated_at": changed}
            connection.execute(sa.update(consumers).where(consumers.c.id == id).values(times))


def listed(client: httpx.Client, **parameters: str) -> list[dict[str, Any]]:
    answer = client.get("/allocations", params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"consumers"}
    shown: list[dict[str, Any]] = answer.json()["consumers"]
    return shown


def pages(client: httpx.Client, limit: int, **parameters: Any) -> Iterator[list[dict[str, Any]]]:
    while True:
        answer = client.get("/allocations", params={**parameters, "limit": limit})
        assert answer.status_code == 200, answer.text
        yield answer.json()["consumers"]
        if "next" not in answer.json():
            return
        parameters["after"] = answer.json()["next"]


def single_reads(client: httpx.Client, engine: sa.Engine) -> list[dict[str, Any]]:
    """Every consumer that a single read finds, in the order of ids, with what a list adds."""
    with engine.connect() as connection:
        rows = connection.execute(
            sa.select(consumers.c.uuid, consumers.c.created_at, consumers.c.updated_at).order_by(
                consumers.c.id
            )
        ).all()
    found = []
    for consumer, created, updated in rows:
        answer = client.get(f"/allocations/{consumer}").json()
        if answer["allocations"]:
            times = {"created_at": shown_time(created), "updated_at": shown_time(updated)}
            found.append({"uuid": consumer, **answer, **times})
    return found


def shown_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


TREES = {"host1": {"host1", "numa0", "numa1"}, "numa1": {"host1", "numa0", "numa1"}}
TREES |= {"host2": {"host2"}, "empty": {"empty"}}


def matches(consumer: dict[str, Any], rules: dict[str, str]) -> bool:
    """Whether a consumer is to be listed, by what single reads say of it."""
    changed = consumer["updated_at"] or consumer["created_at"]
    tree = {uid(name) for name in TREES.get(rules.get("tree", ""), ())}
    return (
        any(
            ("resource_provider" not in rules or name_of(provider) in named(rules))
            and ("tree" not in rules or provider in tree)
            and rules.get("resource_class") in (None, resource_class)
            for provider, held in consumer["allocations"].items()
            for resource_class in held["resources"]
        )
        and rules.get("project_id") in (None, consumer["project_id"])
        and rules.get("user_id") in (None, consumer["user_id"])
        and rules.get("consumer_type") in (None, consumer["consumer_type"])
        and ("changed_before" not in rules or changed < rules["changed_before"])
    )


NAMES = {uid(name): name for name in ("host1", "numa0", "numa1", "host2", "empty")}


def name_of(provider_uuid: str) -> str:
    return NAMES[provider_uuid]


def named(rules: dict[str, str]) -> list[str]:
    """The providers of a rule about them."""
    return rules["resource_provider"].removeprefix("in:").split(",")


def as_parameter(name: str, value: str) -> str:
    if name == "tree":
        return uid(value)
    if name == "resource_provider":
        names = named({name: value})
        return ("in:" if value.startswith("in:") else "") + ",".join(map(uid, names))
    return value


CHOICES: dict[str, list[str | None]] = {
    "resource_provider": [
        None,
        "host1",
        "numa0",
        "empty",
        "in:numa1",
        "in:numa0,host2,numa0",
        "in:empty,host1",
    ],
    "tree": [None, "numa1", "host2"],
    "resource_class": [None, "CUSTOM_A", "MEMORY_MB"],
    "project_id": [None, PROJECTS[1], "nobody"],
    "user_id": [None, USERS[2]],
    "consumer_type": [None, "MIGRATION", "unknown", "NOBODY"],
    "changed_before": [None, "2026-01-21T12:00:30Z"],
}


def combinations() -> Iterator[dict[str, str]]:
    """Every filter with every value alone, and every pair of filters."""
    values = {name: [each for each in CHOICES[name] if each] for name in CHOICES}
    for count in (1, 2):
        for names in itertools.combinations(values, count):
            for chosen in itertools.product(*(values[name] for name in names)):
                yield dict(zip(names, chosen, strict=True))
    yield {name: values[name][0] for name in values}


def test_the_list_says_what_single_reads_say(client: httpx.Client, engine: sa.Engine) -> None:
    """As a whole, through every filter and in pages of any size."""
    add_consumers(client, engine)
    expected = single_reads(client, engine)
    assert len(expected) == 14
    assert {each["consumer_type"] for each in expected} == {*TYPES, "unknown"}
    assert uid("odd").upper() in [each["uuid"] for each in expected]
    found = listed(client)
    assert found == expected
    # Providers and classes are in the same order too.
    assert str(found) == str(expected)
    check_filters(client, expected)
    check_pages(client)


def check_filters(client: httpx.Client, everybody: list[dict[str, Any]]) -> None:
    counts = set()
    for rules in combinations():
        parameters = {name: as_parameter(name, value) for name, value in rules.items()}
        expected = [each for each in everybody if matches(each, rules)]
        assert listed(client, **parameters) == expected, rules
        counts.add(len(expected))
    # Filters that choose nobody, some, and many.
    assert {0, 1, 2} <= counts
    assert max(counts) > CHUNK


def check_pages(client: httpx.Client) -> None:
    """Pages together are the list."""
    several = as_parameter("resource_provider", "in:numa0,numa1,host2")
    all_rules: list[dict[str, str]] = [
        {},
        {"tree": uid("host1")},
        {"resource_provider": several},
        {"project_id": PROJECTS[1]},
    ]
    for rules, limit in itertools.product(all_rules, [1, 3, 4, 5, 13, 14, 15, 100]):
        whole = listed(client, **rules)
        found = list(pages(client, limit, **rules))
        assert list(itertools.chain.from_iterable(found)) == whole
        assert all(len(page) == limit for page in found[:-1])
        # A page that ends with the last consumer says so.
        assert found[-1] or len(found) == 1


def test_rows_that_a_single_read_does_not_show_are_not_listed(
    client: httpx.Client, engine: sa.Engine
) -> None:
    """As in databases that Placement has kept for years: no foreign key guards allocations."""
    add_consumers(client, engine)
    consumer_uuids = [each["uuid"] for each in listed(client)]
    everybody = uid("consumer0"), uid("consumer1"), uid("consumer2")
    with engine.begin() as connection:
        host1 = connection.scalar(
            sa.select(resource_providers.c.id).where(resource_providers.c.name == "host1")
        )
        # A consumer that holds nothing, one of a project that is gone, and one of a provider that
        # is gone; and others with such rows, and with the same class twice.
        first = connection.execute(sa.select(consumers).limit(1)).mappings().one()
        for name, project in (("nothing", first["project_id"]), ("projectless", 999)):
            connection.execute(
                sa.insert(consumers),
                {**first, "id": None, "uuid": uid(name), "project_id": project}
                if engine.dialect.name != "postgresql"
                else {
                    **{key: value for key, value in first.items() if key != "id"},
                    "uuid": uid(name),
                    "project_id": project,
                },
            )
        held = [
            (uid("projectless"), host1, 0),
            (uid("providerless"), 999_999, 0),
            (everybody[0], 999_999, 1),
            (everybody[1], host1, 999_999),
            (everybody[2], host1, 0),
            (everybody[2], host1, 0),
            (everybody[2], host1, 1),
        ]
        for used, (consumer, provider_id, class_id) in enumerate(held, 50):
            connection.execute(
                sa.insert(allocations),
                {
                    "consumer_id": consumer,
                    "resource_provider_id": provider_id,
                    "resource_class_id": class_id,
                    "used": used,
                },
            )
    expected = single_reads(client, engine)
    assert [each["uuid"] for each in expected] == consumer_uuids
    assert expected[2]["allocations"][uid("host1")]["resources"] == {"VCPU": 55, "MEMORY_MB": 56}
    assert listed(client) == expected
    for limit in (1, 4, 7):
        assert list(itertools.chain.from_iterable(pages(client, limit))) == expected


def test_a_consumer_with_very_many_allocations_is_whole(client: httpx.Client) -> None:
    """MySQL and MariaDB cut off a text that they join, unless they are told how long it may be."""
    names = os_resource_classes.STANDARDS
    plans = [provider(f"many{number}", dict.fromkeys(names, 10**9)) for number in range(5)]
    load(build(*plans), client)
    amounts = {plan.name: dict.fromkeys(names, 10**9) for plan in plans}
    allocate(client, uid("large"), amounts)
    (found,) = listed(client)
    assert found["allocations"] == client.get(f"/allocations/{uid('large')}").json()["allocations"]
    assert sum(len(held["resources"]) for held in found["allocations"].values()) == 5 * len(names)


def test_a_chunk_that_is_cut_off_is_read_in_parts(
    mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL and MariaDB cut off what is larger than a packet, and say so in a warning only."""
    url = mariadb.create_database()
    # Enough for one consumer, and not for two.
    monkeypatch.setattr(engine_module, "JOINED_TEXT_BYTES_MAX", 150)
    with direct_client(url) as client:
        load(build(provider("host1", {"VCPU": 1000})), client)
        for number in range(10):
            allocate(client, uid(f"consumer{number}"), {"host1": {"VCPU": 100 - number}})
        for found in (listed(client), *pages(client, 20)):
            assert [each["uuid"] for each in found] == [uid(f"consumer{n}") for n in range(10)]
            amounts = [each["allocations"][uid("host1")]["resources"]["VCPU"] for each in found]
            assert amounts == [100 - number for number in range(10)]
    mariadb.drop_database(url)


def test_pages_while_others_write(client: httpx.Client, engine: sa.Engine) -> None:
    """Whoever is there all the time is on one page, and whole: before a change, or after it."""
    add_consumers(client, engine)
    lasting = [each["uuid"] for each in listed(client)]
    halves = {"host1": {"VCPU": 1, "MEMORY_MB": 1}}, {"host2": {"VCPU": 2, "MEMORY_MB": 2}}
    moving = lasting[::2]
    for consumer in moving:
        generation = client.get(f"/allocations/{consumer}").json()["consumer_generation"]
        allocate(client, consumer, halves[0], consumer_generation=generation)
    stop = threading.Event()
    failures: list[str] = []

    def write() -> None:
        for turn in itertools.count(1):
            if stop.is_set():
                return
            passing = str(uuid.uuid4())
            for consumer, held in ((passing, halves[0]), (moving[turn % len(moving)], None)):
                now = client.get(f"/allocations/{consumer}").json()
                generation = now.get("consumer_generation")
                if held is None:
                    held = halves[uid("host1") in now["allocations"]]
                changed = body(held, consumer_generation=generation)
                answer = client.put(f"/allocations/{consumer}", json=changed)
                if answer.status_code != 204:
                    failures.append(answer.text)
            if client.delete(f"/allocations/{passing}").status_code != 204:
                failures.append(passing)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        whole = [{uid(name): amounts for name, amounts in half.items()} for half in halves]
        for _ in range(5):
            for limit in (1, 3, 1000):
                found = list(itertools.chain.from_iterable(pages(client, limit)))
                seen = [each["uuid"] for each in found]
                assert [each for each in seen if each in lasting] == lasting
                assert len(seen) == len(set(seen))
                for each in found:
                    if each["uuid"] in moving:
                        held = {
                            provider_uuid: held["resources"]
                            for provider_uuid, held in each["allocations"].items()
                        }
                        assert held in whole
    finally:
        stop.set()
        writer.join()
    assert not failures


def test_a_provider_that_is_newer_than_the_index_is_shown(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was created, and allocated from, between the look at the index and the read."""
    allocate(client, uid("before"), {"host1": {"VCPU": 1}})
    read = consumer_list.ConsumerList.read

    def read_later(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(consumer_list.ConsumerList, "read", read)
        load(build(provider("newest", {"CUSTOM_NEWEST": 5})), client)
        allocate(client, uid("after"), {"newest": {"CUSTOM_NEWEST": 2}})
        return read(*arguments, **named)

    monkeypatch.setattr(consumer_list.ConsumerList, "read", read_later)
    found = listed(client)
    assert [each["uuid"] for each in found] == [uid("before"), uid("after")]
    single = client.get(f"/allocations/{uid('after')}").json()
    assert found[1] == {**found[1], **single}
    assert single["allocations"] == {
        uid("newest"): {"resources": {"CUSTOM_NEWEST": 2}, "generation": 2}
    }


def test_times_are_those_of_the_write(client: httpx.Client) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    allocate(client, uid("consumer"), {"host1": {"VCPU": 1}})
    (created,) = listed(client)
    assert before <= datetime.fromisoformat(created["created_at"]) <= datetime.now(UTC)
    assert created["updated_at"] is None
    allocate(client, uid("consumer"), {"host1": {"VCPU": 2}}, consumer_generation=1)
    (updated,) = listed(client)
    assert updated["created_at"] == created["created_at"]
    assert before <= datetime.fromisoformat(updated["updated_at"]) <= datetime.now(UTC)
    assert updated["consumer_generation"] == 2
