"""The switch network as a value: a directed multigraph with bounded weights (Content routes §4).

A cable between two switches gives two directed edges, one per direction, or one if it is one-way. Edges
are numbered by their place in `SwitchNetwork.edges`, and everything that names an edge names that number.
An invalid network cannot be built; `check_connected` checks separately that it is connected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import NamedTuple

from regraft.model.errors import BadInput

LOWER, UPPER = 1.0, 100.0
"""B_l and B_u of (4.37), unless a file states others."""


class Edge(NamedTuple):
    """One direction of a cable; both directions leave a switch through the port of that cable."""

    source: str
    target: str
    cable: str
    weight: float = 1.0
    lower: float = LOWER
    upper: float = UPPER


class Position(NamedTuple):
    """Where a switch stands on the map, in degrees."""

    longitude: float
    latitude: float


@dataclass(frozen=True)
class SwitchNetwork:
    """Switches R and directed edges, in the order given."""

    switches: tuple[str, ...]
    edges: tuple[Edge, ...]
    positions: Mapping[str, Position] | None = None

    def __post_init__(self) -> None:
        if not self.switches:
            raise BadInput("switches", "a network needs at least one switch")
        known: set[str] = set()
        for place, switch in enumerate(self.switches):
            if switch in known:
                raise BadInput(f"switches[{place}]", f"switch id {switch!r} is given twice")
            known.add(switch)
        seen: set[tuple[str, str, str]] = set()
        for place, edge in enumerate(self.edges):
            _check_edge(edge, f"edges[{place}]", known)
            if edge[:3] in seen:
                raise BadInput(f"edges[{place}]", f"cable {edge.cable!r} has this direction already")
            seen.add(edge[:3])

    @classmethod
    def of(cls, links: Iterable[tuple[str, str]], switches: Iterable[str] = ()) -> "SwitchNetwork":
        """A network of two-way cables of weight 1; switches named by a cable need no mention."""
        pairs = list(links)
        names = dict.fromkeys(switches) | dict.fromkeys(end for pair in pairs for end in pair)
        edges = [edge for place, pair in enumerate(pairs) for edge in both_ways(*pair, f"c{place}")]
        return cls(tuple(names), tuple(edges))

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Switch -> its place."""
        return {switch: place for place, switch in enumerate(self.switches)}

    @cached_property
    def leaving(self) -> Mapping[str, tuple[int, ...]]:
        """Switch -> numbers of the edges that leave it."""
        leaving: dict[str, list[int]] = {switch: [] for switch in self.switches}
        for number, edge in enumerate(self.edges):
            leaving[edge.source].append(number)
        return {switch: tuple(numbers) for switch, numbers in leaving.items()}

    @cached_property
    def opposite(self) -> tuple[int | None, ...]:
        """Edge -> the other direction of its cable, if there is one."""
        at = {(edge.source, edge.target, edge.cable): number for number, edge in enumerate(self.edges)}
        return tuple(at.get((edge.target, edge.source, edge.cable)) for edge in self.edges)

    @cached_property
    def cables(self) -> Mapping[str, tuple[str, ...]]:
        """Switch -> the cables in it, in the order of the edges: what ports are numbered by."""
        cables: dict[str, dict[str, None]] = {switch: {} for switch in self.switches}
        for edge in self.edges:
            cables[edge.source][edge.cable] = None
            cables[edge.target][edge.cable] = None
        return {switch: tuple(found) for switch, found in cables.items()}


def both_ways(one: str, other: str, cable: str, weight: float = 1.0) -> tuple[Edge, Edge]:
    """The two edges of a cable, with bounds that hold its weight."""
    lower, upper = min(LOWER, weight), max(UPPER, weight)
    return Edge(one, other, cable, weight, lower, upper), Edge(other, one, cable, weight, lower, upper)


def check_connected(network: SwitchNetwork) -> None:
    """Every switch reaches every other one; the first that is not reached is named."""
    for forwards in (True, False):
        near: dict[str, list[str]] = {switch: [] for switch in network.switches}
        for edge in network.edges:
            one, other = (edge.source, edge.target) if forwards else (edge.target, edge.source)
            near[one].append(other)
        first = network.switches[0]
        reached, open_switches = {first}, [first]
        while open_switches:
            for switch in near[open_switches.pop()]:
                if switch not in reached:
                    reached.add(switch)
                    open_switches.append(switch)
        for switch in network.switches:
            if switch not in reached:
                one, other = (first, switch) if forwards else (switch, first)
                raise BadInput("network", f"disconnected: no path leads from {one!r} to {other!r}")


def _check_edge(edge: Edge, place: str, known: set[str]) -> None:
    for switch in (edge.source, edge.target):
        if switch not in known:
            raise BadInput(place, f"unknown switch id {switch!r}")
    if edge.source == edge.target:
        raise BadInput(place, f"an edge joins two switches, this one joins {edge.source!r} to itself")
    for name, value in (("weight", edge.weight), ("lower", edge.lower), ("upper", edge.upper)):
        if not isfinite(value) or value < 0:
            raise BadInput(f"{place}.{name}", f"must be a finite number of at least 0, not {value:g}")
    if not edge.lower <= edge.weight <= edge.upper:
        raise BadInput(
            place, f"weight {edge.weight:g} is outside its bounds {edge.lower:g} to {edge.upper:g} (4.37)"
        )
