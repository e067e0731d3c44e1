"""Stands in for the modules of the reference that start it, and its database, for a test.

osc-placement and nova take the service under test from there. `worker.py` gives them this module
instead: it leads to a roost that is already running, and empties its database before each test.

Imported by the Python that runs the other project's tests, so it must import nothing from roost.
"""

import functools
import os
from typing import Any

import fixtures
import sqlalchemy as sa
from oslo_config import cfg

from tests.support import tables

# What tests of nova set on the service while it runs, and what a roost without configuration has.
SETTINGS = {"placement": {"allocation_candidates_generation_strategy": "breadth-first"}}


@functools.cache
def _engine(database_url: str) -> sa.Engine:
    return sa.create_engine(database_url)


class Configuration:
    """Accepts the settings that the running service has, and no others."""

    def config(self, *, group: str, **options: Any) -> None:
        if group not in SETTINGS:
            raise cfg.NoSuchGroupError(group)
        if not options.items() <= SETTINGS[group].items():
            raise NotImplementedError(f"the running service is not configured with {options}")


class Database(fixtures.Fixture):
    """An empty database. The arguments of the reference's fixture are not needed here."""

    def __init__(self, conf_fixture: Any, set_config: bool = False) -> None:
        pass

    def setUp(self) -> None:
        super().setUp()
        tables.empty(_engine(os.environ["ROOST_SUITE_DATABASE"]))


class PlacementFixture(fixtures.Fixture):
    """What the reference's fixture offers to its users: `endpoint`, `token` and `conf_fixture`.

    The arguments are those of the reference's fixture. `db=False` says that the test has made the
    database itself. `use_intercept` and `register_opts` are about the reference inside of the test.
    """

    def __init__(
        self,
        token: str = "admin",
        conf_fixture: Any = None,
        db: bool = True,
        use_intercept: bool = True,
        register_opts: bool = True,
    ) -> None:
        self.token = token
        self.conf_fixture = conf_fixture or Configuration()
        self.db = db

    def setUp(self) -> None:
        super().setUp()
        if self.db:
            self.useFixture(Database(self.conf_fixture))
        self.endpoint = os.environ["ROOST_SUITE_URL"]
