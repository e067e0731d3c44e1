"""roost-placement started by the steps of deployment tools, where these start Placement.

Each test takes the steps of one tool: its configuration, its commands, its server with the options
that the tool sets. An operator then lists the providers with a token of Keystone. The functions and
files that are named here are those of the tools, as of the summer of 2026.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.deployment.deployed_service import PROCESSES, Machine
from tests.keystone.stand_in import PASSWORD
from tests.support.database_servers import free_port
from tests.support.service_process import ServiceProcess

SHELL = Path(__file__).with_name("openstack_shell.py")


class Operator:
    """Runs the `openstack` command with a user name and a password."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, SHELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def show(self, machine: Machine, line: str) -> Any:
        """Run a command on a machine's service; what it prints, parsed as JSON."""
        login = {
            "auth-url": f"{machine.keystone.url}/v3",
            "username": "admin",
            "password": PASSWORD,
            "project-name": "admin",
            "user-domain-name": "Default",
            "project-domain-name": "Default",
        }
        options = [f"--os-{name}={value}" for name, value in login.items()]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        arguments = [*options, *line.split(), "-f", "json"]
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()
        code, output, errors = json.loads(self._process.stdout.readline())
        assert (code, errors) == (0, ""), errors
        return json.loads(output)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@pytest.fixture
def operator() -> Iterator[Operator]:
    # One for each test, because the `openstack` command remembers the endpoint.
    operator = Operator()
    yield operator
    operator.close()


def use(operator: Operator, machine: Machine, path: str = "") -> None:
    """Register the endpoint, create a provider and list it."""
    url = f"http://127.0.0.1:{machine.port}{path}"
    machine.keystone.services["placement"] = url
    assert httpx.get(f"{url}/resource_providers", timeout=30).status_code == 401
    created = operator.show(machine, "resource provider create host-1")
    [listed] = operator.show(machine, "resource provider list")
    assert listed["uuid"] == created["uuid"]


def assert_nothing_is_left(server: ServiceProcess) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            # All that the server started is in its process group.
            os.killpg(server.process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("a process is still running")


# What devstack, kolla-ansible and openstack-helm set alike for uwsgi.
UWSGI_OPTIONS = {
    "add-header": "Connection: close",
    "buffer-size": 65535,
    "die-on-term": "true",
    "enable-threads": "true",
    "exit-on-reload": "false",
    "hook-master-start": "unix_signal:15 gracefully_kill_them_all",
    "lazy-apps": "true",
    "thunder-lock": "true",
    "worker-reload-mercy": 80,
    "module": "placement.wsgi.api:application",
}


@pytest.mark.long
def test_devstack(machine: Machine, operator: Operator) -> None:
    """lib/placement: configure_placement, init_placement, start_placement_api.

    uwsgi listens on a socket, and Apache passes /placement to it.
    """
    machine.configure(
        {
            "placement_database": machine.database,
            "DEFAULT": {"debug": "True"},
            "api": {"auth_strategy": "keystone"},
            "keystone_authtoken": {**machine.authtoken, "interface": "public"},
            "oslo_policy": {"enforce_new_defaults": "True"},
        }
    )
    assert machine.run("placement-manage db sync") == ""
    socket = machine.folder / "placement-api.socket"
    options = {"plugins": "http,python3", "start-time": "%t", "chmod-socket": 666, "socket": socket}
    uwsgi = machine.uwsgi_ini({**UWSGI_OPTIONS, **options})
    site = f"""
        Listen 127.0.0.1:{machine.port}
        ProxyPass "/placement" "unix:{socket}|uwsgi://uwsgi-uds-placement-api" retry=0 acquire=1
    """
    # wait_for_service
    apache = machine.apache(site, f"http://127.0.0.1:{machine.port}/placement")
    with uwsgi, apache:
        use(operator, machine, "/placement")
    assert_nothing_is_left(uwsgi)
    assert_nothing_is_left(apache)


def test_kolla_ansible(machine: Machine, operator: Operator) -> None:
    """The image's extend_start.sh; roles/placement and roles/service-uwsgi-config."""
    log = machine.folder / "placement-api.log"
    machine.configure(
        {
            "DEFAULT": {"debug": "False", "log_file": log, "state_path": machine.folder},
            "oslo_middleware": {"enable_proxy_headers_parsing": "true"},
            "oslo_concurrency": {"lock_path": machine.folder / "tmp"},
            "placement_database": {
                **machine.database,
                "connection_recycle_time": 10,
                "max_overflow": 1000,
                "max_pool_size": 1,
                "max_retries": -1,
            },
            "cache": {"backend": "oslo_cache.memcache_pool", "enabled": "true"},
            "keystone_authtoken": {
                "service_type": "placement",
                **machine.authtoken,
                "cafile": "",
                "region_name": "one",
            },
        }
    )
    # KOLLA_BOOTSTRAP; an upgrade takes the same two steps, the second with KOLLA_OSM.
    machine.run("placement-manage db sync && placement-manage db online_data_migrations")
    server = machine.uwsgi_ini(
        {
            **UWSGI_OPTIONS,
            "http": f"127.0.0.1:{machine.port}",
            "http-auto-chunked": "true",
            "http-chunked-input": "true",
            "http-raw-body": "true",
            "plugins-dir": "/usr/lib/uwsgi/plugins",
            "plugins": "python3",
            "socket-timeout": 30,
        }
    )
    with server:
        # The health check of the container.
        assert httpx.get(f"http://127.0.0.1:{machine.port}", timeout=30).status_code == 200
        use(operator, machine)
    assert_nothing_is_left(server)
    assert "roost.requests" in log.read_text()


@pytest.mark.long
def test_openstack_helm(machine: Machine, operator: Operator) -> None:
    """The chart's job db-sync, and its deployment, with a folder of configuration snippets."""
    machine.configure(
        {
            "DEFAULT": {
                "debug": "false",
                "use_syslog": "false",
                "log_config_append": machine.etc / "logging.conf",
            },
            "placement_database": machine.database,
            "oslo_concurrency": {"lock_path": "/var/lock"},
        }
    )
    machine.configure(
        {
            "keystone_authtoken": {
                **machine.authtoken,
                "auth_version": "v3",
                "service_token_roles": "service",
                "service_token_roles_required": "true",
                "service_type": "placement",
            }
        },
        "placement-keystone.conf",
    )
    (machine.etc / "policy.yaml").write_text("{}\n")
    machine.run("bash -ex -c 'placement-manage db sync'")
    statistics = free_port()
    server = machine.uwsgi_ini(
        {
            **UWSGI_OPTIONS,
            "http-socket": f"0.0.0.0:{machine.port}",
            "log-x-forwarded-for": "true",
            "procname-prefix-spaced": "placement-api:",
            "route-user-agent": "^kube-probe.* donotlog:",
            "stats": f"127.0.0.1:{statistics}",
            "stats-http": "true",
        }
    )
    with server:
        # The probes: readiness, then liveness.
        assert httpx.get(f"http://127.0.0.1:{machine.port}/", timeout=30).status_code == 200
        found = httpx.get(f"http://127.0.0.1:{statistics}/", timeout=30).json()
        assert len(found["workers"]) == PROCESSES
        use(operator, machine)
    assert_nothing_is_left(server)


def test_puppet_and_the_package_of_ubuntu(machine: Machine, operator: Operator) -> None:
    """placement::db::sync and placement::wsgi::apache, which copies the module as a script.

    The site in Ubuntu's package, for which the install guide has the same commands, and that of
    kolla-ansible until 2025.2 differ in the script alone: it is the file placement-api.
    """
    machine.configure(
        {
            "api": {"auth_strategy": "keystone"},
            "placement_database": machine.database,
            "keystone_authtoken": machine.authtoken,
            "oslo_policy": {"policy_file": machine.etc / "policy.yaml"},
        }
    )
    machine.run('sh -c "placement-manage db sync"')
    copied = machine.folder / "cgi-bin" / "placement" / "placement-api"
    copied.parent.mkdir(parents=True)
    shutil.copy(machine.installation.packages / "placement" / "wsgi" / "api.py", copied)
    packaged = machine.installation.bin / "placement-api"
    # Tools name the user as well, who has a home folder. This Apache is not started by root, so it
    # keeps its user.
    options = f"python-home={machine.installation.folder} home={machine.folder}"
    site = f"""
        Listen 127.0.0.1:{machine.port}
        <VirtualHost *:{machine.port}>
            WSGIDaemonProcess placement-api processes={PROCESSES} threads=1 {options}
            WSGIProcessGroup placement-api
            WSGIScriptAlias /packaged {packaged}
            WSGIScriptAlias / {copied}
            WSGIApplicationGroup %{{GLOBAL}}
            WSGIPassAuthorization On
            <Directory {copied.parent}>
                Require all granted
            </Directory>
            <Directory {packaged.parent}>
                <Files placement-api>
                    Require all granted
                </Files>
            </Directory>
        </VirtualHost>
    """
    with machine.apache(site) as server:
        use(operator, machine)
        url = f"http://127.0.0.1:{machine.port}/packaged/resource_providers"
        found = httpx.get(url, headers={"x-auth-token": "admin"}, timeout=30).json()
        assert [each["name"] for each in found["resource_providers"]] == ["host-1"]
    assert_nothing_is_left(server)


@pytest.mark.long
def test_the_install_guide(machine: Machine, operator: Operator) -> None:
    """The guide for PyPI, in which uwsgi serves the file placement-api; then its page "Verify"."""
    machine.configure(
        {
            "api": {"auth_strategy": "keystone"},
            "placement_database": machine.database,
            "keystone_authtoken": machine.authtoken,
        }
    )
    machine.run("placement-manage db sync")
    server = machine.uwsgi(
        *("-M", "--http", f":{machine.port}", "--die-on-term"),
        # Beyond the guide, see docs/how-to/deployment.md.
        *("--add-header", "Connection: close"),
        *("--wsgi-file", str(machine.installation.bin / "placement-api")),
        *("--processes", str(PROCESSES), "--threads", "10"),
    )
    with server:
        answer = httpx.get(f"http://127.0.0.1:{machine.port}/", timeout=30)
        [version] = answer.json()["versions"]
        assert (version["min_version"], version["max_version"]) == ("1.0", "1.39")
        verify(machine, operator)
        use(operator, machine)
    assert_nothing_is_left(server)


def verify(machine: Machine, operator: Operator) -> None:
    """The page "Verify Installation" of the guide."""
    assert machine.run("placement-status upgrade check").count("Result: Success") == 3
    machine.keystone.services["placement"] = f"http://127.0.0.1:{machine.port}"
    # The guide asks for the first at 1.2, but the `openstack` command remembers the version.
    version = "--os-placement-api-version 1.6"
    classes = operator.show(machine, f"{version} resource class list --sort-column name")
    assert {"name": "DISK_GB"} in classes
    traits = operator.show(machine, f"{version} trait list --sort-column name")
    assert {"name": "COMPUTE_DEVICE_TAGGING"} in traits
