"""The servers that the tests of other projects run against, and their count."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.keystone.stand_in import Keystone, authtoken, token
from tests.suites.project import Worker
from tests.suites.tally import Tally
from tests.support.roost_server import RoostServer

# Other databases on request, because a client cannot tell them apart: "sqlite,postgresql,mariadb".
DATABASES = os.environ.get("ROOST_SUITE_DATABASES", "sqlite").split(",")

# The policy defaults of the reference's fixture.
NO_AUTHENTICATION = """\
[oslo_policy]
enforce_new_defaults = false
"""

OPERATOR = "admin"
# The stand-in of Keystone names a token like its user.
USERS = {
    "demo": token("demo", project="demo", roles=("member",)),
    "alt-demo": token("alt-demo", project="alt-demo", roles=("member",)),
    OPERATOR: token(OPERATOR, project="admin", roles=("admin",)),
    "system-admin": token("system-admin", system=True, roles=("admin",)),
}
PASSWORD = "a-password"
# The names under which openstacksdk's tests look for these users.
CLOUDS = {
    "devstack": "demo",
    "devstack-alt": "alt-demo",
    "devstack-admin": OPERATOR,
    "devstack-system-admin": "system-admin",
}


@pytest.fixture(scope="session", params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """A kind of database."""
    return str(request.param)


def new_database(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder / 'roost.db'}"
    return str(request.getfixturevalue(kind).create_database())


@pytest.fixture(scope="session")
def osc_placement(
    request: pytest.FixtureRequest, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    """Runs osc-placement's tests on a server without authentication, which they log in to."""
    folder = tmp_path_factory.mktemp("osc-placement")
    database_url = new_database(request, database, folder)
    config_file = folder / "placement.conf"
    config_file.write_text(NO_AUTHENTICATION)
    with RoostServer(database_url, folder, config_file=config_file) as server:
        settings = {
            "HOME": str(folder),
            "ROOST_SUITE_URL": server.url,
            "ROOST_SUITE_DATABASE": database_url,
        }
        with Worker(settings, folder / "tests.log") as worker:
            yield worker


@pytest.fixture(scope="session")
def openstacksdk(
    request: pytest.FixtureRequest, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    """Runs openstacksdk's tests on a cloud with Keystone and placement."""
    folder = tmp_path_factory.mktemp("openstacksdk")
    database_url = new_database(request, database, folder)
    with Keystone(USERS, passwords=dict.fromkeys(USERS, PASSWORD)) as keystone:
        config_file = folder / "placement.conf"
        config_file.write_text(authtoken(f"{keystone.url}/v3"))
        with RoostServer(database_url, folder, config_file=config_file, auth="keystone") as server:
            keystone.services["placement"] = server.url
            start_an_instance(server.url)
            clouds = folder / "clouds.yaml"
            clouds.write_text(yaml.safe_dump({"clouds": list_clouds(keystone)}))
            settings = {"HOME": str(folder), "OS_CLIENT_CONFIG_FILE": str(clouds)}
            with Worker(settings, folder / "tests.log") as worker:
                yield worker


def start_an_instance(server_url: str) -> None:
    """What openstacksdk's tests expect of a cloud: a host, and an instance of the operator.

    Without any usage, the library finds one whose consumer type is missing.
    """
    host = str(uuid.uuid4())
    headers = {"x-auth-token": OPERATOR, "openstack-api-version": "placement 1.39"}
    allocation = {
        "allocations": {host: {"resources": {"VCPU": 1}}},
        "project_id": USERS[OPERATOR]["project"]["id"],
        "user_id": USERS[OPERATOR]["user"]["id"],
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    requests = (
        ("POST", "/resource_providers", {"name": "host", "uuid": host}),
        (
            "PUT",
            f"/resource_providers/{host}/inventories",
            {"inventories": {"VCPU": {"total": 8}}, "resource_provider_generation": 0},
        ),
        ("PUT", f"/allocations/{uuid.uuid4()}", allocation),
    )
    with httpx.Client(base_url=server_url, headers=headers) as client:
        for method, path, body in requests:
            client.request(method, path, json=body).raise_for_status()


def list_clouds(keystone: Keystone) -> dict[str, object]:
    """The clouds of clouds.yaml: one cloud, seen by four users."""
    return {
        cloud: {
            "region_name": "one",
            "auth": {
                "auth_url": f"{keystone.url}/v3",
                "username": user,
                "password": PASSWORD,
                "user_domain_id": "default",
                **(
                    {"project_name": USERS[user]["project"]["name"], "project_domain_id": "default"}
                    if "project" in USERS[user]
                    else {"system_scope": "all"}
                ),
            },
        }
        for cloud, user in CLOUDS.items()
    }


TALLY = Tally()


@pytest.fixture
def tally() -> Tally:
    return TALLY


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(TALLY)
