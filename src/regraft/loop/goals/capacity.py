"""Hard: no broker and no link carries more messages a second than it can (OCBR §2: loads of ST_t)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, within


@dataclass(frozen=True)
class Capacity:
    name: str = "capacity"
    hard: bool = True

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        """The verdict on brokers or on links, whichever are nearer to their limit."""
        if seen.topology.kind == "mesh":
            return None
        shares = {
            what: within(self.name, f"the largest load of a {what}", seen.rate(number), limit, " messages/s")
            for what, number, limit in (
                ("broker", "max_broker_load", limits.broker_capacity),
                ("link", "max_link_load", limits.link_capacity),
            )
        }
        return max((each for each in shares.values() if each is not None), key=_fullness, default=None)


def _fullness(verdict: Verdict) -> float:
    if verdict.number is None or not verdict.limit:
        return float("inf")
    return verdict.number / verdict.limit
