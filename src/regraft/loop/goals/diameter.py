"""Soft: the longest way within a topic, in links (kTCO §VIII-D, Diam)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, small


@dataclass(frozen=True)
class Diameter:
    name: str = "diameter"
    hard: bool = False

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        """In a tree, a topic's way may lead over brokers that do not want it: only meshes are judged."""
        if seen.topology.kind == "tree":
            return None
        return small(self.name, "the largest topic diameter", seen.number("max_topic_diameter"))
