"""Which spellings of a UUID are accepted where: the table of `uuid_places`, on both sides."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adoption import upstream
from tests.adoption.full_comparison import RoostSide
from tests.adoption.test_adoption import adopt
from tests.comparison.sides import Reference, Roost
from tests.comparison.uuid_places import ON_MARIADB, PLACES, SPELLINGS, Cloud, Place
from tests.support.database_servers import MariaDB

BOTH = [place for place in PLACES if place.reference]


@pytest.fixture(scope="module")
def of_reference(reference: Reference) -> Cloud:
    reference.reset()
    return Cloud(reference)


@pytest.fixture(scope="module")
def of_roost(roost: Roost) -> Cloud:
    roost.reset()
    return Cloud(roost)


def answers(cloud: Cloud, place: Place) -> str:
    return "".join(place.act(cloud, spell) for spell in SPELLINGS.values())


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
def test_roost_accepts_what_the_table_says(place: Place, of_roost: Cloud) -> None:
    assert answers(of_roost, place) == place.roost.split()[0]


@pytest.mark.parametrize("place", BOTH, ids=lambda place: place.title)
def test_the_reference_accepts_what_the_table_says(place: Place, of_reference: Cloud) -> None:
    assert answers(of_reference, place) == place.reference.split()[0]


@pytest.fixture(scope="module")
def on_mariadb(
    mariadb: MariaDB, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cloud, Cloud]]:
    """The reference and roost, each with a database of its own."""
    folder: Path = tmp_path_factory.mktemp("mariadb")
    urls = [mariadb.create_database(), mariadb.create_database()]
    for url in urls:
        upstream.migrate(url, folder)
    adopt(urls[1])
    with upstream.serving(urls[0], folder) as side:
        yield Cloud(side), Cloud(RoostSide(urls[1]))
    for url in urls:
        mariadb.drop_database(url)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
def test_upper_case_on_mariadb(place: Place, on_mariadb: tuple[Cloud, Cloud]) -> None:
    of_reference, of_roost = on_mariadb
    spell = SPELLINGS[ON_MARIADB]
    if place.reference:
        assert place.act(of_reference, spell) == place.reference.split()[1]
    assert place.act(of_roost, spell) == place.roost.split()[1]


def test_where_the_reference_refuses_roost_refuses_and_the_other_way_round() -> None:
    """Except that roost finds, reads and deletes more, and stores nothing that would be cut off."""
    exceptions = {}
    for place in BOTH:
        pairs = zip(SPELLINGS, place.reference, place.roost, strict=False)
        odd = {name for name, theirs, ours in pairs if (theirs in "4N") != (ours in "4N")}
        if odd:
            exceptions[place.title] = odd
    too_long = {"braces", "URN"}
    assert exceptions == {
        "PUT /resource_providers/.../aggregates at 1.1": too_long,
        "PUT /resource_providers/.../aggregates at 1.39": too_long,
        "DELETE /allocations/UUID": {"upper case", "mixed case", "dashes elsewhere"},
    }
