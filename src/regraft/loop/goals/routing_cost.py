"""Soft: what the traffic costs, OCBR's cost function (1); for a mesh its number of links (MinAvg-kTCO)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, small


@dataclass(frozen=True)
class RoutingCost:
    name: str = "routing_cost"
    hard: bool = False

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        if seen.topology.kind == "mesh":
            return small(self.name, "the number of links", float(len(seen.topology.links)))
        return small(self.name, "the routing cost", seen.number("routing_cost"))
