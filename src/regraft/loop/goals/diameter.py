"""Soft: the longest way within a topic, in links (kTCO §VIII-D, Diam)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, small


@dataclass(frozen=True)
class Diameter:
    name: str = "diameter"
    hard: bool = False

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        """Only meshes are judged: in a tree, paths may lead through brokers that do not want the topic."""
        if seen.topology.kind == "tree":
            return None
        return small(self.name, "the largest topic diameter", seen.number("max_topic_diameter"))
