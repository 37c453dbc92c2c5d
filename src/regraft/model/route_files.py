"""Workloads of content routes in files.

    {"publishers": [{"id": "p1", "switch": "s1", "rate": 20, "advertisement": ["01", "1"]}],
     "subscribers": [{"id": "t1", "switch": "s2", "subscription": "0110", "path_limit": 5}],
     "limits": {"path_length": 8, "flows": 500, "load": 1000, "flows_at": {"s1": 50}, "load_at": {}},
     "dz_length": 112}

Only publishers and subscribers are required. A list of dz-expressions with one member may be that member.
A file of SNDlib with demands is a workload too: each node publishes what it sends to all others together, and
for each demand a subscriber at the other end wants that share of it (to the nearest 256th).
"""

from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import (
    a_list,
    a_number,
    a_text,
    a_whole_number,
    an_id,
    an_object,
    named,
    only,
    required,
)
from regraft.model.files import read_json
from regraft.model.routes import DZ_LENGTH, Publisher, RouteLimits, RouteWorkload, Subscriber

SHARES = 8
"""Digits that tell the shares of a node's demands apart."""
MOST_FLOWS = 2**31 - 1


def read_route_workload(path: str | Path) -> RouteWorkload:
    """The workload in a file; every fault is a `BadInput` of one line: the file, the place, the rule."""
    return read_json(path, route_workload_from)


def route_workload_from(document: Any) -> RouteWorkload:
    """The workload that a parsed JSON document describes."""
    whole = an_object(document, "")
    graph = whole.get("graph")
    if isinstance(graph, dict) and "demands" in graph and "publishers" not in whole:
        return _from_demands(an_object(graph["demands"], "graph.demands"))
    only(whole, ("publishers", "subscribers", "limits", "dz_length"))
    publishers = a_list(required(whole, "publishers"), "publishers")
    subscribers = a_list(required(whole, "subscribers"), "subscribers")
    return RouteWorkload(
        tuple(_publisher(item, f"publishers[{place}]") for place, item in enumerate(publishers)),
        tuple(_subscriber(item, f"subscribers[{place}]") for place, item in enumerate(subscribers)),
        _limits(an_object(whole.get("limits", {}), "limits")),
        a_whole_number(whole.get("dz_length", DZ_LENGTH), "dz_length", 1, DZ_LENGTH),
    )


def _publisher(item: Any, place: str) -> Publisher:
    found = an_object(item, place)
    only(found, Publisher._fields, place)
    return Publisher(
        an_id(required(found, "id", place), f"{place}.id"),
        an_id(required(found, "switch", place), f"{place}.switch"),
        a_number(found.get("rate", 1), f"{place}.rate", 0),
        _expressions(required(found, "advertisement", place), f"{place}.advertisement"),
    )


def _subscriber(item: Any, place: str) -> Subscriber:
    found = an_object(item, place)
    only(found, Subscriber._fields, place)
    limit = found.get("path_limit")
    return Subscriber(
        an_id(required(found, "id", place), f"{place}.id"),
        an_id(required(found, "switch", place), f"{place}.switch"),
        _expressions(required(found, "subscription", place), f"{place}.subscription"),
        None if limit is None else a_whole_number(limit, f"{place}.path_limit", 0, 2**31),
    )


def _expressions(value: Any, place: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)):
        raise BadInput(place, f"must be a dz-expression or a list of them, not {named(value)}")
    return tuple(a_text(each, f"{place}[{number}]") for number, each in enumerate(value))


def _limits(found: dict[str, Any]) -> RouteLimits:
    only(found, ("path_length", "flows", "load", "flows_at", "load_at"), "limits", "limit")
    path, flows, load = (found.get(key) for key in ("path_length", "flows", "load"))
    return RouteLimits(
        None if path is None else a_whole_number(path, "limits.path_length", 0, MOST_FLOWS),
        None if flows is None else a_whole_number(flows, "limits.flows", 0, MOST_FLOWS),
        None if load is None else a_number(load, "limits.load", 0),
        {
            switch: a_whole_number(most, f"limits.flows_at.{switch}", 0, MOST_FLOWS)
            for switch, most in an_object(found.get("flows_at", {}), "limits.flows_at").items()
        },
        {
            switch: a_number(most, f"limits.load_at.{switch}", 0)
            for switch, most in an_object(found.get("load_at", {}), "limits.load_at").items()
        },
    )


def _from_demands(demands: dict[str, Any]) -> RouteWorkload:
    """A dz-expression begins with a node's number; the digits after it divide its demands into shares."""
    publishers, subscribers = [], []
    digits = max(1, (len(demands) - 1).bit_length())
    for number, (node, given) in enumerate(demands.items()):
        place = f"graph.demands.{node}"
        wanted = {
            other: a_number(demand, f"{place}.{other}", 0)
            for other, demand in an_object(given, place).items()
        }
        total = sum(wanted.values())
        if not total:
            continue
        code = format(number, f"0{digits}b")
        publishers.append(Publisher(f"from {node}", node, total, (code,)))
        below = 0.0
        for other, demand in wanted.items():
            low = round(below / total * 2**SHARES)
            below += demand
            cells = range(low, max(round(below / total * 2**SHARES), low + 1))
            parts = tuple(code + format(min(cell, 2**SHARES - 1), f"0{SHARES}b") for cell in cells)
            subscribers.append(Subscriber(f"{node} to {other}", other, parts))
    return RouteWorkload(tuple(publishers), tuple(subscribers))
