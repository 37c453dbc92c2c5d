"""Names of metrics are a promise: docs and the example dashboard have exactly those that exist."""

import inspect
import json
import re
from pathlib import Path

import msgspec
import pytest

from regraft.broker.io import metrics as of_brokers
from regraft.loop.policy import Policy
from regraft.loop.state import State
from regraft.serve.status import ReadRecords, metrics
from regraft.testing.web_service import MemoryService
from regraft.web.metrics import LOOP, Metrics

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"\bregraft_[a-z0-9_]+")


@pytest.fixture
def there(service: MemoryService) -> set[str]:
    """Every name that a server or a broker can report."""
    snapshot = msgspec.structs.replace(service.snapshots(1)[0], p99_ms=1.0, numbers={"routing_cost": 1.0})
    state = State(policy=Policy(), epoch=1)
    loop = {LOOP + name for name in metrics(state, snapshot, {}, ReadRecords(newest=0.0), 0, 0.0)}
    server = Metrics(dict)
    server.answered("GET", "/", 200, 0.1)
    server.refused("host")
    http = set(NAME.findall(server.text().decode()))
    brokers = re.findall(r'yield "([a-z_]+)", "(?:counter|gauge)"', inspect.getsource(of_brokers))
    assert len(brokers) > 15
    ends = re.compile(r"_(bucket|count|sum)$")
    return {ends.sub("", name) for name in loop | http} | {f"regraft_{name}" for name in brokers}


def test_every_metric_is_documented_and_every_documented_one_is_there(there: set[str]) -> None:
    assert set(NAME.findall((ROOT / "docs" / "metrics.md").read_text())) == there


def test_the_example_dashboard_asks_for_metrics_that_are_there(there: set[str]) -> None:
    document = json.loads((ROOT / "examples" / "grafana" / "regraft.json").read_text())
    asked = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    asked += [each["expr"] for each in document["annotations"]["list"]]
    names = {name.removesuffix("_bucket") for expression in asked for name in NAME.findall(expression)}
    assert len(names) > 15
    assert names <= there
