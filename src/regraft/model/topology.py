"""The overlay as a value: brokers, links, and whether it is a tree or a mesh.

An invalid `Topology` cannot be built: ids are unique, links join two different known brokers, no
link occurs twice, and a tree is connected and acyclic. `topology_files` reads and writes files.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from regraft.model.errors import BadInput

Kind = Literal["tree", "mesh"]
Ends = tuple[str, str]
"""The two brokers of a link, in sorted order: links have no direction."""


def ends(one: str, other: str) -> Ends:
    """The key of the link between two brokers, whichever is named first."""
    return (one, other) if one <= other else (other, one)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker and what a file may say about it; `cost` is C_b of OCBR's cost function."""

    id: str
    host: str | None = None
    port: int | None = None
    region: str | None = None
    cost: float = 1.0
    label: str | None = None
    latitude: float | None = None
    longitude: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An undirected link; `cost` is C_l of OCBR's cost function."""

    ends: Ends
    latency_ms: float | None = None
    cost: float = 1.0


@dataclass(frozen=True)
class Topology:
    """Brokers and links, in the order given; equality of shape is equality of `sha256`."""

    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]
    kind: Kind = "tree"

    def __post_init__(self) -> None:
        check_links([broker.id for broker in self.brokers], [link.ends for link in self.links])
        if self.kind == "tree":
            check_tree(self.ids, [link.ends for link in self.links])

    @classmethod
    def of(
        cls, links: Iterable[tuple[str, str]], brokers: Iterable[str] = (), kind: Kind = "tree"
    ) -> "Topology":
        """A topology from plain link pairs; brokers named by a link need no mention."""
        pairs = [ends(one, other) for one, other in links]
        names = dict.fromkeys(brokers) | dict.fromkeys(end for pair in pairs for end in pair)
        return cls(tuple(Broker(name) for name in names), tuple(Link(pair) for pair in pairs), kind)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(broker.id for broker in self.brokers)

    @cached_property
    def by_ends(self) -> Mapping[Ends, Link]:
        return {link.ends: link for link in self.links}

    @cached_property
    def neighbours(self) -> Mapping[str, frozenset[str]]:
        around: dict[str, set[str]] = {id: set() for id in self.ids}
        for one, other in self.by_ends:
            around[one].add(other)
            around[other].add(one)
        return {id: frozenset(near) for id, near in around.items()}

    @cached_property
    def sha256(self) -> str:
        """A name for the shape: kind, broker ids and link ends, independent of their order."""
        shape = {"brokers": sorted(self.ids), "kind": self.kind, "links": sorted(self.by_ends)}
        text = json.dumps(shape, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def check_links(ids: list[str], links: list[Ends]) -> None:
    """Unique ids; links between two different known brokers; no link twice."""
    known: set[str] = set()
    for index, id in enumerate(ids):
        if id in known:
            raise BadInput(f"brokers[{index}]", f"broker id {id!r} is given twice")
        known.add(id)
    seen: set[Ends] = set()
    for index, (one, other) in enumerate(links):
        place = f"links[{index}]"
        for id in (one, other):
            if id not in known:
                raise BadInput(place, f"unknown broker id {id!r}")
        if one == other:
            raise BadInput(place, f"a link must join two brokers, this one joins {one!r} to itself")
        if ends(one, other) != (one, other):
            raise BadInput(place, f"the ends {one!r}, {other!r} must be in sorted order")
        if (one, other) in seen:
            raise BadInput(place, f"the link {one!r} - {other!r} is given twice")
        seen.add((one, other))


def check_tree(ids: tuple[str, ...], links: list[Ends]) -> None:
    """Connected and acyclic; `BadInput` names the first link that closes a cycle, or a broker cut off."""
    if not ids:
        raise BadInput("brokers", "a tree needs at least one broker")
    root = {id: id for id in ids}

    def find(id: str) -> str:
        while root[id] != id:
            root[id] = root[root[id]]
            id = root[id]
        return id

    for index, (one, other) in enumerate(links):
        above, below = find(one), find(other)
        if above == below:
            raise BadInput(f"links[{index}]", f"the link {one!r} - {other!r} closes a cycle, a tree has none")
        root[below] = above
    first = find(ids[0])
    for id in ids:
        if find(id) != first:
            raise BadInput("links", f"not a tree: no path joins {ids[0]!r} and {id!r}")
