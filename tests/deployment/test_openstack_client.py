"""The `openstack` command with osc-placement on a running service, as operators use it."""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.roost_server import RoostServer

VERSION = "1.39"
PROGRAM = Path(sys.executable).parent / "openstack"
SHELL = Path(__file__).with_name("openstack_shell.py")
SECONDS_MAX = 30


def login(url: str, version: str = VERSION) -> list[str]:
    """As in README.md: without Keystone, with a given endpoint."""
    return [
        *("--os-auth-type", "admin_token"),
        *("--os-token", "admin"),
        *("--os-endpoint", url),
        *("--os-placement-api-version", version),
    ]


class Openstack:
    """Runs command lines and parses what they print."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._process = subprocess.Popen(
            [sys.executable, SHELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _run(self, *arguments: str) -> tuple[int, str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([*login(self.url), *arguments]) + "\n")
        self._process.stdin.flush()
        code, output, errors = json.loads(self._process.stdout.readline())
        return code, output, errors

    def do(self, line: str) -> None:
        """Run a command that prints nothing."""
        assert self._run(*line.split()) == (0, "", "")

    def show(self, line: str) -> Any:
        """Run a command; what it prints, parsed as JSON."""
        code, output, errors = self._run(*line.split(), "-f", "json")
        assert (code, errors) == (0, "")
        return json.loads(output)

    def refused(self, line: str) -> str:
        """Run a command that fails; the one line that it shows."""
        code, output, errors = self._run(*line.split())
        assert (code, output) == (1, "")
        assert len(errors.splitlines()) == 1, errors
        return errors.strip()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(SECONDS_MAX)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("openstack")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture(scope="module")
def openstack(server: RoostServer) -> Iterator[Openstack]:
    shell = Openstack(server.url)
    yield shell
    shell.close()


@pytest.fixture
def host(openstack: Openstack) -> str:
    """A provider with 2 GB and 16 VCPU, which may be allocated four times."""
    provider = new_provider(openstack)
    openstack.show(
        f"resource provider inventory set {provider} --resource VCPU=16 "
        "--resource VCPU:allocation_ratio=4.0 --resource MEMORY_MB=2048"
    )
    return provider


def new_provider(openstack: Openstack, options: str = "") -> str:
    name = f"host-{uuid.uuid4()}"
    provider: str = openstack.show(f"resource provider create {name} {options}")["uuid"]
    return provider


def claim(openstack: Openstack, consumer: str, amounts: str, project: str = "project") -> Any:
    return openstack.show(
        f"resource provider allocation set {consumer} {amounts} "
        f"--project-id {project} --user-id user --consumer-type INSTANCE"
    )


class TestProviders:
    def test_providers_are_created_listed_shown_changed_and_deleted(
        self, openstack: Openstack
    ) -> None:
        identity = str(uuid.uuid4())
        host = {
            "uuid": identity,
            "name": f"one-{identity}",
            "generation": 0,
            "root_provider_uuid": identity,
            "parent_provider_uuid": None,
        }
        created = openstack.show(f"resource provider create {host['name']} --uuid {identity}")
        assert created == host
        assert openstack.show(f"resource provider list --name {host['name']}") == [host]
        renamed = openstack.show(f"resource provider set {identity} --name two-{identity}")
        assert renamed == {**host, "name": f"two-{identity}"}
        assert openstack.show(f"resource provider show {identity}") == renamed
        openstack.do(f"resource provider delete {identity}")
        assert openstack.show(f"resource provider list --uuid {identity}") == []

    def test_a_tree_is_created_and_listed(self, openstack: Openstack) -> None:
        root = new_provider(openstack)
        child = new_provider(openstack, f"--parent-provider {root}")
        tree = openstack.show(f"resource provider list --in-tree {root}")
        assert {row["uuid"]: row["parent_provider_uuid"] for row in tree} == {
            root: None,
            child: root,
        }
        assert openstack.refused(f"resource provider delete {root}") == (
            f"Unable to delete parent resource provider {root}: It has child resource providers. "
            "(HTTP 409)"
        )

    def test_a_duplicate_name_and_an_unknown_provider_are_refused(
        self, openstack: Openstack
    ) -> None:
        openstack.show("resource provider create taken")
        assert openstack.refused("resource provider create taken") == (
            "Conflicting resource provider name: taken already exists. (HTTP 409)"
        )
        missing = uuid.uuid4()
        assert openstack.refused(f"resource provider show {missing}") == (
            f"No resource provider with uuid {missing} found (HTTP 404)"
        )


class TestInventories:
    def test_set_list_show_and_delete(self, openstack: Openstack, host: str) -> None:
        rows = openstack.show(f"resource provider inventory list {host}")
        shown = {row["resource_class"]: (row["total"], row["allocation_ratio"]) for row in rows}
        assert shown == {"VCPU": (16, 4.0), "MEMORY_MB": (2048, 1.0)}
        changed = openstack.show(
            f"resource provider inventory class set {host} MEMORY_MB --total 4096 --reserved 512"
        )
        assert (changed["total"], changed["reserved"]) == (4096, 512)
        path = f"resource provider inventory show {host} MEMORY_MB"
        assert openstack.show(path) == {**changed, "used": 0}
        openstack.do(f"resource provider inventory delete {host} --resource-class MEMORY_MB")
        [row] = openstack.show(f"resource provider inventory list {host}")
        assert row["resource_class"] == "VCPU"

    def test_an_unknown_class_is_refused(self, openstack: Openstack, host: str) -> None:
        line = f"resource provider inventory set {host} --resource CUSTOM_MISSING=1"
        assert openstack.refused(line).endswith("No such resource class CUSTOM_MISSING. (HTTP 400)")

    def test_resource_classes(self, openstack: Openstack, host: str) -> None:
        openstack.do("resource class create CUSTOM_GOLD")
        names = [row["name"] for row in openstack.show("resource class list")]
        assert {"VCPU", "PCI_DEVICE", "CUSTOM_GOLD"} <= set(names)
        rows = openstack.show(f"resource provider inventory set {host} --resource CUSTOM_GOLD=3")
        assert [(row["resource_class"], row["total"]) for row in rows] == [("CUSTOM_GOLD", 3)]
        assert "(HTTP 409)" in openstack.refused("resource class delete CUSTOM_GOLD")


class TestTraitsAndAggregates:
    def test_traits(self, openstack: Openstack, host: str) -> None:
        openstack.do("trait create CUSTOM_SHINY")
        shiny = [{"name": "CUSTOM_SHINY"}]
        assert openstack.show("trait list --name startswith:CUSTOM_SHINY") == shiny
        assert openstack.show(f"resource provider trait set {host} --trait CUSTOM_SHINY") == shiny
        assert openstack.show(f"resource provider trait list {host}") == shiny
        assert openstack.refused("trait delete CUSTOM_SHINY") == (
            "The trait CUSTOM_SHINY is in use by a resource provider. (HTTP 409)"
        )
        openstack.do(f"resource provider trait delete {host}")
        openstack.do("trait delete CUSTOM_SHINY")
        assert openstack.show("trait list --name startswith:CUSTOM_SHINY") == []

    def test_aggregates(self, openstack: Openstack, host: str) -> None:
        aggregate = str(uuid.uuid4())
        generation = openstack.show(f"resource provider show {host}")["generation"]
        line = f"resource provider aggregate set {host} --aggregate {aggregate} --generation"
        assert openstack.show(f"{line} {generation}") == [{"uuid": aggregate}]
        assert openstack.show(f"resource provider aggregate list {host}") == [{"uuid": aggregate}]
        assert openstack.refused(f"{line} {generation}") == (
            "Resource provider's generation already changed. Please update the generation and try "
            "again. (HTTP 409)"
        )


class TestAllocations:
    def test_set_show_unset_and_delete(self, openstack: Openstack, host: str) -> None:
        consumer, project = str(uuid.uuid4()), str(uuid.uuid4())
        amounts = f"--allocation rp={host},VCPU=2 --allocation rp={host},MEMORY_MB=512"
        [row] = claim(openstack, consumer, amounts, project)
        assert (row["resource_provider"], row["resources"]) == (
            host,
            {"VCPU": 2, "MEMORY_MB": 512},
        )
        assert (row["project_id"], row["consumer_type"]) == (project, "INSTANCE")
        assert openstack.show(f"resource provider allocation show {consumer}") == [row]
        shown = openstack.show(f"resource provider show {host} --allocations")["allocations"]
        assert shown[consumer]["resources"] == {"VCPU": 2, "MEMORY_MB": 512}

        [left] = openstack.show(
            f"resource provider allocation unset {consumer} --resource-class MEMORY_MB"
        )
        assert left["resources"] == {"VCPU": 2}
        assert openstack.show(f"resource provider usage show {host}") == [
            {"resource_class": "VCPU", "usage": 2},
            {"resource_class": "MEMORY_MB", "usage": 0},
        ]
        assert openstack.show(f"resource usage show {project}") == [
            {"resource_class": "INSTANCE", "usage": {"consumer_count": 1, "VCPU": 2}}
        ]
        openstack.do(f"resource provider allocation delete {consumer}")
        assert openstack.show(f"resource provider allocation show {consumer}") == []

    def test_a_claim_above_capacity_is_refused(self, openstack: Openstack, host: str) -> None:
        line = (
            f"resource provider allocation set {uuid.uuid4()} --allocation rp={host},VCPU=65 "
            "--project-id project --user-id user --consumer-type INSTANCE"
        )
        assert openstack.refused(line) == (
            "Unable to allocate inventory: Unable to create allocation for 'VCPU' on resource "
            f"provider '{host}'. The requested amount would exceed the capacity. (HTTP 409)"
        )

    def test_a_provider_in_use_is_not_deleted(self, openstack: Openstack, host: str) -> None:
        claim(openstack, str(uuid.uuid4()), f"--allocation rp={host},VCPU=1")
        assert openstack.refused(f"resource provider delete {host}").endswith("(HTTP 409)")


class TestCandidates:
    @pytest.fixture
    def aggregate(self, openstack: Openstack, host: str) -> str:
        """An aggregate of the host, so that tests find this host only."""
        aggregate = str(uuid.uuid4())
        generation = openstack.show(f"resource provider show {host}")["generation"]
        openstack.show(
            f"resource provider aggregate set {host} --aggregate {aggregate} "
            f"--generation {generation}"
        )
        return aggregate

    def found(self, openstack: Openstack, options: str) -> list[tuple[str, str, str]]:
        return [
            (row["resource provider"], row["allocation"], row["inventory used/capacity"])
            for row in openstack.show(f"allocation candidate list {options}")
        ]

    def test_candidates_by_resources_traits_and_aggregates(
        self, openstack: Openstack, host: str, aggregate: str
    ) -> None:
        openstack.show(f"resource provider trait set {host} --trait HW_CPU_X86_AVX2")
        claim(openstack, str(uuid.uuid4()), f"--allocation rp={host},VCPU=3")
        asked = f"--resource VCPU=2 --resource MEMORY_MB=256 --member-of {aggregate}"
        expected = [(host, "VCPU=2,MEMORY_MB=256", "VCPU=3/64,MEMORY_MB=0/2048")]
        assert self.found(openstack, asked) == expected
        assert self.found(openstack, f"{asked} --required HW_CPU_X86_AVX2 --limit 5") == expected
        assert self.found(openstack, f"{asked} --forbidden HW_CPU_X86_AVX2") == []
        assert self.found(openstack, f"--resource VCPU=65 --member-of {aggregate}") == []

    def test_candidates_by_groups(self, openstack: Openstack, host: str, aggregate: str) -> None:
        child = new_provider(openstack, f"--parent-provider {host}")
        openstack.show(f"resource provider inventory set {child} --resource SRIOV_NET_VF=4")
        groups = (
            f"--group 1 --resource VCPU=1 --member-of {aggregate} "
            "--group 2 --resource SRIOV_NET_VF=2 --group-policy isolate"
        )
        assert sorted(self.found(openstack, groups)) == sorted(
            [
                (host, "VCPU=1", "VCPU=0/64,MEMORY_MB=0/2048"),
                (child, "SRIOV_NET_VF=2", "SRIOV_NET_VF=0/4"),
            ]
        )

    def test_an_unknown_trait_is_refused(self, openstack: Openstack) -> None:
        line = "allocation candidate list --resource VCPU=1 --required CUSTOM_NEVER"
        assert openstack.refused(line).endswith("No such trait(s): CUSTOM_NEVER. (HTTP 400)")


class TestProgram:
    """The installed program, run as a user types it."""

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )

    def test_the_example_of_the_readme_works(
        self, server: RoostServer, openstack: Openstack
    ) -> None:
        readme = (Path(__file__).parents[2] / "README.md").read_text()
        [line] = [line for line in readme.splitlines() if line.startswith("    openstack ")]
        arguments = line.replace("http://127.0.0.1:8778", server.url).split()[1:]
        provider = new_provider(openstack)
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert provider in done.stdout

    @pytest.mark.parametrize("version", ["1.0", "1"])
    def test_the_oldest_and_the_negotiated_version_work(
        self, server: RoostServer, version: str
    ) -> None:
        name = f"version-{version}"
        done = self.run(
            *login(server.url, version), "resource", "provider", "create", name, "-f", "json"
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["name"] == name
