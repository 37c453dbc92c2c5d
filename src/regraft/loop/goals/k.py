"""Hard, for meshes: fewer than k failures on a topic never cut it (kTCO §IV, Definition 1)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict


@dataclass(frozen=True)
class K:
    name: str = "k"
    hard: bool = True

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        """The number is how much is missing to k. A topic without a k is a clique: every k holds for it."""
        if limits.k is None or seen.topology.kind != "mesh":
            return None
        topics = [k for k in seen.assessment.parts.get("k", {}).values() if k is not None]
        least = min(topics, default=float(limits.k))
        short = sum(k < limits.k for k in topics)
        reason = (
            f"{short} topics are not {limits.k}-connected, the least is {least:g}-connected"
            if short
            else f"every topic is {limits.k}-connected"
        )
        missing = max(0.0, limits.k - least)
        return Verdict(goal=self.name, hard=True, kept=not short, reason=reason, number=missing, limit=0.0)
