"""Prometheus: what the loop says of itself (`regraft_loop_…`) and what the server does (`regraft_http_…`).

Brokers serve their own (`regraft.broker.io.metrics`). All names: docs/metrics.md.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

# Else every series has a second line, which says when it began.
disable_created_metrics()  # type: ignore[no-untyped-call]
TEXT = "text/plain; version=0.0.4; charset=utf-8"
LOOP = "regraft_loop_"
Told = Mapping[str, tuple[str, str, float]]
"""Name → (counter or gauge, help, value)."""


class Metrics:
    """A registry of its own: two servers in one process must not count for each other."""

    def __init__(self, told: Callable[[], Told]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Loop(told))
        self._answered = Counter(
            "regraft_http_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "regraft_http_request_seconds",
            "From the request to the end of its answer; streams of events are left out.",
            buckets=(0.005, 0.02, 0.1, 0.5, 2.0),
            registry=self._registry,
        )
        self._refused = Counter(
            "regraft_http_refused", "Requests that were not let in.", ("code",), registry=self._registry
        )
        self.streams = Gauge(
            "regraft_http_event_streams", "Followers of the event stream.", registry=self._registry
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"
        self._answered.labels(known, route, str(status)).inc()
        if not route.endswith("/events"):
            self._seconds.observe(seconds)

    def refused(self, code: str) -> None:
        self._refused.labels(code).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Loop(Collector):
    """Asks the service each time; nothing is counted twice."""

    def __init__(self, told: Callable[[], Told]) -> None:
        self._told = told

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        for name, (kind, help, value) in self._told().items():
            family = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
            yield family(LOOP + name, help, value=value)
