"""Every query of the dashboard and of the rules, on a Prometheus that collects from a service."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operations.monitored_service import MonitoredService
from tests.operations.prometheus_server import Prometheus

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
DASHBOARD = json.loads((GRAFANA / "roost.json").read_text())
# Of Grafana's own, in a test that takes seconds.
VARIABLES = {"$__rate_interval": "1m", "$job": "roost", "$instance": ".+"}

PANELS = {
    panel["title"]: panel["targets"] for panel in DASHBOARD["panels"] if panel["type"] != "row"
}
# Panels that show nothing while nothing is wrong: a series appears with the first event.
EMPTY_WHILE_ALL_IS_WELL = {"Failures by route"}

# Not the middle of a recorded name, such as roost:claims:rate5m.
_METRIC = re.compile(r"(?<!:)\b((?:roost|process)_\w+)\b(?!:)")


def test_the_file_is_what_its_description_says() -> None:
    program = GRAFANA / "dashboard.py"
    done = subprocess.run(
        [sys.executable, program, "--print"], capture_output=True, text=True, check=True
    )
    assert done.stdout == (GRAFANA / "roost.json").read_text(), f"run {program.relative_to(ROOT)}"


def test_panels_have_ids_and_places_of_their_own() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert all(0 <= x < 24 for x, _ in cells)


@pytest.fixture(scope="module")
def prometheus(
    monitored: MonitoredService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with Prometheus(monitored.server.port, folder) as prometheus:
        # A rate takes two collections, and a rule that depends on another two evaluations.
        prometheus.wait_for("roost:http_errors:ratio5m")
        prometheus.wait_for(
            'rate(roost_http_requests_total{route="/allocation_candidates"}[1m]) > 0'
        )
        prometheus.wait_for("roost_event_watchers > 0")
        yield prometheus


def filled_in(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


@pytest.mark.parametrize("title", PANELS)
def test_a_panel_shows_something(prometheus: Prometheus, title: str) -> None:
    for target in PANELS[title]:
        series = prometheus.query(filled_in(target["expr"]))
        if title in EMPTY_WHILE_ALL_IS_WELL:
            assert series == []
            continue
        assert series, target["expr"]
        for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
            assert all(each["metric"].get(label) for each in series), label


def test_the_names_in_queries_exist(prometheus: Prometheus) -> None:
    """Those of panels that are empty now, too."""
    texts = [target["expr"] for targets in PANELS.values() for target in targets]
    texts += [rule["query"] for rule in prometheus.rules()]
    names = {name for text in texts for name in _METRIC.findall(text)}
    assert names - prometheus.names() == set()


def test_every_metric_is_on_the_dashboard(prometheus: Prometheus) -> None:
    """Except what panels show in another form, and parts of histograms that they do not need."""
    text = json.dumps(DASHBOARD)
    series = {name for name in prometheus.names() if name.startswith("roost_")}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in series}
    shown = {name for name in families if name in text}
    assert families - shown == {"roost_summary_resource_providers", "roost_summary_series_left_out"}


def test_rules_work_and_a_healthy_service_raises_no_alert(prometheus: Prometheus) -> None:
    rules: list[dict[str, Any]] = prometheus.rules()
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    assert [rule["name"] for rule in rules if rule.get("state", "inactive") != "inactive"] == []
    for rule in rules:
        if rule["type"] == "recording":
            assert prometheus.query(rule["name"]), rule["name"]
