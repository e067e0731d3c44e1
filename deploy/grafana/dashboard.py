"""Writes the dashboard as Grafana reads it: python3 deploy/grafana/dashboard.py [--print]

`roost.json` is its output. What the dashboard shows is in `panels.py`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from panels import ROWS, Panel

OUTPUT = Path(__file__).parent / "roost.json"

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
GRAPH_WIDTH, GRAPH_HEIGHT = 8, 8
NUMBER_WIDTH, NUMBER_HEIGHT = 4, 4


def dashboard() -> dict[str, Any]:
    """The dashboard in the form that Grafana imports."""
    return {
        "uid": "roost",
        "title": "roost",
        "tags": ["roost", "placement"],
        "schemaVersion": 38,
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-3h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    labels = {"job": "label_values(roost_build_info, job)"}
    labels["instance"] = 'label_values(roost_build_info{job="$job"}, instance)'
    for name, query in labels.items():
        several = name == "instance"
        yield {
            "name": name,
            "type": "query",
            "label": "Job" if name == "job" else "Machines",
            "datasource": DATASOURCE,
            "query": {"query": query, "refId": name},
            "refresh": 2,
            "multi": several,
            "includeAll": several,
            "allValue": ".+" if several else None,
            "current": {"text": "All", "value": "$__all"} if several else {},
        }


def _panels() -> Iterator[dict[str, Any]]:
    top = 0
    for number_of_row, (title, panels) in enumerate(ROWS.items()):
        yield {
            "id": 100 * (number_of_row + 1),
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
            "panels": [],
        }
        top += 1
        left = height = 0
        for place, panel in enumerate(panels):
            width = NUMBER_WIDTH if panel.is_number else GRAPH_WIDTH
            if left + width > COLUMNS:
                left, top = 0, top + height
            height = NUMBER_HEIGHT if panel.is_number else GRAPH_HEIGHT
            position = {"x": left, "y": top, "w": width, "h": height}
            yield _panel(panel, 100 * (number_of_row + 1) + place + 1, position)
            left += width
        top += height


def _panel(panel: Panel, id: int, position: dict[str, int]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.red_above is not None:
        steps.append({"color": "red", "value": panel.red_above})
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    if not panel.is_number:
        defaults |= {"min": 0, "custom": {"fillOpacity": 10, "showPoints": "never"}}
        if panel.red_above is not None:
            defaults["custom"]["thresholdsStyle"] = {"mode": "line"}
    return {
        "id": id,
        "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title,
        "description": panel.text,
        "datasource": DATASOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": DATASOURCE,
                "expr": query.expression,
                "legendFormat": query.legend or "__auto",
            }
            for place, query in enumerate(panel.queries)
        ],
    }


def text() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        OUTPUT.write_text(text())
