"""Stands in for `placement.tests.functional.fixtures.placement`, which starts the reference.

osc-placement and nova take the service under test from that module. `worker.py` gives them this one
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


class PlacementFixture(fixtures.Fixture):
    """What the reference's fixture offers to its users: `endpoint`, `token` and `conf_fixture`.

    The arguments are those of the reference's fixture. Of them, `db=False` asks to keep the data
    of the service that the same test used before. The others configure the reference itself.
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
        self.db = db
        self.conf_fixture = conf_fixture or Configuration()

    def setUp(self) -> None:
        super().setUp()
        if self.db:
            tables.empty(_engine(os.environ["ROOST_SUITE_DATABASE"]))
        self.endpoint = os.environ["ROOST_SUITE_URL"]
