"""The Debian packages: what is in them, and in a Debian of their own, what they do.

Here the packages around the program are built, which takes seconds. `scripts/packages test debian`
builds all of them, installs them, starts the service, upgrades, removes and purges them.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.packages.contents import ROOT
from tests.packages.debian_root import DebianRoot, run
from tests.support.database_servers import free_port, missing
from tests.support.installed_program import use_api, use_commands
from tests.support.roost_server import RoostServer
from tests.support.service_process import ServiceProcess

WHOLE = "debian" in os.environ.get("ROOST_PACKAGES", "")
PACKAGES = ("roost-agent", "roost-placement", "roost-server")
DESCRIPTION = "/usr/share/gpu-cluster.yaml"


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The packages by name. The program itself is among them only in a whole run."""
    if shutil.which("dh") is None:
        missing("debhelper", "debhelper")
    folder: Path = tmp_path_factory.mktemp("packages")
    quick = [] if WHOLE else ["--quick"]
    run(str(ROOT / "scripts" / "packages"), "debian", *quick, "--output", str(folder))
    return {path.name.partition("_")[0]: path for path in sorted(folder.glob("*.deb"))}


def contents(package: Path) -> dict[str, str]:
    """The mode of each file."""
    lines = run("dpkg-deb", "--contents", str(package)).splitlines()
    words = [line.split() for line in lines if not line.startswith("d")]
    return {each[5].removeprefix("."): each[0] for each in words}


def unpack(package: Path, folder: Path) -> Path:
    run("dpkg-deb", "--raw-extract", str(package), str(folder))
    return folder


class TestContents:
    def test_every_package_is_built(self, packages: dict[str, Path]) -> None:
        assert set(packages) == {*PACKAGES, *(("roost",) if WHOLE else ())}

    def test_only_the_owner_reads_what_may_hold_passwords(self, packages: dict[str, Path]) -> None:
        modes = contents(packages["roost-server"]) | contents(packages["roost-agent"])
        assert modes["/etc/roost/roost.env"] == "-rw-------"
        assert modes["/etc/roost/agent.env"] == "-rw-------"
        # The group is roost, once the package is installed.
        assert modes["/etc/roost/placement.conf"] == "-rw-r-----"

    def test_configuration_is_kept_at_an_upgrade(self, packages: dict[str, Path]) -> None:
        for name, files in {
            "roost-agent": ["/etc/roost/agent.env"],
            "roost-server": [
                "/etc/logrotate.d/roost",
                "/etc/roost/placement.conf",
                "/etc/roost/roost.env",
            ],
        }.items():
            listed = run("dpkg-deb", "--info", str(packages[name]), "conffiles")
            assert sorted(listed.splitlines()) == files

    @pytest.mark.parametrize(
        ("package", "name"), [("roost-server", "roost"), ("roost-agent", "roost-agent")]
    )
    def test_units_are_those_of_deploy(
        self, packages: dict[str, Path], package: str, name: str, tmp_path: Path
    ) -> None:
        tree = unpack(packages[package], tmp_path / "tree")
        unit = (tree / "lib" / "systemd" / "system" / f"{name}.service").read_text()
        assert "/opt/" not in unit
        # What the service calls itself is then what users type.
        replaced = unit.replace("/usr/bin/", "/opt/roost/bin/").replace(
            "/lib/systemd", "/etc/systemd"
        )
        assert replaced == (ROOT / "deploy" / f"{name}.service").read_text()
        if package == "roost-server":
            variables = (tree / "etc" / "roost" / "roost.env").read_text()
            assert "OS_PLACEMENT_CONFIG_DIR=/etc/roost\n" in variables

    def test_the_service_starts_and_the_agent_waits_for_its_address(
        self, packages: dict[str, Path], tmp_path: Path
    ) -> None:
        server = unpack(packages["roost-server"], tmp_path / "server") / "DEBIAN" / "postinst"
        agent = unpack(packages["roost-agent"], tmp_path / "agent") / "DEBIAN" / "postinst"
        assert "deb-systemd-helper enable 'roost.service'" in server.read_text()
        assert "start" in server.read_text()
        assert "deb-systemd-invoke" not in agent.read_text()


class TestCommand:
    """`/usr/bin/roost`, with the Python of the tests, and a folder of theirs as `/etc/roost`."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "etc"
        folder.mkdir()
        return folder

    @pytest.fixture
    def command(self, folder: Path, tmp_path: Path) -> Path:
        path = tmp_path / "bin" / "roost"
        path.parent.mkdir()
        written = (ROOT / "debian" / "command.py").read_text()
        written = written.replace("#!/usr/lib/roost/bin/python3", f"#!{sys.executable}")
        path.write_text(written.replace("/etc/roost", str(folder)))
        path.chmod(0o755)
        return path

    def test_the_service_names_what_is_typed(self, command: Path, tmp_path: Path) -> None:
        environment = {"PATH": f"{command.parent}:/usr/bin:/bin"}
        database = f"sqlite:///{tmp_path / 'roost.db'}"
        server = RoostServer(database, tmp_path, environment=environment, program=[str(command)])
        with server:
            [said] = re.findall(r"^  try +(.*)$", server.output, re.MULTILINE)
            assert said == f"roost tree --url {server.url}"

    @pytest.mark.parametrize("named", [None, "", "elsewhere"])
    def test_it_uses_the_configuration_of_the_service(
        self, command: Path, folder: Path, tmp_path: Path, named: str | None
    ) -> None:
        """Unless told otherwise."""
        databases = {}
        for each in (folder, tmp_path / "elsewhere"):
            each.mkdir(exist_ok=True)
            databases[each.name] = each / "roost.db"
            (each / "placement.conf").write_text(
                f"[placement_database]\nconnection = sqlite:///{databases[each.name]}\n"
            )
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("OS_")
        }
        environment["XDG_DATA_HOME"] = str(tmp_path / "data")
        if named is not None:
            environment["OS_PLACEMENT_CONFIG_DIR"] = str(tmp_path / named) if named else ""
        run(str(command), "db", "sync", environment=environment)
        databases[""] = tmp_path / "data" / "roost" / "roost.db"
        expected = "etc" if named is None else named
        assert [name for name, path in databases.items() if path.exists()] == [expected]


class Service(ServiceProcess):
    """What systemd would start: the command of the unit, as its user, with its variables."""

    def __init__(self, root: DebianRoot, folder: Path) -> None:
        unit = root.path("/lib/systemd/system/roost.service").read_text()
        [command] = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        variables = dict(
            pair.split("=", 1)
            for line in re.findall(r"^Environment=(.*)$", unit, re.MULTILINE)
            for pair in line.split()
        )
        file = root.path("/etc/roost/roost.env").read_text()
        variables |= dict(re.findall(r"^([A-Z_]+)=(.*)$", file, re.MULTILINE))
        [user] = re.findall(r"^User=(.*)$", unit, re.MULTILINE)
        variables |= {"ROOST_PORT": str(free_port()), "ROOST_WORKERS": "1"}
        self.url = f"http://127.0.0.1:{variables['ROOST_PORT']}"
        words = [
            re.sub(r"\$\{(\w+)\}", lambda found: variables[found[1]], word)
            for word in command.split()
        ]
        super().__init__(
            root.command("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words),
            environment={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **variables},
            output_path=folder / "service.log",
            is_ready=lambda: httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200,
        )


@pytest.mark.skipif(not WHOLE, reason="takes minutes: scripts/packages test debian")
class TestMachine:
    """One machine, in the order of the tests: install, use, upgrade, remove, purge."""

    @pytest.fixture(scope="class")
    def root(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianRoot]:
        with DebianRoot(tmp_path_factory.mktemp("machine")) as root:
            # What the packages depend on stays when they go.
            root.run("apt-get", "update", "-qq")
            root.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "adduser")
            yield root

    @pytest.fixture(scope="class")
    def before(self, root: DebianRoot) -> set[str]:
        return root.files()

    @pytest.fixture(scope="class")
    def older(
        self, packages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
    ) -> list[Path]:
        """The same packages with a lower version, and a configuration that has changed since."""
        folder: Path = tmp_path_factory.mktemp("older")
        for name, package in packages.items():
            tree = unpack(package, folder / name)
            control = tree / "DEBIAN" / "control"
            text = re.sub(
                r"^Version: .*$", "Version: 0.9.0", control.read_text(), flags=re.MULTILINE
            )
            control.write_text(re.sub(r"roost \(= [^)]*\)", "roost (= 0.9.0)", text))
            if name == "roost-agent":
                with (tree / "etc" / "roost" / "agent.env").open("a") as file:
                    file.write("# older\n")
            run("dpkg-deb", "--build", "-Znone", "--root-owner-group", str(tree), str(folder))
        return sorted(folder.glob("*.deb"))

    def test_install(self, root: DebianRoot, before: set[str], older: list[Path]) -> None:
        assert "usr/bin/roost" not in before
        root.install(older)
        assert root.run("stat", "-c", "%U %G %a", "/etc/roost/placement.conf").split() == [
            *("root", "roost", "640"),
        ]
        for folder in ("/var/lib/roost", "/var/log/roost"):
            assert root.run("stat", "-c", "%U %a", folder).split() == ["roost", "750"]
        assert root.path("/etc/systemd/system/multi-user.target.wants/roost.service").is_symlink()
        assert root.run("logrotate", "--debug", "/etc/logrotate.d/roost")

    def test_upgrade(self, root: DebianRoot, packages: dict[str, Path]) -> None:
        """What the operator has changed stays, and what the package has changed comes."""
        root.write(
            "/etc/roost/roost.env", "# mine\nOS_PLACEMENT_CONFIG_DIR=/etc/roost\n", mode=0o600
        )
        root.install(list(packages.values()))
        assert root.path("/etc/roost/roost.env").read_text().startswith("# mine\n")
        assert "# older" not in root.path("/etc/roost/agent.env").read_text()
        assert root.run("stat", "-c", "%G %a", "/etc/roost/placement.conf").split() == [
            "roost",
            "640",
        ]
        assert root.path("/etc/roost/agent.env").stat().st_mode & 0o777 == 0o600
        version = root.run("dpkg-query", "--show", "--showformat=${Version}", "roost-server")
        assert version in packages["roost-server"].name

    def test_the_service_is_used(self, root: DebianRoot, tmp_path: Path) -> None:
        example = ROOT / "docs" / "examples" / "gpu-cluster.yaml"
        root.write(DESCRIPTION, example.read_bytes())
        with Service(root, tmp_path) as service:
            assert f"  try             roost tree --url {service.url}\n" in service.output
            use_api(service.url)
            use_commands(lambda *words: root.run("roost", *words), service.url, DESCRIPTION)
            assert httpx.get(f"{service.url}/console/", follow_redirects=True).status_code == 200
            # Anybody may ask; the configuration is for the service alone.
            asked = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
            assert "host" in root.run(*asked, "roost", "tree", "--url", service.url)
            refused = root.run(*asked, "roost", "serve", check=False)
            assert refused.count("\n") == 1
            assert "sudo -u roost" in refused
        assert service.process.returncode == 0
        root.path(DESCRIPTION).unlink()
        assert root.path("/var/lib/roost/roost.db").exists()

    def test_the_commands_of_operators(self, root: DebianRoot) -> None:
        as_roost = ("setpriv", "--reuid=roost", "--regid=roost", "--clear-groups")
        root.run(*as_roost, "roost", "db", "check")
        version = root.run("roost", "--version").split()[-1]
        assert root.run("placement-manage", "--version").strip() == version
        assert root.path("/usr/share/man/man1/roost.1.gz").exists()

    def test_remove_keeps_the_data(self, root: DebianRoot) -> None:
        root.run("apt-get", "remove", "-y", "-qq", "roost", *PACKAGES)
        assert root.path("/var/lib/roost/roost.db").exists()
        assert root.path("/etc/roost/placement.conf").exists()
        assert not root.path("/usr/bin/roost").exists()
        assert not root.path("/usr/lib/roost").exists()

    def test_purge_leaves_nothing(self, root: DebianRoot, before: set[str]) -> None:
        root.run("dpkg", "--purge", "roost", *PACKAGES)
        left = {name for name in root.files() - before if not name.startswith("root/")}
        assert left == set()
        for database in ("passwd", "group"):
            assert "roost" not in root.path(f"/etc/{database}").read_text()
