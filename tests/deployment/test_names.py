"""The other names that roost-placement gives: of WSGI, of the server, of oslo's namespaces."""

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.database_servers import free_port
from tests.support.installation import Installation
from tests.support.service_process import ServiceProcess

# Placement's own file for oslo-config-generator names these.
NAMESPACES = (
    "placement.conf",
    "keystonemiddleware.auth_token",
    "oslo.log",
    "oslo.middleware.cors",
    "oslo.middleware.http_proxy_to_wsgi",
    "oslo.policy",
)


def environment(folder: Path) -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**found, "OS_PLACEMENT_CONFIG_DIR": str(folder)}


def run(installation: Installation, folder: Path, *command: str) -> str:
    return run_to_end(installation, folder, *command).stdout


def run_to_end(
    installation: Installation, folder: Path, *command: str
) -> subprocess.CompletedProcess[str]:
    program, *arguments = command
    done = subprocess.run(
        [installation.bin / program, *arguments],
        env=environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_only_roost_placement_is_installed(installation: Installation, tmp_path: Path) -> None:
    code = "from importlib.metadata import distributions as all; print(*(d.name for d in all()))"
    names = run(installation, tmp_path, "python", "-c", code).split()
    assert {"roost", "roost-placement", "oslo.config"} <= set(names)
    assert "openstack-placement" not in names


def test_the_namespace_of_oslo_config(installation: Installation, tmp_path: Path) -> None:
    options = [f"--namespace={name}" for name in NAMESPACES]
    sample = run(installation, tmp_path, "oslo-config-generator", *options)
    for line in ("[placement_database]", "#connection = <None>", "#policy_file = policy.yaml"):
        assert line in sample.splitlines()
    # As kolla-ansible validates the configuration.
    (tmp_path / "generator.conf").write_text(
        "[DEFAULT]\n" + "".join(f"namespace = {name}\n" for name in NAMESPACES)
    )
    (tmp_path / "placement.conf").write_text(
        "[DEFAULT]\nstate_path = /var/lib/placement\n"
        "[placement_database]\nconnection = mysql+pymysql://a:b@c/d\nmax_retries = -1\n"
        "[api]\nauth_strategy = keystone\n"
    )
    run(
        installation,
        tmp_path,
        *("oslo-config-validator", "--config-file", "generator.conf"),
        *("--input-file", "placement.conf"),
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("oslopolicy-sample-generator", '#"placement:reshaper:reshape": "rule:service_api"'),
        ("oslopolicy-policy-generator", '"placement:reshaper:reshape": "rule:service_api"'),
        ("oslopolicy-list-redundant", ""),
    ],
)
def test_the_namespace_of_oslo_policy(
    installation: Installation, tmp_path: Path, program: str, expected: str
) -> None:
    assert expected in run(installation, tmp_path, program, "--namespace", "placement")


def test_placement_api_serves(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "placement.conf").write_text(
        f"[placement_database]\nconnection = sqlite:///{tmp_path / 'placement.db'}\n"
        "[api]\nauth_strategy = noauth2\n"
    )
    run(installation, tmp_path, "placement-manage", "db", "sync")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = ServiceProcess(
        [str(installation.bin / "placement-api"), "-b", "127.0.0.1", "--port", str(port), "--"],
        environment=environment(tmp_path),
        output_path=tmp_path / "placement-api.log",
        is_ready=lambda: httpx.get(url, timeout=30).status_code == 200,
    )
    with server:
        answer = httpx.get(f"{url}/resource_providers", headers={"x-auth-token": "admin"})
        assert answer.json() == {"resource_providers": []}
    assert server.process.returncode == 0


def test_placement_api_refuses_a_port_that_is_none(
    installation: Installation, tmp_path: Path
) -> None:
    command = [str(installation.bin / "placement-api"), "--port", "99999"]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.endswith("99999 is no port; expected a number from 1 to 65535\n")


WSGI = """
import sys
from placement import wsgi
from placement.wsgi import init_application
from placement.wsgi.api import application
assert wsgi.application is application
for each in (application, init_application()):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "QUERY_STRING": "", "SERVER_NAME": "x",
               "SERVER_PORT": "80", "wsgi.url_scheme": "http", "wsgi.input": sys.stdin.buffer}
    list(each(environ, lambda status, headers, error=None: print(status)))
"""


def test_the_application_needs_a_database(installation: Installation, tmp_path: Path) -> None:
    """As with Placement: it must not serve an empty SQLite file in the home folder instead."""
    done = run_to_end(installation, tmp_path, "python", "-c", WSGI)
    assert done.stdout.splitlines() == ["503 Service Unavailable"] * 2
    assert done.stderr.count("not started: [placement_database]connection is not set") == 2
