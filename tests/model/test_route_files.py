"""Workloads of content routes in files."""

from typing import Any

import pytest

from regraft.model import BadInput
from regraft.model.route_files import route_workload_from
from regraft.model.switch_network import SwitchNetwork

GOOD: dict[str, Any] = {
    "publishers": [{"id": "p", "switch": "a", "rate": 3, "advertisement": ["01", "1"]}],
    "subscribers": [{"id": "t", "switch": "b", "subscription": "0110", "path_limit": 4}],
    "limits": {"path_length": 9, "flows": 5, "load": 7.5, "flows_at": {"a": 2}, "load_at": {"b": 1}},
    "dz_length": 16,
}


def test_a_workload_comes_back_as_it_was_written() -> None:
    workload = route_workload_from(GOOD)
    assert workload.publishers[0] == ("p", "a", 3.0, ("01", "1"))
    assert workload.subscribers[0] == ("t", "b", ("0110",), 4)
    assert workload.limits.flows_of("a") == 2
    assert workload.limits.flows_of("b") == 5
    assert workload.limits.load_of("b") == 1


def test_demands_become_shares_of_what_a_node_publishes() -> None:
    workload = route_workload_from({"graph": {"demands": {"0": {"1": 30.0, "2": 10.0}, "1": {"2": 5.0}}}})
    assert [publisher[1:3] for publisher in workload.publishers] == [("0", 40.0), ("1", 5.0)]
    shares = {
        (each.id): sum(0.5 ** (len(dz) - 1) for dz in each.subscription) for each in workload.subscribers
    }
    assert shares == {"0 to 1": 0.75, "0 to 2": 0.25, "1 to 2": 1.0}


def changed(**fields: Any) -> dict[str, Any]:
    return {**GOOD, **fields}


def publisher(**fields: Any) -> dict[str, Any]:
    return changed(publishers=[{"id": "p", "switch": "a", "advertisement": "0", **fields}])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "'publishers' is missing"),
        (changed(publishers=[{"id": "p", "advertisement": "0"}]), "publishers[0]: the field 'switch'"),
        (
            changed(publishers=[{"id": "p", "switch": "a", "rate": -1, "advertisement": "0"}]),
            "publishers[0].rate",
        ),
        (
            changed(publishers=[{"id": "p", "switch": "a", "advertisement": ["0x"]}]),
            "digits other than 0 and 1",
        ),
        (publisher(advertisement=1), "must be a dz-expression"),
        (
            changed(publishers=[{"id": "p", "switch": "a", "advertisement": "0" * 17}]),
            "the address block has 16",
        ),
        (publisher(id="t"), "the id 't' is given twice"),
        (changed(limits={"flow": 3}), "unknown limit 'flow'"),
        (changed(limits={"flows": 2.5}), "limits.flows"),
        (changed(limits={"load": -2}), "limits.load"),
        (changed(dz_length=113), "dz_length"),
    ],
)
def test_faults_of_a_workload_are_one_line_with_place_and_rule(document: Any, message: str) -> None:
    with pytest.raises(BadInput) as fault:
        route_workload_from(document)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


def test_hosts_and_limits_are_at_switches_that_exist() -> None:
    workload = route_workload_from(GOOD)
    with pytest.raises(BadInput, match=r"subscribers\[0\]\.switch: unknown switch id 'b'"):
        workload.check_within(SwitchNetwork.of([("a", "c")]))
