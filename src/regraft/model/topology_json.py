"""The public JSON format of a topology.

    {"brokers": ["b0", {"id": "b1", "host": "10.0.0.1", "port": 7000, "region": "eu", "cost": 2}],
     "links": [["b0", "b1"], {"ends": ["b0", "b2"], "latency_ms": 12, "cost": 3}],
     "kind": "tree"}

`kind` is "tree" by default. Ids are strings. An unknown field is refused: a mesh with the field "knd" would
silently become a tree.
"""

import json
from dataclasses import fields
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import (
    a_list,
    a_number,
    a_text,
    a_whole_number,
    an_id,
    an_object,
    brief,
    only,
    required,
)
from regraft.model.topology import Broker, Kind, Link, Topology, ends

_BROKER = [field.name for field in fields(Broker)]
_LINK = [field.name for field in fields(Link)]


def topology_from(document: Any) -> Topology:
    """The topology that a parsed JSON document describes; `BadInput` names the field."""
    whole = an_object(document, "")
    only(whole, ("kind", "brokers", "links"))
    brokers = a_list(required(whole, "brokers"), "brokers")
    links = a_list(required(whole, "links"), "links")
    return Topology(
        tuple(broker_from(item, f"brokers[{index}]") for index, item in enumerate(brokers)),
        tuple(link_from(item, f"links[{index}]") for index, item in enumerate(links)),
        kind_from(whole.get("kind", "tree"), "kind"),
    )


def kind_from(value: Any, place: str) -> Kind:
    if value == "tree":
        return "tree"
    if value == "mesh":
        return "mesh"
    raise BadInput(place, f"must be 'tree' or 'mesh', not {brief(value)}")


def broker_from(item: Any, place: str) -> Broker:
    if isinstance(item, str):
        return Broker(an_id(item, place))
    if not isinstance(item, dict):
        an_id(item, place)
    only(item, _BROKER, place)
    id = an_id(required(item, "id", place), f"{place}.id")
    return Broker(id, **broker_fields(_said(item), place))


def broker_fields(found: dict[str, Any], place: str) -> dict[str, Any]:
    """The checked fields of a broker, from whatever else is there. Shared with the graph formats."""
    known: dict[str, Any] = {}
    for key in ("host", "region", "label"):
        if key in found:
            known[key] = a_text(found[key], f"{place}.{key}")
    if "port" in found:
        known["port"] = a_whole_number(found["port"], f"{place}.port", 0, 65535)
    for key, low, high in (("latitude", -90, 90), ("longitude", -180, 180), ("cost", 0, float("inf"))):
        if key in found:
            known[key] = a_number(found[key], f"{place}.{key}", low, high)
    return known


def link_from(item: Any, place: str) -> Link:
    if isinstance(item, list):
        return Link(_ends_from(item, place))
    if not isinstance(item, dict):
        raise BadInput(place, 'must be a pair of broker ids or an object with "ends"')
    pair = _ends_from(a_list(required(item, "ends", place), f"{place}.ends"), f"{place}.ends")
    only(item, _LINK, place)
    return Link(pair, **link_fields(_said(item), place))


def link_fields(found: dict[str, Any], place: str) -> dict[str, Any]:
    """The checked fields of a link. Shared with the graph formats."""
    return {key: a_number(found[key], f"{place}.{key}", 0) for key in ("latency_ms", "cost") if key in found}


def _ends_from(pair: list[Any], place: str) -> tuple[str, str]:
    if len(pair) != 2:
        raise BadInput(place, f"a link has two ends, not {len(pair)}")
    return ends(an_id(pair[0], f"{place}[0]"), an_id(pair[1], f"{place}[1]"))


def _said(item: dict[str, Any]) -> dict[str, Any]:
    """The fields that are not null: null means that a field is not stated."""
    return {key: value for key, value in item.items() if value is not None}


def to_json(topology: Topology) -> str:
    """One broker or link per line, so that versions of a file can be compared."""
    brokers = [_short(broker, broker.id, "id") for broker in topology.brokers]
    links = [_short(link, list(link.ends), "ends") for link in topology.links]
    listed = ", ".join(
        f'"{key}": [{separator}{f",{separator}".join(items)}]' if items else f'"{key}": []'
        for key, items, separator in (("brokers", brokers, "\n  "), ("links", links, "\n  "))
    )
    return f'{{"kind": "{topology.kind}", {listed}}}\n'


def _short(item: Broker | Link, name: Any, key: str) -> str:
    said = stated(item)
    return json.dumps({key: name} | said if said else name, ensure_ascii=False)


def stated(item: Broker | Link) -> dict[str, Any]:
    """The fields that differ from their defaults, without the one that names the item."""
    values = ((field.name, getattr(item, field.name), field.default) for field in fields(item)[1:])
    return {key: value for key, value, default in values if value != default}
