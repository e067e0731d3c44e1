"""The same program with every supported Python: installed from the lock file, started, and used.

All tests run with one Python. These start the service with the others, as far as the machine has
them. `PYTHON=python3.12 scripts/test` runs everything with another one.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from tests.support.database_servers import free_port
from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.service_process import ServiceProcess

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PREFIX = "Programming Language :: Python :: "
VERSIONS = [each.removeprefix(PREFIX) for each in PROJECT["classifiers"] if PREFIX in each]
RUNNING = "{}.{}".format(*sys.version_info)

# An environment that is there already is used again.
INSTALL_SECONDS_MAX = 900

HOST, CONSUMER = uid("host"), uid("consumer")


def find_python(version: str) -> str | None:
    """An interpreter of this version: on the PATH, or among those that pyenv installed."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"{version}.*/bin/python"))),
    ]
    # What is on the PATH may be a stand-in of pyenv, which refuses to start.
    return next((each for each in candidates if each and version_of(each) == version), None)


def version_of(python: str) -> str:
    program = "import sys; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_the_versions_are_those_of_the_documents() -> None:
    assert RUNNING in VERSIONS
    assert f">={VERSIONS[0]}" == PROJECT["requires-python"]
    for document in ("README.md", "CONTRIBUTING.md"):
        listed = f"{', '.join(VERSIONS[:-1])} or {VERSIONS[-1]}"
        assert f"Python {listed}" in (ROOT / document).read_text()


@pytest.mark.parametrize("version", [each for each in VERSIONS if each != RUNNING])
def test_the_service_is_installed_started_and_used(version: str, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"this machine has no Python {version}")
    # What this Python imports must not come from the environment of the tests.
    environment = {key: each for key, each in os.environ.items() if key != "PYTHONPATH"}
    environment["PYTHON"] = python
    install = "source scripts/environment && prepare serve"
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail; {install}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert version_of(str(ROOT / f".venv-{version}" / "bin" / "python")) == version

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    database = f"sqlite:///{tmp_path / 'roost.db'}"
    command = [
        *("scripts/serve", "--port", str(port), "--workers", "1"),
        *("--auth", "noauth2", "--database", database),
    ]
    with ServiceProcess(
        [str(ROOT / command[0]), *command[1:]],
        environment=environment,
        output_path=tmp_path / "serve.log",
        is_ready=lambda: httpx.get(f"{url}/", timeout=5).status_code == 200,
    ):
        use(url)


def use(url: str) -> None:
    """Create a host, find it, and claim something of it."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=10) as client:
        host = {"name": "host", "uuid": HOST}
        assert client.post("/resource_providers", json=host).status_code == 200
        inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
        path = f"/resource_providers/{HOST}/inventories"
        assert client.put(path, json=inventories).status_code == 200
        found = client.get("/allocation_candidates?resources=VCPU:3")
        [candidate] = found.json()["allocation_requests"]
        claim = {
            **candidate,
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        for consumer, status in ((CONSUMER, 204), (uid("another"), 409)):
            assert client.put(f"/allocations/{consumer}", json=claim).status_code == status
        usages = client.get(f"/resource_providers/{HOST}/usages").json()
        assert usages["usages"] == {"VCPU": 3}
