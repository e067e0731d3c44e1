"""The documents describe everything that exists."""

import re
from pathlib import Path

import click
import pytest
from msgspec import structs

from roost.api.http_error import ErrorCode
from roost.api.probes import OPEN_ROUTES
from roost.api.routes import ROUTES
from roost.api.versions import VERSIONS
from roost.cli.main import roost as program
from roost.model import ClassSummary, GroupSummary, Summary
from roost.observe import metrics, summary_metrics
from roost.settings import OPTIONS

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs" / "reference" / "api.md").read_text()
CONFIGURATION = (ROOT / "docs" / "reference" / "configuration.md").read_text()
MONITORING = (ROOT / "docs" / "operations" / "monitoring.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "reference" / "command-line.md").read_text()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_documented(route):
    rows = [line for line in API.splitlines() if f"| `{route.path}` |" in line]
    assert any(re.search(rf"\b{route.method}\b", row) for row in rows)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_documented(version):
    assert f"| {version} | {VERSIONS[version]} |" in API


@pytest.mark.parametrize("code", sorted(ErrorCode))
def test_every_error_code_is_documented(code):
    assert f"`{code}`" in API


@pytest.mark.parametrize(
    ("group", "option"),
    [(group, option.name) for group, options in OPTIONS.items() for option in options],
)
def test_every_option_is_documented(group, option):
    assert f"| {group} | `{option}` |" in CONFIGURATION


@pytest.mark.parametrize("path", [route.path for route in OPEN_ROUTES])
def test_every_path_beside_the_api_is_documented(path):
    assert f"| `{path}` |" in API
    assert f"| `{path}` |" in MONITORING


@pytest.mark.parametrize("family", list(metrics.REGISTRY.collect()), ids=lambda family: family.name)
def test_every_metric_is_documented(family):
    name = f"{family.name}_total" if family.type == "counter" else family.name
    assert f"| `{name}` |" in MONITORING


def test_every_gauge_of_the_summary_is_documented():
    group = GroupSummary(providers=1, trees=1, resources={"VCPU": ClassSummary(*range(6))})
    summary = Summary(
        **structs.asdict(group), aggregates={"rack": group}, traits={"CUSTOM_T": group}
    )
    text = summary_metrics.expose(summary, summary_metrics.KINDS, 1000).text.decode()
    names = re.findall(r"^# TYPE (\w+) gauge$", text, re.MULTILINE)
    assert len(names) == 13
    for name in names:
        assert f"| `{name}` |" in MONITORING


def commands(group, prefix):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}"


@pytest.mark.parametrize("command", list(commands(program, "roost")))
def test_every_command_is_documented(command):
    assert f"| `{command}" in COMMAND_LINE


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=str)
def test_every_link_has_a_target(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    for target in targets:
        assert "://" in target or (page.parent / target).exists(), target


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        assert f"({page.name})" in listed
