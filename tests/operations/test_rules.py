"""The rules of deploy/prometheus: valid, tested by promtool, each alert with its page."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.database_servers import missing

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus"
CASES = sorted((Path(__file__).parent / "alerts").glob("*.yml"))
RUNBOOK = ROOT / "docs" / "operations" / "runbook"
SEVERITIES = {"critical", "warning"}
# What a page says, in this order.
SECTIONS = [
    "What it means",
    "What users notice",
    "How to see it",
    "How to mend it",
    "How to prevent it",
]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def rules_of(name: str) -> list[dict[str, Any]]:
    return [rule for group in read(RULES / name)["groups"] for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules_of("alerts.yml")}


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        missing("promtool", "prometheus")
    assert found is not None
    return found


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_the_configuration(promtool: str) -> None:
    run(promtool, "check", "config", RULES / "prometheus.yml")


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_not_otherwise(
    promtool: str, case: Path, tmp_path: Path
) -> None:
    """What an alert says beside its summary is the same whenever it fires, so it is left out."""
    rules = read(RULES / "alerts.yml")
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["annotations"] = {"summary": rule["annotations"]["summary"]}
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(rules))
    shutil.copy(RULES / "recording.yml", tmp_path)
    shutil.copy(case, tmp_path)
    run(promtool, "test", "rules", tmp_path / case.name)


def test_every_alert_is_tested_both_ways() -> None:
    fires: set[str] = set()
    silent: set[str] = set()
    for case in CASES:
        for test in read(case)["tests"]:
            for expected in test["alert_rule_test"]:
                (fires if expected["exp_alerts"] else silent).add(expected["alertname"])
    assert fires == ALERTS.keys()
    assert silent == ALERTS.keys()


@pytest.mark.parametrize("name", ALERTS)
class TestAlerts:
    def test_it_says_what_happens(self, name: str) -> None:
        rule = ALERTS[name]
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in SEVERITIES
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}

    def test_it_links_to_its_page(self, name: str) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        site = project["urls"]["Documentation"]
        assert ALERTS[name]["annotations"]["runbook_url"] == f"{site}operations/runbook/{name}/"
        assert (RUNBOOK / f"{name}.md").exists()

    def test_its_page_says_what_to_do(self, name: str) -> None:
        text = (RUNBOOK / f"{name}.md").read_text()
        assert text.startswith(f"# {name}\n")
        assert re.findall(r"^## (.+)$", text, flags=re.M) == SECTIONS
        assert f"**{ALERTS[name]['labels']['severity']}**" in text


def test_every_page_is_about_an_alert() -> None:
    assert {page.stem for page in RUNBOOK.glob("*.md")} == {*ALERTS, "index"}


def test_the_list_of_pages_is_complete() -> None:
    listed = re.findall(
        r"^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \|", (RUNBOOK / "index.md").read_text(), flags=re.M
    )
    assert listed == [(name, name, rule["labels"]["severity"]) for name, rule in ALERTS.items()]
