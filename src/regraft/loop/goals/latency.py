"""Hard: the expected delivery latency stays below a bound (IPITT §VI-B measures it)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, within


@dataclass(frozen=True)
class Latency:
    name: str = "latency"
    hard: bool = True

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        expected = seen.number("expected_latency_ms")
        return within(self.name, "the expected latency", expected, limits.latency_ms, " ms")
