"""A service for whoever looks at one: its metrics, and what the commands of the runbook print."""

from collections.abc import Iterator

import pytest

from tests.operations.monitored_service import MonitoredService, monitored_service
from tests.support.database_servers import PostgreSQL


@pytest.fixture(scope="session")
def monitored(
    postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MonitoredService]:
    url = postgresql.create_database()
    with monitored_service(url, tmp_path_factory.mktemp("monitored")) as found:
        yield found
    postgresql.drop_database(url)
