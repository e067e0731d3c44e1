"""Counters and histograms of prometheus_client without what they check each time.

Every request counts a dozen things. The library would check each time that a metric has its
labels, that nothing is counted backwards, and that there is no exemplar.
"""

from bisect import bisect_left

import prometheus_client


class Counter(prometheus_client.Counter):
    """Counts upwards."""

    def inc(self, amount: float = 1, exemplar: dict[str, str] | None = None) -> None:
        """Count something that is not negative. Exemplars are not kept."""
        self._value.inc(amount)


class Histogram(prometheus_client.Histogram):
    """Counts how often a value was within each of its bounds."""

    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        """Count a value. Exemplars are not kept."""
        self._sum.inc(amount)
        # The last bound is infinite.
        self._buckets[bisect_left(self._upper_bounds, amount)].inc(1)
