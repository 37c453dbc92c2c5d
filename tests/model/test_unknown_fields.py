"""A mistyped field would silently change the meaning: our files refuse it, and say what was meant."""

from collections.abc import Callable
from pathlib import Path

import pytest

from regraft.model import BadInput, Plan
from regraft.model.cost_files import read_costs
from regraft.model.network_files import read_network
from regraft.model.plan import Bounds
from regraft.model.plan_files import plan_text, read_plan
from regraft.model.route_files import read_route_workload
from regraft.model.topology_files import read_topology
from regraft.model.traffic_files import read_traffic

PLAN = plan_text(Plan("tree", "0" * 64, "1" * 64, (), "fast", Bounds(0, 0), None))


@pytest.mark.parametrize(
    ("read", "text", "fault"),
    [
        (
            read_topology,
            '{"brokers": ["a", "b"], "links": [["a", "b"]], "knd": "mesh"}',
            "unknown field 'knd'; there are kind, brokers, links (did you mean \"kind\"?)",
        ),
        (
            read_topology,
            '{"brokers": [{"id": "a", "prot": 7000}], "links": []}',
            "brokers[0]: unknown field 'prot'; ",
        ),
        (
            read_topology,
            '{"brokers": ["a", "b"], "links": [{"ends": ["a", "b"], "latency": 3}]}',
            "links[0]: unknown field 'latency'; there are ends, latency_ms, cost (did you mean \"latency_ms",
        ),
        (read_traffic, '{"classes": [], "window": 3}', "unknown field 'window'; there are classes"),
        (
            read_traffic,
            '{"classes": [{"members": ["a"], "demand": 1, "rate": 2}]}',
            "classes[0]: unknown field 'rate'; there are members, demand",
        ),
        (read_plan, PLAN.replace('"planner"', '"comment": "", "planner"'), "unknown field 'comment'; "),
        (
            read_costs,
            '{"actions": [{"action": ["shift", "a", "b", "c"], "cost": 1, "why": ""}]}',
            "actions[0]: unknown field 'why'; there are action, cost",
        ),
        (
            read_network,
            '{"switches": ["s"], "cables": [], "cabels": []}',
            "unknown field 'cabels'; there are switches, cables (did you mean ",
        ),
        (
            read_network,
            '{"switches": [{"id": "s", "lat": 3}], "cables": []}',
            "switches[0]: unknown field 'lat'; there are id, longitude, latitude",
        ),
        (
            read_network,
            '{"switches": ["s", "t"], "cables": [{"ends": ["s", "t"], "wieght": 3}]}',
            "cables[0]: unknown field 'wieght'; there are id, ends, weight, ",
        ),
        (
            read_route_workload,
            '{"publishers": [], "subscribers": [], "limit": {}}',
            "unknown field 'limit'; there are publishers, subscribers, limits, dz_length (did you mean ",
        ),
        (
            read_route_workload,
            '{"publishers": [{"id": "p", "switch": "s", "rte": 3, "advertisement": "1"}], "subscribers": []}',
            "publishers[0]: unknown field 'rte'; ",
        ),
        (
            read_route_workload,
            '{"publishers": [], "subscribers": [{"id": "t", "switch": "s", "path": 1, "subscription": "1"}]}',
            "subscribers[0]: unknown field 'path'; ",
        ),
    ],
)
def test_an_unknown_field_is_refused(
    read: Callable[[Path], object], text: str, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        read(path)
    assert f"file.json: {fault}" in str(refused.value)
