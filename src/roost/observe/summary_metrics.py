"""The summary of the cloud as gauges for Prometheus, within a bound on their number.

They are made from the index when somebody asks, and not counted by each process: all processes have
the same cloud, so whichever answers has all of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from roost.model import GroupSummary, Summary

# What can be exposed, in the order in which it is.
TOTAL, AGGREGATES, TRAITS = KINDS = ("total", "aggregates", "traits")

LEFT_OUT = "roost_summary_series_left_out"

_AMOUNTS = ("total", "reserved", "capacity", "used", "free")
_WHOSE = {
    TOTAL: "the cloud",
    AGGREGATES: "an aggregate",
    TRAITS: "trees whose root has a trait",
}
# The label of a group, which is also in the names of its gauges.
_LABELS = {TOTAL: "", AGGREGATES: "aggregate", TRAITS: "trait"}


class Exposition(NamedTuple):
    text: bytes
    left_out: int  # how many series there would have been more


def expose(summary: Summary, kinds: Collection[str], series_max: int) -> Exposition:
    """The gauges of these kinds; beyond `series_max` whole groups are left out, the last by name.

    The gauge that says how many series are left out is not counted.
    """
    families: list[_Families] = []
    count = left_out = 0
    for kind in (each for each in KINDS if each in kinds):
        families.append(_Families(kind))
        for name, group in _groups(summary, kind).items():
            size = _size(group)
            # Those that follow are left out too, even small ones, so that it is always the same
            # ones that are shown.
            if left_out or count + size > series_max:
                left_out += size
            else:
                count += size
                families[-1].add(name, group)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(families, left_out))
    return Exposition(generate_latest(registry), left_out)


def _groups(summary: Summary, kind: str) -> Mapping[str, GroupSummary]:
    if kind == TOTAL:
        return {"": summary}
    return (summary.aggregates if kind == AGGREGATES else summary.traits) or {}


def _size(group: GroupSummary) -> int:
    return 2 + len(group.resources) * (len(_AMOUNTS) + 1)


class _Families:
    """The gauges of one kind."""

    def __init__(self, kind: str) -> None:
        label, whose = _LABELS[kind], _WHOSE[kind]
        labels = [label] if label else []
        name = f"roost_summary_{label}_" if label else "roost_summary_"
        self._has_label = bool(label)
        self.providers = GaugeMetricFamily(
            f"{name}providers", f"Providers of {whose}.", labels=labels
        )
        self.trees = GaugeMetricFamily(
            f"{name}trees", f"Trees with providers of {whose}.", labels=labels
        )
        self.resources = GaugeMetricFamily(
            f"{name}resources",
            f"Amounts of a resource class in {whose}: total, reserved, capacity, used, free.",
            labels=[*labels, "resource_class", "amount"],
        )
        self.resource_providers = GaugeMetricFamily(
            f"{name}resource_providers",
            f"Providers of {whose} that have an inventory of a resource class.",
            labels=[*labels, "resource_class"],
        )

    def add(self, name: str, group: GroupSummary) -> None:
        labels = [name] if self._has_label else []
        self.providers.add_metric(labels, group.providers)
        self.trees.add_metric(labels, group.trees)
        for resource_class, found in group.resources.items():
            for amount in _AMOUNTS:
                value = getattr(found, amount)
                self.resources.add_metric([*labels, resource_class, amount], value)
            self.resource_providers.add_metric([*labels, resource_class], found.providers)


class _Collected(Collector):
    def __init__(self, families: Iterable[_Families], left_out: int) -> None:
        self._families = families
        self._left_out = left_out

    def collect(self) -> Iterator[Metric]:
        for each in self._families:
            yield from (each.providers, each.trees, each.resources, each.resource_providers)
        yield GaugeMetricFamily(
            LEFT_OUT,
            "Series of the summary that are left out, because there would be too many.",
            value=self._left_out,
        )
