"""The summary as gauges: only where configured, never too many, and not counted twice."""

import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from roost.model import ClassSummary, GroupSummary, Summary
from roost.observe.summary_metrics import KINDS, LEFT_OUT, expose
from roost.service.summary_gauges import SummaryGauges
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

VCPU = {"VCPU": ClassSummary(8, 1, 14, 3, 11, 2)}
# A group with one class has so many series.
GROUP_SIZE = 8


def a_summary(groups: int) -> Summary:
    group = GroupSummary(providers=2, trees=1, resources=VCPU)
    return Summary(
        providers=2,
        trees=1,
        resources=VCPU,
        aggregates={f"a{number}": group for number in range(groups)},
        traits={"CUSTOM_T": group},
    )


def samples(text: str) -> dict[str, float]:
    """Value by name and labels, as the text has them."""
    return {
        sample.name + str(dict(sorted(sample.labels.items())) or ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("roost_summary_")
    }


def test_every_sum_has_a_series() -> None:
    found = samples(expose(a_summary(1), KINDS, 100).text.decode())
    whole = {
        "roost_summary_providers": 2,
        "roost_summary_trees": 1,
        "roost_summary_resources{'amount': 'total', 'resource_class': 'VCPU'}": 8,
        "roost_summary_resources{'amount': 'reserved', 'resource_class': 'VCPU'}": 1,
        "roost_summary_resources{'amount': 'capacity', 'resource_class': 'VCPU'}": 14,
        "roost_summary_resources{'amount': 'used', 'resource_class': 'VCPU'}": 3,
        "roost_summary_resources{'amount': 'free', 'resource_class': 'VCPU'}": 11,
        "roost_summary_resource_providers{'resource_class': 'VCPU'}": 2,
    }
    assert whole.items() <= found.items()
    assert found["roost_summary_aggregate_providers{'aggregate': 'a0'}"] == 2
    labels = "{'amount': 'free', 'resource_class': 'VCPU', 'trait': 'CUSTOM_T'}"
    assert found[f"roost_summary_trait_resources{labels}"] == 11
    assert found[LEFT_OUT] == 0
    assert len(found) == 3 * GROUP_SIZE + 1


@pytest.mark.parametrize("kinds", [[], ["traits"], ["total", "aggregates"]])
def test_only_what_is_asked_for_is_shown(kinds: list[str]) -> None:
    found = expose(a_summary(2), kinds, 100)
    sizes = {"total": GROUP_SIZE, "aggregates": 2 * GROUP_SIZE, "traits": GROUP_SIZE}
    assert len(samples(found.text.decode())) == sum(sizes[kind] for kind in kinds) + 1


@pytest.mark.parametrize("series_max", [1, 7, 8, 9, 15, 16, 40, 799, 816, 817])
def test_there_are_never_more_than_the_bound(series_max: int) -> None:
    text, left_out = expose(a_summary(100), KINDS, series_max)
    found = samples(text.decode())
    assert len(found) - 1 <= series_max
    # A group is shown as a whole or not at all.
    assert len(found) - 1 == min(series_max, 102 * GROUP_SIZE) // GROUP_SIZE * GROUP_SIZE
    assert found[LEFT_OUT] == left_out == 102 * GROUP_SIZE - (len(found) - 1)


def scrape(client: httpx.Client) -> dict[str, float]:
    return samples(client.get("/metrics").text)


def test_gauges_follow_every_write(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = f"sqlite:///{tmp_path}/roost.db"
    with (
        direct_client(url, summary_metrics=KINDS, summary_metrics_max=20) as client,
        direct_client(url) as other,
    ):
        assert scrape(other) == {}
        assert scrape(client)["roost_summary_providers"] == 0
        load(build(provider("host", {"VCPU": 4}, aggregates=["rack"])), other)
        found = scrape(client)
        assert found["roost_summary_providers"] == 1
        rack = f"{{'aggregate': '{uid('rack')}'}}"
        assert found[f"roost_summary_aggregate_providers{rack}"] == 1
        assert found[LEFT_OUT] == 0
        assert not caplog.records
        with caplog.at_level(logging.WARNING):
            load(build(provider("host2", {"VCPU": 4}, traits=["COMPUTE_NODE"])), other)
            assert scrape(client)[LEFT_OUT] == GROUP_SIZE
            assert scrape(client)[LEFT_OUT] == GROUP_SIZE
        (line,) = [each.getMessage() for each in caplog.records]
        assert line.startswith("8 series of the summary are left out of /metrics")


class FailingIndex:
    """A service whose index can or cannot be read, as the test says."""

    def __init__(self) -> None:
        self.settings = SimpleNamespace(summary_metrics=KINDS, summary_metrics_max=100)
        self.may_go_on = threading.Event()
        self.opened = 0

    def open(self) -> None:
        self.opened += 1
        assert self.may_go_on.wait(30)

    def current_index(self) -> Any:
        raise RuntimeError("no index")


def test_a_scrape_does_not_wait_for_a_database_that_hangs() -> None:
    roost = FailingIndex()
    gauges = SummaryGauges(roost, seconds_max=0.05)  # type: ignore[arg-type]
    assert gauges.text() == b""
    # The first attempt is still running, so no second one begins.
    assert gauges.text() == b""
    assert roost.opened == 1
    roost.may_go_on.set()
    assert SummaryGauges(roost).text() == b""  # type: ignore[arg-type]
