"""Hard: the overlay is what it claims to be. A tree cannot be built otherwise; a mesh joins all topics."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict


@dataclass(frozen=True)
class Validity:
    name: str = "validity"
    hard: bool = True

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        topology = seen.topology
        cut = 0
        if topology.kind == "mesh":
            cut = sum(k is not None and k < 1 for k in seen.assessment.parts.get("k", {}).values())
        what = "connected and without a cycle" if topology.kind == "tree" else "every topic is connected"
        reason = f"{cut} topics are not connected" if cut else what
        return Verdict(goal=self.name, hard=True, kept=not cut, reason=reason, number=float(cut), limit=0.0)
