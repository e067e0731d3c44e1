"""deploy/Containerfile, built and run by buildah: `scripts/packages test container`.

The image that it begins with is not pulled from a registry, but made of Debian's packages: it has
the same release, Python and pip. So the test needs no more network than Debian's archive and PyPI.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.packages.contents import ROOT
from tests.packages.debian_root import make_base, run
from tests.support.database_servers import free_port
from tests.support.installed_program import use_api, use_commands
from tests.support.service_process import ServiceProcess

pytestmark = pytest.mark.skipif(
    "container" not in os.environ.get("ROOST_PACKAGES", ""),
    reason="takes minutes: scripts/packages test container",
)
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
VERSION = "7.8.9"
IMAGE = "localhost/roost-test"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# In a container that is itself one, there may be neither overlays nor namespaces of users.
BUILDAH = ("buildah", "--storage-driver", "vfs")
CONFIGURATION = "[api]\nauth_strategy = noauth2\n[roost]\nallow_remote_noauth2 = true\n"


def buildah(*arguments: str) -> str:
    return run(*BUILDAH, *arguments)


@pytest.fixture(scope="module")
def base() -> str:
    """An image under the name that the Containerfile begins with."""
    [name] = set(re.findall(r"^FROM (\S+)", CONTAINERFILE.read_text(), re.MULTILINE))
    container = buildah("from", "scratch").strip()
    buildah("add", "--quiet", container, str(make_base()), "/")
    # As in the images of Python, the program is called python.
    root = Path(buildah("mount", container).strip())
    (root / "usr" / "local" / "bin" / "python").symlink_to("/usr/bin/python3")
    # The index of packages may have a certificate that only this system trusts.
    shutil.copy(CERTIFICATES, root / CERTIFICATES.relative_to("/"))
    buildah("config", "--env", f"PIP_CERT={CERTIFICATES}", container)
    buildah("commit", "--quiet", "--rm", container, f"docker.io/library/{name}")
    return name


@pytest.fixture(scope="module")
def image(base: str) -> dict:
    """The image, as its engine describes it."""
    buildah(
        *("build", "--isolation", "chroot", "--format", "docker", "--pull=never"),
        *("--file", str(CONTAINERFILE), "--tag", IMAGE, "--build-arg", f"VERSION={VERSION}"),
        str(ROOT),
    )
    return json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]


@pytest.fixture(scope="module")
def container(image: dict) -> Iterator[str]:
    name = buildah("from", "--pull=never", IMAGE).strip()
    yield name
    buildah("rm", name)


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    folder = tmp_path / "placement"
    folder.mkdir()
    (folder / "placement.conf").write_text(CONFIGURATION)
    shutil.copy(ROOT / "docs" / "examples" / "gpu-cluster.yaml", folder)
    for path in (tmp_path, folder):
        path.chmod(0o755)
    return folder


def test_the_image_says_how_it_runs(image: dict) -> None:
    assert image["User"] == "10001"
    assert image["Entrypoint"] == ["/opt/roost/bin/roost"]
    assert image["StopSignal"] == "SIGTERM"
    assert "readyz" in image["Healthcheck"]["Test"][-1]
    assert list(image["ExposedPorts"]) == ["8778/tcp"]


def test_the_version_is_what_was_asked_for(image: dict, container: str) -> None:
    printed = buildah(
        "run", "--isolation", "chroot", container, "--", *image["Entrypoint"], "--version"
    )
    assert printed.split()[-1] == VERSION


def test_it_refuses_to_serve_everyone_without_a_configuration(image: dict, container: str) -> None:
    command = [*BUILDAH, "run", "--isolation", "chroot", container, "--"]
    with pytest.raises(AssertionError, match="noauth2"):
        run(*command, *image["Entrypoint"], *image["Cmd"])


def test_the_service_is_used(
    image: dict, container: str, configuration: Path, tmp_path: Path
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    within = [
        *(*BUILDAH, "run", "--isolation", "chroot"),
        *("--volume", f"{configuration}:/etc/placement:ro", container, "--"),
        *image["Entrypoint"],
    ]
    # The network is that of this system, where the port may be taken.
    service = ServiceProcess(
        [*within, *image["Cmd"], "--port", str(port)],
        environment=dict(os.environ),
        output_path=tmp_path / "service.log",
        is_ready=lambda: httpx.get(f"{url}/readyz", timeout=5).status_code == 200,
    )
    with service:
        use_api(url)
        use_commands(lambda *words: run(*within, *words), url, "/etc/placement/gpu-cluster.yaml")
        # The check of its health, with the port of this test.
        check = [word.replace("8778", str(port)) for word in image["Healthcheck"]["Test"][1:]]
        run(*within[:-1], *check)
