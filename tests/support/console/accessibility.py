"""What axe-core finds in a page."""

import functools
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(sys.prefix) / "console" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")


def serious_violations(page: Page) -> list[str]:
    """One text for each violation that keeps somebody from using the page."""
    # What is evaluated through the debugging interface is not subject to the page's policy.
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [describe(one) for one in found["violations"] if one["impact"] in SERIOUS]


@functools.cache
def axe_source() -> str:
    # Without a value, or Playwright would try to bring axe itself over.
    return f"{AXE.read_text()}\n;undefined"


def describe(violation: dict[str, Any]) -> str:
    nodes = "\n".join(
        f"  {node['html']}\n    {node['failureSummary']}" for node in violation["nodes"]
    )
    return f"{violation['impact']}: {violation['help']} ({violation['id']})\n{nodes}"
