"""What `placement-status` and `placement-manage` need of roost, on each kind of database.

tests/deployment runs the commands themselves.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.errors import Unavailable
from roost.health.configuration import configuration_outcomes
from roost.health.outcome import Level
from roost.health.repair import CompletedRows, complete_rows
from roost.health.status import database_outcomes
from roost.health.upgrade_check import POLICY, SHARED, check_upgrade
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.settings import Settings, load_settings
from roost.store.adoption import adopt
from roost.store.adoption.adopt import IncompleteIds
from roost.store.connection.engine import create_engine
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.health.broken import make_cloud, write

INCOMPLETE = IncompleteIds(project="somebody", user="nobody")

ROOTLESS = "UPDATE resource_providers SET root_provider_id = NULL WHERE id IN (2, 3)"
UNKNOWN = (
    "INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used) VALUES"
    " (1, 0, 'third', 1), (1, 0, 'fourth', 1), (2, 1, 'fourth', 1)"
)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = make_cloud(database_url)
    yield store
    store.dispose()


def levels(store: Store) -> list[Level]:
    return [outcome.level for outcome in check_upgrade(store, Settings()).checks]


class TestIncompleteRows:
    def test_they_are_completed_while_a_service_runs(self, store: Store, database_url: str) -> None:
        assert levels(store) == [Level.SUCCESS] * 3
        write(store.engine, ROOTLESS, UNKNOWN)
        assert levels(store) == [Level.FAILURE, Level.WARNING, Level.SUCCESS]
        running = Roost(Store.open(database_url), Settings())
        running.current_index()
        assert complete_rows(store, INCOMPLETE) == CompletedRows(roots=2, consumers=2)
        assert complete_rows(store, INCOMPLETE) == CompletedRows(roots=0, consumers=0)
        assert levels(store) == [Level.SUCCESS] * 3
        index = running.current_index()
        assert index.contents() == Index.build(store.load()[1]).contents()
        running.close()

    def test_no_more_than_so_many_at_once(self, store: Store) -> None:
        write(store.engine, ROOTLESS, UNKNOWN)
        found = [complete_rows(store, INCOMPLETE, rows_max=1) for _ in range(5)]
        assert found == [(1, 0), (1, 0), (0, 1), (0, 1), (0, 0)]

    def test_one_limit_holds_for_both_kinds(self, store: Store) -> None:
        write(store.engine, ROOTLESS, UNKNOWN)
        assert complete_rows(store, INCOMPLETE, rows_max=3) == CompletedRows(roots=2, consumers=1)


def test_what_both_check_is_shown_once(store: Store) -> None:
    """The names by which findings of `roost status` are left out are names of its checks."""
    write(store.engine, ROOTLESS, UNKNOWN)
    further = {outcome.name for outcome in check_upgrade(store, Settings()).further}
    assert not {f"roost: {name}" for name in (*SHARED, POLICY)} & further
    found = (*configuration_outcomes(Settings()), *database_outcomes(store, Settings()))
    assert {*SHARED, POLICY} <= {outcome.name for outcome in found}


def test_an_option_that_is_wrong_is_a_finding_of_roost(store: Store, tmp_path: Path) -> None:
    """Placement's checks do not fail for it, and the database is not to blame."""
    path = tmp_path / "placement.conf"
    path.write_text("[oslo_policy]\nenforce_new_defaults = maybe\n")
    settings = load_settings(default_files=[path])
    found = check_upgrade(store, settings)
    assert found.level is Level.SUCCESS
    assert any("enforce_new_defaults = maybe" in each.detail for each in found.further)


class TestStamps:
    @pytest.mark.parametrize(
        ("text", "revision"),
        [
            ("head", adopt.NEWEST),
            ("base", None),
            ("a082b8bb98d0", "a082b8bb98d0"),
            ("b4", "b4ed3a175331"),
        ],
    )
    def test_revisions_are_found(self, text: str, revision: str | None) -> None:
        assert adopt.find_revision(text) == revision

    # The third is the beginning of two.
    @pytest.mark.parametrize("text", ["", "nonsense", "b", "a082b8bb98d0x", "HEAD"])
    def test_others_are_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="expected one of b4ed3a175331"):
            adopt.find_revision(text)

    def test_a_stamp_is_all_that_changes(self, store: Store) -> None:
        engine = store.engine
        assert migrate.stamped_version(engine) == adopt.NEWEST
        for revision in (adopt.REVISIONS[0], None, adopt.WITH_EVERY_COLUMN):
            migrate.stamp(engine, revision)
            assert migrate.stamped_version(engine) == revision
        assert migrate.is_current(engine)

    def test_a_revision_that_the_tables_are_not_of_is_refused(self, database_url: str) -> None:
        engine = create_engine(database_url)
        with pytest.raises(Unavailable, match="are not those of a082b8bb98d0"):
            migrate.stamp(engine, adopt.NEWEST)
        assert migrate.stamped_version(engine) is None
        # Nothing was created, so this is still an empty database.
        migrate.sync(engine)
        assert migrate.stamped_version(engine) == adopt.NEWEST
        engine.dispose()
