"""Claims that are written and committed in one step, and get no answer from the database."""

import uuid
from collections.abc import Iterator

import httpx
import pytest

from roost.assembly import build_application
from roost.service import contention
from roost.store.feed import lost_commits, writer
from tests.faults import cloud
from tests.faults.databases import PostgreSQLNode
from tests.faults.proxy import Proxy
from tests.support.database_servers import MariaDB
from tests.support.names import uid

CLAIMS = 20  # more than a driver takes to prepare a statement


@pytest.fixture(params=[PostgreSQLNode, MariaDB], ids=["postgresql", "mariadb"])
def cut_service(request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, httpx.Client]]:
    with request.param() as server, Proxy(server.port, "cuts") as proxy:
        url = server.create_database().replace(f":{server.port}", f":{proxy.port}")
        application = build_application(database_url=url, auth_strategy="noauth2", sync=True)
        with httpx.Client(
            transport=httpx.WSGITransport(app=application),
            base_url="http://cut",
            headers=cloud.SERVICE_HEADERS,
        ) as client:
            yield proxy, client


def claim(client: httpx.Client) -> tuple[str, int]:
    consumer = str(uuid.uuid4())
    body = {
        "allocations": {uid(cloud.STORAGE): {"resources": {"DISK_GB": 1}}},
        "consumer_generation": None,
        **cloud.OWNER,
    }
    return consumer, client.put(f"/allocations/{consumer}", json=body).status_code


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_claim_without_an_answer_takes_place_once(
    cut_service: tuple[Proxy, httpx.Client], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, client = cut_service
    # After a claim that failed, the next one is written at once as well.
    monkeypatch.setattr(contention, "CONTENDED_SECONDS", 0.0)
    cloud.build_with(client)
    # Until all names are known, claims are not written at once.
    for _ in range(2):
        assert claim(client)[1] == 204
    outcomes: list[bool] = []
    original = writer.Writer._took_place

    def took_place(*arguments: object) -> bool:
        # Whoever asks is cut as well.
        proxy.heal()
        outcomes.append(original(*arguments))  # type: ignore[arg-type]
        return outcomes[-1]

    monkeypatch.setattr(writer.Writer, "_took_place", took_place)
    for _ in range(CLAIMS):
        proxy.cut_at_commit(moment)
        consumer, status = claim(client)
        proxy.heal()
        assert status == 204
        held = client.get(f"/allocations/{consumer}").json()["allocations"]
        assert held[uid(cloud.STORAGE)]["resources"] == {"DISK_GB": 1}
    assert proxy.cut_batches[moment] > CLAIMS / 4
    # On MariaDB the server may notice the cut between two statements of a batch.
    assert (moment == "after") in outcomes
    usages = client.get(f"/resource_providers/{uid(cloud.STORAGE)}/usages").json()["usages"]
    assert usages == {"DISK_GB": CLAIMS + 2}
    print(f"{moment}: {proxy.cut_batches}, took place: {outcomes}")


def test_a_claim_whose_outcome_stays_unknown_is_not_refused(
    cut_service: tuple[Proxy, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client would believe that nothing was written."""
    proxy, client = cut_service
    monkeypatch.setattr(contention, "CONTENDED_SECONDS", 0.0)
    cloud.build_with(client)
    for _ in range(2):
        assert claim(client)[1] == 204
    monkeypatch.setattr(lost_commits, "ATTEMPTS", 0)
    statuses = set()
    for _ in range(CLAIMS):
        proxy.cut_at_commit("after")
        consumer, status = claim(client)
        proxy.heal()
        statuses.add(status)
        held = client.get(f"/allocations/{consumer}").json()["allocations"]
        assert held or status != 204
    assert proxy.cut_batches["after"] > 0
    assert statuses == {204, 503}
