"""Hard: no broker has more links than it may (IPITT §V, the degree limit)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, within


@dataclass(frozen=True)
class Degree:
    name: str = "degree"
    hard: bool = True

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        most = max(map(len, seen.topology.neighbours.values()), default=0)
        return within(self.name, "the largest number of links of a broker", float(most), limits.max_degree)
