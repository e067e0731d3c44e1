"""The configurations that deployment tools write are used as they are."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from roost.health.configuration import check_configuration, configuration_outcomes
from roost.health.outcome import AtStart, Level
from roost.settings import SettingsError, load_settings
from tests.deployment.configurations import BY_TOOL, KOLLA
from tests.keystone.stand_in import Keystone, token
from tests.support.database_servers import MariaDB
from tests.support.memcached import Memcached
from tests.support.roost_server import RoostServer

TOKENS = {"admin": token("alice", project="admins", roles=("admin", "reader"))}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    return tmp_path


def write(folder: Path, template: str, **values: str) -> Path:
    nowhere = {
        "database": "mysql+pymysql://placement:secret@db/placement",
        "memcached": "127.0.0.1:11211",
        "keystone": "http://keystone:5000",
    }
    path = folder / "placement.conf"
    path.write_text(template.format(folder=folder, **{**nowhere, **values}))
    return path


@pytest.mark.parametrize("tool", BY_TOOL)
def test_nothing_is_wrong_with_it(folder: Path, tool: str) -> None:
    write(folder, BY_TOOL[tool])
    outcomes = list(configuration_outcomes(load_settings()))
    assert [each for each in outcomes if each.level is not Level.SUCCESS] == []
    check_configuration(load_settings())


def test_what_has_no_effect_is_said_at_start(folder: Path) -> None:
    write(folder, KOLLA, database="mysql+mysqldb://db/placement?charset=utf8")
    assert [each.detail for each in check_configuration(load_settings())] == [
        "no effect in roost: [DEFAULT]state_path, [oslo_concurrency], "
        "[placement_database]max_retries, [cache], [profiler]",
        "[placement_database]connection names mysqldb; using pymysql, which is installed",
        "[placement_database]connection has the charset utf8; using utf8mb4, which contains it",
    ]


@pytest.mark.parametrize(
    ("module", "setting", "advice"),
    [
        ("memcache", "", "pip install 'roost[memcached]'"),
        ("cryptography", "", "pip install 'roost[memcached]'"),
        ("bmemcached", "memcache_tls_enabled = true", "pip install python-binary-memcached"),
        ("bmemcached", "memcache_sasl_enabled = true", "pip install python-binary-memcached"),
    ],
)
def test_a_missing_library_for_memcached_stops_the_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, setting: str, advice: str
) -> None:
    """Otherwise each request with a token would be a 503."""
    option = "memcached_servers ="
    write(folder, KOLLA.replace(option, f"{setting}\n{option}"))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError) as caught:
        check_configuration(load_settings())
    assert str(caught.value) == (
        f"[keystone_authtoken]memcached_servers needs Python's {module}, which cannot be "
        f"imported: {advice}"
    )
    [failed] = [
        each for each in configuration_outcomes(load_settings()) if each.level is Level.FAILURE
    ]
    assert (failed.name, failed.detail) == ("authentication", str(caught.value))
    assert failed.at_start is AtStart.STOP


@pytest.fixture
def memcached() -> Iterator[Memcached]:
    with Memcached() as server:
        yield server


def test_two_processes_share_the_tokens_that_keystone_validated(
    tmp_path: Path, memcached: Memcached, mariadb: MariaDB
) -> None:
    database = mariadb.create_database()
    with Keystone(TOKENS) as keystone, ExitStack() as stack:
        servers = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            path = write(
                folder,
                KOLLA,
                database=database.replace("mysql+pymysql", "mysql+mysqldb") + "?charset=utf8",
                keystone=keystone.url,
                memcached=memcached.address,
            )
            server = RoostServer(None, folder, config_file=path, auth="keystone")
            servers.append(stack.enter_context(server))
        for server in servers:
            for _ in range(2):
                answer = httpx.get(
                    f"{server.url}/resource_providers", headers={"x-auth-token": "admin"}
                )
                assert (answer.status_code, answer.json()) == (200, {"resource_providers": []})
        assert keystone.validations == 1
        assert memcached.count_items() == 1
        said = (tmp_path / "one" / "placement-api.log").read_text()
        assert "connection names mysqldb; using pymysql, which is installed" in said
        assert "no effect in roost: [DEFAULT]state_path" in said
        refused = httpx.get(f"{servers[0].url}/traits", headers={"x-auth-token": "nonsense"})
        assert refused.status_code == 401
        # Without the cache, Keystone is asked again.
        memcached.stop()
        before = keystone.validations
        answer = httpx.get(
            f"{servers[0].url}/resource_providers", headers={"x-auth-token": "admin"}
        )
        assert (answer.status_code, keystone.validations) == (200, before + 1)
    mariadb.drop_database(database)
