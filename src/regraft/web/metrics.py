"""Prometheus metrics of the loop (`regraft_loop_…`) and of the web server (`regraft_http_…`).

Brokers serve their own metrics (`regraft.broker.io.metrics`). All names: docs/metrics.md.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

# Without this, every counter has a second series that says when it was created.
disable_created_metrics()  # type: ignore[no-untyped-call]
TEXT = "text/plain; version=0.0.4; charset=utf-8"
LOOP = "regraft_loop_"
ServiceMetrics = Mapping[str, tuple[str, str, float]]
"""Name → (counter or gauge, help, value)."""


class Metrics:
    """Has a registry of its own, so that two servers in one process count separately."""

    def __init__(self, read: Callable[[], ServiceMetrics]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_LoopCollector(read))
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


class _LoopCollector(Collector):
    """Asks the service at each scrape, so that the loop's counts are kept in one place only."""

    def __init__(self, read: Callable[[], ServiceMetrics]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        for name, (kind, help, value) in self._read().items():
            family = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
            yield family(LOOP + name, help, value=value)
