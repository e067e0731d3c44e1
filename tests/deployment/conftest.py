"""What the tests of roost-placement share: one installation, because making it takes a while, and
a machine that has it.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.deployed_service import Machine
from tests.keystone.stand_in import PASSWORD, Keystone, token
from tests.support.database_servers import MariaDB
from tests.support.installation import Installation

USERS = {"admin": token("admin", project="admin", roles=("admin",))}


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="roost-installation-") as name:
        # Other users run it, too: Apache is not run by root.
        Path(name).chmod(0o755)
        installation = Installation(Path(name))
        installation.create()
        yield installation


@pytest.fixture
def machine(installation: Installation, mariadb: MariaDB) -> Iterator[Machine]:
    url = mariadb.create_database()
    with (
        Keystone(USERS, passwords={"admin": PASSWORD}) as keystone,
        tempfile.TemporaryDirectory(prefix="roost-machine-") as name,
    ):
        Path(name).chmod(0o755)
        yield Machine(installation, Path(name), url, keystone)
    mariadb.drop_database(url)
