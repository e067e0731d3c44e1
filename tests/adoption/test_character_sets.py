"""Databases of years ago: names that a column cannot hold, or takes for equal.

The reference creates the tables and writes first. Then roost serves one copy of the database, and
the reference goes on with another, so that their answers can be compared.
"""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from roost.assembly import build_application
from roost.health.check import check
from roost.health.findings import Finding
from roost.settings import DatabaseSettings, Settings
from roost.store import standard_names
from roost.store.connection.engine import create_engine
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.adoption import upstream
from tests.adoption.full_comparison import RoostSide
from tests.adoption.tables import dump
from tests.comparison.comparison import ask
from tests.comparison.requests import Request
from tests.comparison.sides import Answer, Side, client_of
from tests.comparison.sides import send as send_request
from tests.support.database_servers import MariaDB, PostgreSQL
from tests.support.names import uid
from tests.support.roost_server import command

COLLATIONS = ("utf8mb3_general_ci", "utf8mb3_unicode_ci", "latin1_swedish_ci", "utf8mb4_bin")
NARROW = COLLATIONS[:3]

HOST, OTHER, CAFE = uid("host1"), uid("other"), uid("café")
EMOJI = "\N{GRINNING FACE}"


def send(method: str, path: str, body: Any = None) -> Request:
    return Request(method, path, "1.39", body=body)


def allocation(
    project: str, user: str, consumer_type: str = "INSTANCE", generation: int | None = None
) -> dict[str, Any]:
    return {
        "allocations": {HOST: {"resources": {"VCPU": 1}}},
        "project_id": project,
        "user_id": user,
        "consumer_generation": generation,
        "consumer_type": consumer_type,
    }


def claim(consumer: str, project: str, user: str) -> Request:
    return send("PUT", f"/allocations/{uid(consumer)}", allocation(project, user))


def provider(name: str, uuid: str = OTHER) -> Request:
    return send("POST", "/resource_providers", {"uuid": uuid, "name": name})


def listed(name: str, more: str = "") -> Request:
    return send("GET", f"/resource_providers?name={quote(name)}{more}")


def renamed(uuid: str, name: str) -> Request:
    return send("PUT", f"/resource_providers/{uuid}", {"name": name})


def traits(*names: str) -> Request:
    body = {"resource_provider_generation": 0, "traits": names}
    return send("PUT", f"/resource_providers/{CAFE}/traits", body)


FIRST = (
    provider("host1", HOST),
    provider("café", CAFE),
    send(
        "PUT",
        f"/resource_providers/{HOST}/inventories",
        {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}}},
    ),
    claim("first", "abc", "bob"),
    send("PUT", "/traits/CUSTOM_FAST"),
    send("PUT", "/resource_classes/CUSTOM_X"),
)

# What is the same to some databases, and not to others.
STEPS = (
    # Names of providers: unique, found, and changed.
    provider("Host1", uid("1")),
    provider("host1 ", uid("2")),
    provider(" host1", uid("3")),
    provider("CAFE", uid("4")),
    listed("HOST1"),
    listed("host1 "),
    listed("höst1"),
    listed("cafe"),
    listed("nobody"),
    listed("HOST1", f"&in_tree={HOST}"),
    listed("HOST1", f"&uuid={CAFE}"),
    renamed(HOST, "HOST1"),
    listed("host1"),
    renamed(CAFE, "Host1"),
    renamed(CAFE, "höst1"),
    renamed(HOST, "host1  "),
    listed("host1"),
    # Projects, users and types of consumers.
    claim("second", "ABC", "BOB"),
    claim("third", "abc ", "bob "),
    claim("fourth", "äbc", "böb"),
    *(send("GET", f"/allocations/{uid(name)}") for name in ("second", "third", "fourth")),
    send("GET", "/usages?project_id=ABC"),
    send("GET", "/usages?project_id=abc"),
    send("GET", "/usages?project_id=abc%20&user_id=BoB"),
    send("GET", "/usages?project_id=%C3%A4bc&consumer_type=INSTANCE"),
    # Two names that nobody knew before.
    send(
        "POST",
        "/allocations",
        {uid("5"): allocation("NEW", "NEW", "T"), uid("6"): allocation("new", "new", "T")},
    ),
    send("GET", "/usages?project_id=new"),
    send("GET", "/usages?project_id=NEW&consumer_type=all"),
    # Traits and classes are in upper case, but requests need not be.
    traits("custom_fast"),
    traits("CUSTOM_FAST "),
    send("GET", "/traits?name=in:custom_fast,CUSTOM_FAST"),
    send("GET", "/traits?name=in:custom_fast"),
    send("GET", "/traits/custom_fast"),
    send("GET", "/resource_classes/custom_x"),
    send("PUT", "/traits/custom_fast"),
    send("PUT", "/resource_classes/custom_x"),
    send("DELETE", "/traits/custom_fast"),
    send("DELETE", "/resource_classes/custom_x"),
    send("GET", "/resource_providers?required=custom_fast"),
    send("GET", "/allocation_candidates?resources=vcpu:1"),
    send("GET", f"/resource_providers/{HOST}/inventories/vcpu"),
    send("DELETE", f"/resource_providers/{HOST}/inventories/vcpu"),
    send("GET", f"/resource_providers/{HOST}/usages"),
)

# Texts that no column holds if its character set is not utf8mb4, with what the refusal names.
REFUSED = (
    (provider(f"x{EMOJI}"), "name"),
    (renamed(HOST, EMOJI), "name"),
    (claim("new", f"p{EMOJI}", "u"), "project_id"),
    (claim("new", "p", f"u{EMOJI}"), "user_id"),
    (
        send("PUT", f"/allocations/{uid('first')}", allocation(EMOJI, "u", generation=1)),
        "project_id",
    ),
    (send("POST", "/allocations", {uid("new"): allocation("é", EMOJI)}), "user_id"),
    (
        send(
            "POST",
            "/placements",
            {
                "query": "resources=VCPU:1",
                "consumers": {
                    uid("new"): {"project_id": EMOJI, "user_id": "u", "consumer_type": "T"}
                },
            },
        ),
        "project_id",
    ),
    (
        send(
            "POST",
            "/reshaper",
            {
                "inventories": {
                    HOST: {
                        "resource_provider_generation": 2,
                        "inventories": {"VCPU": {"total": 64}},
                    }
                },
                "allocations": {uid("new"): allocation(EMOJI, "u")},
            },
        ),
        "project_id",
    ),
)

# Nothing is equal to such a text.
NOT_FOUND = (
    (listed(EMOJI), {"resource_providers": []}),
    (send("GET", f"/usages?project_id={quote(EMOJI)}"), {"usages": {}}),
    (send("GET", f"/usages?project_id=abc&user_id={quote(EMOJI)}"), {"usages": {}}),
    (send("GET", f"/traits?name=in:{quote(EMOJI)}"), {"traits": []}),
)


class Copies(NamedTuple):
    """Two equal databases, and who serves them."""

    url: str
    roost: Side
    reference: Side


# Shared by the tests below, each of which leaves the two equal.
@pytest.fixture(scope="module", params=COLLATIONS)
def copies(
    request: pytest.FixtureRequest, mariadb: MariaDB, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copies]:
    """Two databases with this collation, in which the reference created and filled the tables."""
    folder = tmp_path_factory.mktemp("reference")
    urls = [create_database(mariadb, request.param) for _ in range(2)]
    for url in urls:
        upstream.migrate(url, folder)
    with upstream.serving(urls[0], folder) as side:
        write_first(side)
    with upstream.serving(urls[1], folder) as reference:
        write_first(reference)
        yield Copies(urls[0], adopt(urls[0]), reference)
    for url in urls:
        mariadb.drop_database(url)


def write_first(side: Side) -> None:
    for request in FIRST:
        assert ask(side, request).status < 300


def create_database(mariadb: MariaDB, collation: str) -> str:
    character_set = collation.partition("_")[0]
    return mariadb.create_database(f"CHARACTER SET {character_set} COLLATE {collation}")


@pytest.fixture
def url(mariadb: MariaDB, collation: str) -> Iterator[str]:
    """An empty database with this collation."""
    url = create_database(mariadb, collation)
    yield url
    mariadb.drop_database(url)


def adopt(url: str) -> Side:
    store = Store.open(url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    store.dispose()
    return RoostSide(url)


def findings(url: str) -> list[Finding]:
    """What `roost db check` finds: whether the index differs from the tables, among others."""
    store = Store.open(url)
    found = check(store)
    store.dispose()
    return found


def content(answer: Answer) -> Any:
    return answer.status, answer.body if answer.status < 300 else answer.body["errors"][0]["detail"]


@pytest.mark.parametrize("copies", NARROW, indirect=True)
def test_a_text_that_a_column_cannot_hold_is_refused_by_name(copies: Copies) -> None:
    engine = create_engine(copies.url)
    before = dump(engine)
    assert_refused(copies.roost)
    assert dump(engine) == before
    assert findings(copies.url) == []
    engine.dispose()


def assert_refused(roost: Side) -> None:
    for request, field in REFUSED:
        status, detail = content(ask(roost, request))
        assert status == 400, request
        assert f"cannot hold the {field} '" in detail
        assert f"the character '{EMOJI}'" in detail
    for request, body in NOT_FOUND:
        assert content(ask(roost, request)) == (200, body)
    assert ask(roost, traits(f"CUSTOM_{EMOJI}")).status == 400


@pytest.mark.parametrize("copies", NARROW[:1], indirect=True)
@pytest.mark.parametrize("parameters", ["charset=utf8", "charset=latin1"])
def test_the_character_set_of_the_session_may_be_narrow_too(
    copies: Copies, parameters: str
) -> None:
    """Old configurations have it in the URL."""
    assert_refused(RoostSide(f"{copies.url}?{parameters}"))


@pytest.mark.parametrize("copies", NARROW[:1], indirect=True)
def test_what_the_server_would_replace_is_not_stored(copies: Copies) -> None:
    """Without strict mode MariaDB stores question marks, and does not find them again."""
    settings = Settings(database=DatabaseSettings(mysql_sql_mode=""))
    application = build_application(
        settings=settings, database_url=copies.url, auth_strategy="noauth2"
    )
    client = client_of(application)
    answer = send_request(client, claim("new", f"p{EMOJI}", "u"))
    assert content(answer)[0] == 400
    assert f"'p{EMOJI}'" in content(answer)[1]


def test_equal_names_are_those_of_the_reference(copies: Copies) -> None:
    for request in STEPS:
        assert content(ask(copies.roost, request)) == content(ask(copies.reference, request)), (
            request
        )
    assert findings(copies.url) == []


@pytest.mark.parametrize("collation", ["utf8mb3_general_ci"])
def test_claims_that_introduce_equal_names_at_once_all_succeed(url: str) -> None:
    roost = adopt(url)
    write_first(roost)
    spellings = ["shared", "SHARED", "Shared", "sháred", "shared "]
    requests = [claim(f"{number}", name, name) for number, name in enumerate(spellings * 2)]
    # A service of its own for each: what one of them knows, the others have to find out.
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(lambda request: ask(RoostSide(url), request), requests))
    assert {answer.status for answer in answers} == {204}
    usages = content(ask(roost, send("GET", "/usages?project_id=SHARED&user_id=shared")))
    assert usages == (200, {"usages": {"INSTANCE": {"VCPU": 10, "consumer_count": 10}}})
    engine = create_engine(url)
    rows = dump(engine)
    assert len(rows["projects"]) == len(rows["users"]) == 2
    engine.dispose()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_encodings_of_postgresql(postgresql: PostgreSQL, encoding: str) -> None:
    """The second one takes any bytes. A cluster has it if it was made without a locale."""
    url = postgresql.create_database(
        f"ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    roost = adopt(url)
    write_first(roost)
    if encoding == "LATIN1":
        assert_refused(roost)
    else:
        assert ask(roost, provider(EMOJI)).status == 200
        assert ask(roost, listed(EMOJI)).body["resource_providers"][0]["name"] == EMOJI
    assert findings(url) == []


# ---------------------------------------------------------------------------------------------
# `roost status`


def status_of(url: str) -> dict[str, tuple[str, str]]:
    done = subprocess.run(
        command("status", "--json", "--database", url), capture_output=True, text=True, check=False
    )
    checks = json.loads(done.stdout)["checks"]
    return {each["name"]: (each["result"], each["detail"]) for each in checks}


@pytest.mark.parametrize("collation", ["utf8mb3_unicode_ci", "latin1_swedish_ci"])
def test_status_tells_about_both_and_its_advice_helps(url: str, collation: str) -> None:
    adopt(url)
    checks = status_of(url)
    result, detail = checks["character set"]
    assert (result, collation.partition("_")[0] in detail) == ("warning", True)
    assert checks["collation"][0] == "success"
    assert collation in checks["collation"][1]
    assert "case" in checks["collation"][1]

    clause, _, tables = detail.partition("ALTER TABLE ... ")[2].partition(" on ")
    engine = create_engine(url)
    with engine.begin() as connection:
        for table in tables.split(", "):
            connection.execute(sa.text(f"ALTER TABLE {table} {clause}"))
    engine.dispose()
    assert status_of(url)["character set"] == ("success", "utf8mb4")
    assert ask(RoostSide(url), provider(EMOJI)).status == 200


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci"])
def test_collations_that_cannot_be_compared_are_a_failure(url: str) -> None:
    roost = adopt(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "ALTER TABLE consumers CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
            )
        )
    engine.dispose()
    checks = status_of(url)
    assert checks["character set"] == ("success", "utf8mb4")
    result, detail = checks["collation"]
    assert result == "failure"
    assert "consumers.uuid is utf8mb4_unicode_ci" in detail
    # A fault of the database, which is not blamed on the client.
    assert ask(roost, send("GET", f"/allocations/{uid('first')}")).status == 503
